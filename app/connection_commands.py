"""`inglenook connections add, list, show, test, remove, on, off`: servers elsewhere whose models may be used here.

Part of `app.cli`, which explains exit codes and late imports. A running server follows with its next request. Keys come
in by standard input: what is on a command line, every user of the machine can read.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from app.commands import HELP_STYLE, DataDir, print_table, with_services

if TYPE_CHECKING:
    from app.services.connections import ConnectionEntry
    from app.services.container import Services

T = TypeVar("T")

MAX_KEY_BYTES = 2**16           # read of what comes in, which may have no end
NAMED_MODELS = 3
MOMENT = "%Y-%m-%d %H:%M"

connections = typer.Typer(
    **HELP_STYLE, no_args_is_help=True, help="Servers elsewhere whose models may be used here. At first: none."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The connection's, as `connections list` shows it.")]
OfOne = Annotated[str, typer.Argument(metavar="[NAME]", help="A connection's; without it, all of them: the switch.")]


@connections.command("add")
def add(
    name_or_url: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is to be called; or the address alone: then as its host.")
    ],
    url_or_none: Annotated[str | None, typer.Argument(metavar="URL", help="As http://gpu.lan:8000/v1.")] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the server's key from standard input.")] = False,
    headers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Headers to send along, one a line, as in X-Team: kitchen.")
    ] = None,
    session_header: Annotated[
        str | None,
        typer.Option("--session-header", metavar="NAME", help="That tells conversations apart; none: no such header."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Ask a server which models it has, and use them from now on. Models elsewhere must be switched on."""
    name, url = ("", name_or_url) if url_or_none is None else (name_or_url, url_or_none)
    if not name and not any(mark in url for mark in ".:"):
        raise typer.BadParameter(f"'{url}' is no address, as http://gpu.lan:8000/v1", param_hint="URL")
    key = _read_key() if key_stdin else ""
    lines = headers.read_text(encoding="utf-8", errors="replace") if headers is not None else ""

    async def work(services: Services) -> ConnectionEntry:
        from app.services.connections import Entered, parse_headers

        entered = Entered(name=name, base_url=url, key=key, headers=parse_headers(lines))
        if session_header is not None:
            named = "" if session_header.lower() == "none" else session_header
            entered = replace(entered, session_header=named)
        return await services.connections.add(entered)

    print(_told(_with(data_dir, work)))


@connections.command("list")
def list_connections(data_dir: DataDir = None) -> None:
    """What there is, and how each does."""

    async def collect(services: Services) -> tuple[bool, list[ConnectionEntry]]:
        return await services.connections.is_allowed(), await services.connections.list()

    is_allowed, entries = _with(data_dir, collect)
    print(f"Models elsewhere are switched {'on' if is_allowed else 'off: `inglenook connections on` allows them'}.")
    if entries:
        rows: list[tuple[str, ...]] = [
            (each.connection.name, _kind(each), each.connection.base_url, _state(each, is_allowed=is_allowed),
             _last(each), ", ".join(_models(each)))
            for each in entries
        ]
        print_table(("NAME", "SERVER", "ADDRESS", "STATE", "ASKED", "MODELS"), rows)
        if failing := next((each.connection.name for each in entries if each.connection.failed_at is not None), None):
            print(f"Why one fails: `inglenook connections show {shlex.quote(failing)}`.")


@connections.command("show")
def show(name: Name, data_dir: DataDir = None) -> None:
    """All of a connection but its key and headers. How it did last, and each of its models."""

    async def collect(services: Services) -> tuple[bool, ConnectionEntry]:
        return await services.connections.is_allowed(), await services.connections.named(name)

    is_allowed, entry = _with(data_dir, collect)
    row = entry.connection
    lines = [
        f"{row.name}: {_kind(entry)} at {row.base_url}",
        f"  State     {_state(entry, is_allowed=is_allowed)}",
        *([f"  Failed    {row.failed_at:{MOMENT}} UTC: {_reason(entry)}"] if row.failed_at else []),
        *([f"  Answered  {row.answered_at:{MOMENT}} UTC"] if row.answered_at else []),
        f"  Key       {'kept' if entry.has_key else 'none'}",
        f"  Headers   {'kept' if row.sealed_headers else 'none'}; session header {row.session_header or 'none'}",
        "  Models",
        *(f"    {each.model_id}" for each in entry.models),
    ]
    print("\n".join(lines))


@connections.command("test")
def test(
    name: Name,
    word: Annotated[bool, typer.Option("--word/--no-word", help="Have one of its models say a word, too.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Ask a server again what it has, and whether it answers."""

    async def work(services: Services) -> list[str]:
        entry = await services.connections.named(name)
        entry = await services.connections.test(entry.connection.id)
        lines = [_told(entry)]
        if word and (tried := await services.connections.try_out(entry.connection.id)) is not None:
            model, trial = tried
            lines.append(f"{model} said a word after {trial.first_token_s:.2f} s.")
        return lines

    print("\n".join(_with(data_dir, work)))


@connections.command("remove")
def remove(name: Name, data_dir: DataDir = None) -> None:
    """Forget a connection with its key. Chats keep the answers that came over it."""

    async def work(services: Services) -> str:
        entry = await services.connections.named(name)
        await services.connections.remove(entry.connection.id)
        return entry.connection.name

    print(f"{_with(data_dir, work)} is removed.")


@connections.command("on")
def on(name: OfOne = "", data_dir: DataDir = None) -> None:
    """Allow models elsewhere, or use a connection again. What is asked of them leaves this machine."""
    print(_with(data_dir, _switch(name, is_on=True)))


@connections.command("off")
def off(name: OfOne = "", data_dir: DataDir = None) -> None:
    """Let nothing leave this machine any more. With a name: nothing over that connection."""
    print(_with(data_dir, _switch(name, is_on=False)))


def _switch(name: str, *, is_on: bool) -> Callable[[Services], Awaitable[str]]:
    async def work(services: Services) -> str:
        if not name:
            await services.connections.set_allowed(is_on)
            return f"Models elsewhere are switched {'on' if is_on else 'off'}."
        entry = await services.connections.named(name)
        await services.connections.set_on(entry.connection.id, is_on)
        return f"{entry.connection.name} is switched {'on' if is_on else 'off'}."

    return work


def _with(data_dir: Path | None, work: Callable[[Services], Awaitable[T]]) -> T:
    async def and_close(services: Services) -> T:
        try:
            return await work(services)
        finally:
            await services.endpoints.close()

    return with_services(data_dir, and_close)


def _told(entry: ConnectionEntry) -> str:
    about = f"{entry.connection.name} is {_kind(entry)} at {entry.connection.base_url}: {', '.join(_models(entry))}."
    if not entry.num_left_out:
        return about
    return f"{about}\n{entry.num_left_out} more of its list cannot be used: odd names, or a list that is too long."


def _models(entry: ConnectionEntry) -> list[str]:
    """Those by name that fit into a line."""
    names = [each.model_id for each in entry.models]
    more = len(names) - NAMED_MODELS
    return names if more <= 1 else [*names[:NAMED_MODELS], f"{more} more"]


def _kind(entry: ConnectionEntry) -> str:
    from app.services.endpoints import kind_of
    from engine.remote.endpoint import SERVER_NAMES

    return SERVER_NAMES[kind_of(entry.connection)]


def _state(entry: ConnectionEntry, *, is_allowed: bool) -> str:
    """A word, as its pill on the page has."""
    row = entry.connection
    if not (row.is_on and is_allowed):
        return "off"
    if row.failed_at is not None:
        return "fails"
    return "answers" if row.answered_at is not None else "unknown"


def _last(entry: ConnectionEntry) -> str:
    at = entry.connection.failed_at or entry.connection.answered_at
    return f"{at:{MOMENT}}" if at is not None else "-"


def _reason(entry: ConnectionEntry) -> str:
    from app.language import said_again

    return str(said_again(entry.connection.problem))


def _read_key() -> str:
    if sys.stdin is None:       # closed by who called us
        raise typer.BadParameter("standard input is closed; give the key there, with --key-stdin")
    try:
        return sys.stdin.buffer.read(MAX_KEY_BYTES).decode().strip()
    except UnicodeDecodeError as error:
        raise typer.BadParameter("the key is not UTF-8 text") from error
