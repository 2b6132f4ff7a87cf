"""What `inglenook bench` prints: figures with all that they depend on, a curve, the run before, two models beside each
other, and money. From the JSON of `bench_history.body_of`. Part of the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from app.progress_line import bar_of, in_time
from app.services.bench_figures import Level
from app.services.model_facts import version_in_words
from app.services.prices import Costs, best_level, crossover, digits_of, told
from store.tables.models import ELSEWHERE

BAR_CHARS = 40
LEAST_GUESSED = 0.01
COMPARED = ("CONCURRENCY", "TOK/S", "OTHER", "RATIO", "FIRST TOKEN", "OTHER", "RATIO")
SOURCES = {"own": "from chats", "given": "as they were given", "built-in": "of ours"}

Row = dict[str, Any]


# --- while it runs ----------------------------------------------------------------------------------------------------


def progress_of(status: dict[str, Any], with_bar: bool) -> str:
    if status["state"] == "loading":
        return f"Loading {' and '.join(status['model_names'])} …"
    bar = bar_of(status["fraction"]) if with_bar else ""
    parts = [
        f"{bar}{status['fraction']:4.0%}", status["model_name"],
        f"{status['concurrency']} at once" if status["concurrency"] else "warming up",
        f"{status['repetition']} of {status['repetitions']}",
    ]
    if status["tokens_per_s"]:
        parts.append(f"{status['tokens_per_s']:,.0f} tok/s before")
    if status["about_s"]:
        parts.append(f"about {in_time(status['about_s'])} left")
    return "  ".join(parts)


def line_of(status: dict[str, Any]) -> str:
    """Before anything is measured with more clients than are answered at once."""
    return (
        f"{status['num_slots']} are answered at once here: where more ask, up to {status['most_clients']}, the others "
        "wait in line, and their wait is measured too."
    )


def estimate_of(status: dict[str, Any]) -> str:
    """As soon as the model has said a few words, and before most is measured."""
    return f"This takes about {in_time(status['about_s'])}, for {status['num_all']:,} answers. Ctrl-C stops it."


def step_of(status: dict[str, Any]) -> object:
    """Another model, repetition or level."""
    return [status[name] for name in ("state", "model_name", "repetition", "concurrency")]


# --- in the end -------------------------------------------------------------------------------------------------------


def as_values(rows: Sequence[Row], costs: Costs) -> dict[str, Any]:
    """For programs: what was measured, with prices where costs are known."""
    return {"runs": [row | {"prices": _prices(row, costs)} for row in rows], "costs": costs.to_values()}


def lines_of(rows: Sequence[Row], costs: Costs) -> Iterator[str]:
    for row in rows:
        yield from _one(row, costs)
        yield ""
    if len(rows) == 2:
        yield from _beside(*rows)
        yield ""
    yield (
        "Tok/s: of all answers together; spread: from the slowest to the fastest repetition. Of one answer: its own "
        "tok/s, after its first token. First token: from the question on, waiting in line included; between: from "
        "one token to the next; medians, and p95: what 95 of 100 stay below."
    )
    guessed = max(level.guessed_share for row in rows for level in _levels(row))
    if guessed >= LEAST_GUESSED:
        yield (
            f"Up to {guessed:.0%} of the tokens were guessed ahead: more than in plain talk, since a text that is "
            "written on past its end repeats itself."
        )
    if any(level.is_disturbed for row in rows for level in _levels(row)):
        yield "* Somebody was answered meanwhile, which slowed this down. Measure again when it is quiet."


def _one(row: Row, costs: Costs) -> Iterator[str]:
    levels, slots = _levels(row), 0 if row["device"] == ELSEWHERE else row["max_num_seqs"]
    yield _with_what(row)
    yield _asked_what(row, levels)
    yield ""
    yield from _table(
        ("CONCURRENCY", "TOK/S", "SPREAD", "OF ONE ANSWER", "FIRST TOKEN", "P95", "BETWEEN", "P95",
         *(["A MILLION"] if costs.is_known else [])),
        [_figures(level, slots, costs) for level in levels],
    )
    yield ""
    width = max(12, *(len(_clients(level, slots)) for level in levels))
    most = max(level.tokens_per_s.median for level in levels)
    for level in levels:
        bar = "#" * max(1, round(BAR_CHARS * level.tokens_per_s.median / most))
        yield f"{_clients(level, slots):>{width}}  {bar} {level.tokens_per_s.median:,.0f} tok/s"
    if compared := row["since"] or row["not_compared"]:
        yield ""
        yield f"{compared['told']}."
    best = best_level({level.concurrency: level.tokens_per_s.median for level in levels})
    speed = next(level.tokens_per_s.median for level in levels if level.concurrency == best)
    for sentence in told(costs, speed, best, lambda value, digits: f"{value:,.{digits}f}"):
        yield str(sentence)


def _with_what(row: Row) -> str:
    threads = f", {row['num_threads']} threads" if row["num_threads"] else ""
    layers = f", {row['gpu_layers']} layers on the GPU" if row["gpu_layers"] else ""
    # How a server elsewhere goes about it, nobody is told.
    where = f"on {row['device']}{threads}{layers}" if row["kv_type"] else "to a server elsewhere"
    room = f" for {row['max_num_seqs']} at once, KV in {row['kv_type']}" if row["kv_type"] else ""
    return (
        f"{_name(row)}: {row['backend']} {where}; {row['context_tokens']:,} tokens of context{room}; "
        f"Inglenook {row['app_version']} on {row['machine']}. "
        f"Version: {version_in_words(row['model_version'])}."
    )


def _name(row: Row) -> str:
    return ", ".join(filter(None, (row["model_name"], row["quantisation"])))


def _asked_what(row: Row, levels: Sequence[Level]) -> str:
    cached = sum(level.num_cached_tokens for level in levels)
    heat = f"warm: {cached:,} tokens were cached" if cached else "cold"
    length = round(sum(level.prompt_tokens for level in levels) / len(levels))
    return (
        f"Prompts: {row['num_prompts']} {SOURCES[row['prompts_source']]}, about {length:,} tokens each, {heat}; "
        f"answers of {row['max_tokens']} tokens, greedy, the end of the text ignored; the median of "
        f"{row['repetitions']}, "
        f"{datetime.fromisoformat(row['created_at']):%Y-%m-%d %H:%M} UTC."
    )


def _clients(level: Level, slots: int) -> str:
    """"4 at once", or "99 asked, 8 at once"."""
    return f"{level.concurrency} asked, {slots} at once" if 0 < slots < level.concurrency else (
        f"{level.concurrency} at once"
    )


def _figures(level: Level, slots: int, costs: Costs) -> tuple[str, ...]:
    speed = level.tokens_per_s
    clients = _clients(level, slots) if 0 < slots < level.concurrency else str(level.concurrency)
    return (
        f"{clients}{'*' if level.is_disturbed else ''}", f"{speed.median:,.1f}",
        f"{speed.low:,.1f} to {speed.high:,.1f}" if level.repetitions > 1 else "-",
        f"{level.stream_tokens_per_s.median:,.1f}",
        _time(level.first_token_p50_s.median), _time(level.first_token_p95_s.median),
        _time(level.inter_token_p50_s.median), _time(level.inter_token_p95_s.median),
        *([_money(costs.per_million(speed.median))] if costs.is_known else []),
    )


def _beside(first: Row, second: Row) -> Iterator[str]:
    yield f"{_name(second)} (OTHER) beside {_name(first)}, turn by turn. Ratio: the other over the first."
    yield ""
    others = {level.concurrency: level for level in _levels(second)}
    rows = []
    for level in _levels(first):
        if other := others.get(level.concurrency):
            speed, other_speed = level.tokens_per_s.median, other.tokens_per_s.median
            wait, other_wait = level.first_token_p50_s.median, other.first_token_p50_s.median
            rows.append((
                str(level.concurrency), f"{speed:,.1f}", f"{other_speed:,.1f}", f"{other_speed / speed:.2f} x",
                _time(wait), _time(other_wait), f"{other_wait / wait:.2f} x",
            ))
    yield from _table(COMPARED, rows)


def _prices(row: Row, costs: Costs) -> list[dict[str, Any]] | None:
    if not costs.is_known:
        return None
    prices = []
    for level in _levels(row):
        speed = level.tokens_per_s.median
        price: dict[str, Any] = {"concurrency": level.concurrency, "per_million": costs.per_million(speed)}
        if costs.api_price:
            found = crossover(costs, speed)
            is_finite = found.million_tokens != float("inf")
            price |= {
                "cheaper": found.cheaper.value,
                "million_tokens_per_month": found.million_tokens if is_finite else None,
                "hours_per_month": found.hours if is_finite else None,
            }
        prices.append(price)
    return prices


def _levels(row: Row) -> list[Level]:
    return [Level.from_values(each) for each in row["levels"]]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Numbers stand right."""
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]
    for row in (titles, *rows):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _time(value_s: float) -> str:
    return f"{value_s:,.2f} s" if value_s >= 1 else f"{value_s * 1000:,.1f} ms"


def _money(amount: float) -> str:
    return f"{amount:,.{digits_of(amount)}f}"
