"""`inglenook bench`: how fast a model writes here, how soon it begins, by how many ask at once, and what that costs.

Part of `app.cli`, which explains exit codes and late imports. Where a server runs on the data folder, it does the work.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands import DataDir, load_settings
from app.numbers import whole_number

if TYPE_CHECKING:
    from app.bench_desk import Desk
    from app.services.bench_prompts import Prompts
    from app.services.container import Services
    from app.services.prices import Costs

FAILED = 1
LOOK_INTERVAL_S = 0.3
MAX_PROMPTS_BYTES = 2**20
STANDARD_INPUT = "-"

OPTIONS = {             # by what is wrong
    "models": "--against", "levels": "--concurrency", "max_tokens": "--tokens", "repetitions": "--repetitions",
    "watts": "--watts", "kwh_price": "--kwh-price", "rent_per_hour": "--rent", "per_month": "--per-month",
    "api_price": "--api-price",
}

Amount = float | None


def bench(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its ID, as `models list` shows it, or an alias.")],
    against: Annotated[
        str | None, typer.Option(metavar="OTHER", help="Another model or quantisation, measured turn by turn with it.")
    ] = None,
    prompts: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="One prompt a line, or with lines of --- between them. - reads them here."),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="Whose chats' first questions are asked. The only person's if not said.")
    ] = "",
    concurrency: Annotated[
        str, typer.Option(metavar="1,4,8", help="How many ask at once: 1, 2, 4 … up to what the model takes.")
    ] = "",
    tokens: Annotated[int | None, typer.Option(metavar="N", help="Of each answer: 128 if not given.")] = None,
    repetitions: Annotated[int | None, typer.Option(metavar="N", help="Of each figure: 3 if not given.")] = None,
    watts: Annotated[Amount, typer.Option(metavar="W", help="That the machine takes while it writes.")] = None,
    kwh_price: Annotated[Amount, typer.Option("--kwh-price", metavar="PRICE", help="Of electricity.")] = None,
    rent: Annotated[Amount, typer.Option(metavar="PRICE", help="Of an hour that it writes.")] = None,
    per_month: Annotated[
        Amount, typer.Option("--per-month", metavar="PRICE", help="That it costs whether it writes or not.")
    ] = None,
    api_price: Annotated[
        Amount, typer.Option("--api-price", metavar="PRICE", help="Of a million output tokens elsewhere.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Measure how fast a model writes here, and what that costs.

    Tok/s and the time to the first token, by how many ask at once, beside the model's last run or another model.
    Answers are greedy and all of the same length, and every prompt is new to the cache. Of prompts nothing is kept but
    a hash. People who chat meanwhile go first. Amounts that are not given are those of the Measure page.
    """
    given = {
        "watts": watts, "kwh_price": kwh_price, "rent_per_hour": rent, "per_month": per_month, "api_price": api_price
    }
    numbers = {"max_tokens": tokens, "repetitions": repetitions}
    body: dict[str, Any] = {
        "models": [model] if against is None else [model, against], "levels": _levels(concurrency),
    } | {name: value for name, value in numbers.items() if value is not None}
    _check(body, {name: value for name, value in given.items() if value is not None})
    typed = None if prompts is None else _read(prompts)
    settings = load_settings(data_dir=data_dir)
    from app.bench_desk import at_desk, costs_of

    async def work(desk: Desk, services: Services) -> tuple[dict[str, Any], Costs]:
        costs = await costs_of(services, {name: value for name, value in given.items() if value is not None})
        chosen = typed or await _own(services, user)
        body.update(prompts=list(chosen.texts), source=chosen.source)
        started = await desk.start(body)
        if started["prompts_source"] != chosen.source:
            print("What people have asked here is not sent elsewhere: some questions of ours are asked. See --prompts.",
                  file=sys.stderr)
        return await _follow(desk, started), costs

    status, costs = at_desk(settings, work)
    if status["state"] != "done":
        print(f"inglenook: {status['reason'] or 'It was stopped, so nothing is kept.'}", file=sys.stderr)
        sys.exit(FAILED)
    from app.bench_report import as_values, lines_of

    print(json.dumps(as_values(status["rows"], costs), indent=2) if as_json else "\n".join(
        lines_of(status["rows"], costs)
    ))


def _check(body: dict[str, Any], given: dict[str, float]) -> None:
    """What is wrong whatever the model is, before anything is begun. Raises BadParameter, which names the option."""
    from app.errors import InvalidInput
    from app.services.bench_prompts import Prompts
    from app.services.bench_status import BenchWish
    from app.services.prices import Costs

    try:
        BenchWish.from_json(body, Prompts(("any",), "given")).check()
        Costs(**given)
    except InvalidInput as error:
        raise typer.BadParameter(str(error), param_hint=OPTIONS.get(error.field or "")) from error
    except ValueError as error:
        raise typer.BadParameter(
            "Give an amount of 0 or more, as 0.32.", param_hint=OPTIONS.get(str(error))
        ) from error


async def _own(services: Services, user: str) -> Prompts:
    from app.bench_desk import prompts_of

    chosen = await prompts_of(services, user)
    if chosen.source == "built-in":
        print("No chats of one person to take questions from: some of ours are asked. See --user and --prompts.",
              file=sys.stderr)
    return chosen


async def _follow(desk: Desk, status: dict[str, Any]) -> dict[str, Any]:
    """To its end. Ctrl-C stops it, in a server too: nobody else asked for it."""
    from app.bench_report import estimate_of, line_of, progress_of, step_of
    from app.progress_line import ProgressLine

    line = ProgressLine(progress_of, step_of)
    bench_id = status["id"]
    is_told = is_estimated = False
    try:
        while status["is_running"]:
            if status["waits_in_line"] and not is_told:
                is_told = True
                line.end()
                print(line_of(status), file=sys.stderr)
            if status["about_s"] and not is_estimated:
                is_estimated = True
                line.end()
                print(estimate_of(status), file=sys.stderr)
            line.show(status)
            await asyncio.sleep(LOOK_INTERVAL_S)
            status = await desk.get(bench_id)
    except asyncio.CancelledError:
        line.end()
        await desk.stop(bench_id)
        raise
    line.end(status)
    return status


def _levels(text: str) -> list[int]:
    try:
        return [whole_number(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError as error:
        raise typer.BadParameter(f"'{text}' is no list of numbers, as 1,4,8", param_hint="--concurrency") from error


def _read(name: str) -> Prompts:
    """Raises OSError."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise typer.BadParameter("standard input is closed; give the prompts there, or in a file")
        data = sys.stdin.buffer.read(MAX_PROMPTS_BYTES)
    else:
        with Path(name).open("rb") as file:
            data = file.read(MAX_PROMPTS_BYTES)
    from app.services.bench_prompts import Prompts, prompts_in

    texts = prompts_in(data.decode(errors="replace"))
    if not texts:
        raise typer.BadParameter(f"{name} holds no prompt")
    return Prompts(texts, "given")
