"""`inglenook models search, files, pull, downloads, pause, resume, cancel, token`: models from the hub.

Part of `app.cli`, which explains exit codes and late imports. Where a server runs on the data folder, it does the work,
so that progress shows in its pages too; else the command does it itself.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from app.commands import DataDir, load_settings, print_table, with_services
from app.download_target import Target, parse_target
from engine.sizes import size

if TYPE_CHECKING:
    from app.download_desk import Desk

T = TypeVar("T")

FAILED = 1
LOOK_INTERVAL_S = 0.5
MAX_TOKEN_BYTES = 4096
SHORT_ID_CHARS = 8

_FORMATS = ("gguf", "safetensors", "any")
_SORTS = {"downloads": "downloads", "likes": "likes", "updated": "lastModified", "trending": "trendingScore"}

Which = Annotated[
    str, typer.Argument(metavar="DOWNLOAD", help="Its ID, as `models downloads` shows it, or REPO[:QUANT].")
]


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A part of the model's name.")],
    file_format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="gguf, safetensors or any.")] = "gguf",
    licence: Annotated[str, typer.Option("--licence", metavar="NAME", help="As apache-2.0 or mit.")] = "",
    size: Annotated[str, typer.Option("--size", metavar="RANGE", help="Of parameters, as min:1B,max:8B.")] = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="BY", help="downloads, likes, updated or trending.")
    ] = "downloads",
    limit: Annotated[int, typer.Option("--limit", min=1, max=100)] = 20,
    data_dir: DataDir = None,
) -> None:
    """Look for models at the hub."""
    if file_format not in _FORMATS:
        raise typer.BadParameter(f"there is no format '{file_format}'. Those that there are: {', '.join(_FORMATS)}")
    if sort not in _SORTS:
        raise typer.BadParameter(f"there is no order '{sort}'. Those that there are: {', '.join(_SORTS)}")

    async def ask(services: Any) -> list[Any]:
        try:
            found: list[Any] = await services.hub.search(
                text, file_format="" if file_format == "any" else file_format, licence=licence, parameters=size,
                sort=_SORTS[sort], limit=limit,
            )
            return found
        finally:
            await services.hub.close()

    found = with_services(data_dir, ask)
    print_table(
        ("REPO", "PARAMETERS", "LICENCE", "DOWNLOADS", "LIKES", "UPDATED", ""),
        [
            (
                each.repo, _billions(each.num_parameters), each.licence or "-", f"{each.downloads:,}",
                f"{each.likes:,}", f"{each.modified_at:%Y-%m-%d}" if each.modified_at else "-",
                "gated" if each.is_gated else "",
            )
            for each in found
        ],
    )
    if not found:
        print("Nothing was found. Try a shorter text, or --format any.", file=sys.stderr)


def files(
    repo: Annotated[str, typer.Argument(metavar="REPO", help="As owner/name.")], data_dir: DataDir = None
) -> None:
    """What a repository holds, and which of it fits here. One quantisation a line."""
    repo, _ = parse_target(repo)

    async def ask(desk: Desk) -> list[dict[str, Any]]:
        variants: list[dict[str, Any]] = (await desk.show(repo))["variants"]
        return variants

    variants = _at_desk(data_dir, ask)
    print_table(
        ("QUANT", "SIZE", "FILES", "HERE", "USERS", "CONTEXT", "TOK/S"),
        [
            (
                each["label"], size(each["size_bytes"]), str(len(each["files"])),
                "incomplete" if each["missing"] else str(each["fit"]["verdict"]),
                str(each["fit"]["num_users"] or "-"), f"{each['fit']['context_tokens']:,}",
                f"about {each['speed']['tokens_per_s']:g}" if each["speed"] else "-",
            )
            for each in variants
        ],
    )
    if speed := next((each["speed"] for each in variants if each["speed"]), None):
        print(f"For one person at a time. {speed['rests_on']}", file=sys.stderr)


def pull(
    target: Target,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also what does not fit here, or cannot be run.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Download a model. Ask again after a break, and it goes on where it was.

    Without QUANT it takes Q4_K_M, or what comes nearest. First it says whether the model fits into this machine.
    """
    repo, wanted = parse_target(target)

    async def work(desk: Desk) -> dict[str, Any]:
        plan = await desk.plan(repo, wanted)
        _say_plan(repo, plan, anyway=anyway)
        return await _follow(desk, await desk.request(repo, wanted, anyway=anyway))

    _end(_at_desk(data_dir, work))


def list_downloads(data_dir: DataDir = None) -> None:
    """What is on its way, waits, pauses, has failed or has come."""

    async def ask(desk: Desk) -> list[dict[str, Any]]:
        return await desk.list()

    statuses = _at_desk(data_dir, ask)
    print_table(
        ("ID", "MODEL", "STATE", "DONE", "OF", ""),
        [
            (
                each["id"][:SHORT_ID_CHARS], _name(each), each["state"].replace("_", " "),
                f"{each['fraction']:.0%}", size(each["total_bytes"]), each["reason"],
            )
            for each in statuses
        ],
    )


def pause(which: Which, data_dir: DataDir = None) -> None:
    """Stop a download for now. What came stays."""

    async def work(desk: Desk) -> dict[str, Any]:
        found = await _find(desk, which)
        return found if found["state"] == "paused" else await desk.pause(found["id"])

    done = _at_desk(data_dir, work)
    print(f"{_name(done)} pauses at {done['fraction']:.0%}. Go on with: inglenook models resume {which}")


def resume(which: Which, data_dir: DataDir = None) -> None:
    """Go on with a download that pauses or has failed."""

    async def work(desk: Desk) -> dict[str, Any]:
        return await _follow(desk, await desk.resume((await _find(desk, which))["id"]))

    _end(_at_desk(data_dir, work))


def cancel(which: Which, data_dir: DataDir = None) -> None:
    """Give a download up, and remove what came of it. A model that is whole stays."""

    async def work(desk: Desk) -> dict[str, Any]:
        found = await _find(desk, which)
        await desk.cancel(found["id"])
        return found

    done = _at_desk(data_dir, work)
    print(f"{_name(done)} is given up.")


def token(
    from_stdin: Annotated[bool, typer.Option("--stdin", help="Read it from standard input instead of asking.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the one that is there.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Enter an access token of the hub. For models that are gated or private; it is kept encrypted."""
    given = "" if forget else _read_token(from_stdin)
    with_services(data_dir, lambda services: services.hub.tokens.set(given))
    print("The token is kept." if given else "The token is forgotten.")


COMMANDS: dict[str, Callable[..., None]] = {
    "search": search, "files": files, "pull": pull, "downloads": list_downloads, "pause": pause, "resume": resume,
    "cancel": cancel, "token": token,
}


# --- following ------------------------------------------------------------------------------------------------------


async def _follow(desk: Desk, status: dict[str, Any]) -> dict[str, Any]:
    """To its end, with a bar. Ctrl-C pauses it; what a server does goes on there."""
    from app.download_progress import line_of, step_of
    from app.progress_line import ProgressLine

    line = ProgressLine(line_of, step_of)
    try:
        while status["state"] in ("queued", "downloading", "verifying"):
            line.show(status)
            await asyncio.sleep(LOOK_INTERVAL_S)
            status = await desk.get(status["id"])
    except asyncio.CancelledError:
        line.end()
        if desk.is_server:
            print(f"It goes on in the server. Stop it with: inglenook models pause {_name(status)}", file=sys.stderr)
        else:
            await desk.pause(status["id"])
            print(f"It pauses. Go on with: inglenook models pull {_name(status)}", file=sys.stderr)
        raise
    line.end(status)
    return status


def _end(status: dict[str, Any]) -> None:
    if status["state"] == "on_disk":
        print(f"{_name(status)} is there, as {status['model_id']}.")
        return
    print(f"inglenook: {status['reason'] or 'It was paused.'}", file=sys.stderr)
    sys.exit(FAILED)


def _say_plan(repo: str, plan: dict[str, Any], *, anyway: bool) -> None:
    from app.errors import Conflict
    from app.language import Said

    fit, num_files = plan["fit"], len(plan["files"])
    verdict = str(fit["verdict"])
    parts = f" in {num_files} files" if num_files > 1 else ""
    about = f"{size(plan['size_bytes'])}{parts}, commit {plan['commit_sha'][:12]}"
    print(f"{repo}:{plan['label']}, {about}.", file=sys.stderr)
    if verdict in ("fits", "tight"):
        layers = f", {fit['gpu_layers']} of {fit['num_layers']} layers on the GPU" if fit["gpu_layers"] else ""
        how = "It fits" if verdict == "fits" else "It fits, but only just"
        people = "1 person" if fit["num_users"] == 1 else f"{fit['num_users']} people at once"
        print(f"{how}: {people} with {fit['context_tokens']:,} tokens of context each{layers}.", file=sys.stderr)
        if speed := plan["speed"]:
            print(f"About {speed['tokens_per_s']:g} tok/s. {speed['rests_on']}", file=sys.stderr)
    elif verdict == "unknown" or anyway:
        print(f"Whether it fits: {fit['reason']}", file=sys.stderr)
    else:
        raise Conflict(Said("command-anyway", reason=fit["reason"]))


# --- helpers --------------------------------------------------------------------------------------------------------


def _at_desk(data_dir: Path | None, work: Callable[[Desk], Awaitable[T]]) -> T:
    settings = load_settings(data_dir=data_dir)
    from app.download_desk import at_desk

    return at_desk(settings, work)


async def _find(desk: Desk, which: str) -> dict[str, Any]:
    from app.errors import NotFound
    from app.language import Said

    everything = await desk.list()
    by_id = [each for each in everything if which and each["id"].startswith(which)]
    wanted = which.casefold()
    by_name = [each for each in everything if wanted in (each["repo"].casefold(), _name(each).casefold())]
    found = by_id or by_name
    if len(found) != 1:
        raise NotFound(Said("command-download-many" if found else "command-download-none", download=which))
    return found[0]


def _read_token(from_stdin: bool) -> str:
    if sys.stdin is None or not (from_stdin or sys.stdin.isatty()):
        raise typer.BadParameter("there is no terminal to ask for the token; give it with --stdin")
    if not from_stdin:
        return str(typer.prompt("Token", hide_input=True))
    return sys.stdin.buffer.read(MAX_TOKEN_BYTES).decode(errors="replace").strip()


def _name(status: dict[str, Any]) -> str:
    return f"{status['repo']}:{status['label']}"


def _billions(number: int | None) -> str:
    if number is None:
        return "-"
    return f"{number / 1e9:.1f} B" if number >= 1e9 else f"{number / 1e6:.0f} M"
