"""What was measured: curves, a table of each model, two models beside each other, and the run before. On the Measure
page.

Made anew with each round of a run that is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nicegui.element import Element

from app.services.bench_figures import Figure, Level
from app.services.bench_history import Apart, Since, beside, levels_of, slots_of
from app.services.prices import Costs
from store.tables import Benchmark
from ui.bench.words import asked_what, before_of, change_of, money, name_of, speed_of, time_of, told_since, with_what
from ui.components.curve import Curve, Look, Point, curve_chart
from ui.components.elements import icon, tag
from ui.language import t
from ui.words import number, percent

LEAST_GUESSED = 0.01            # of the tokens: less is not told
LOOKS: tuple[Look, ...] = ("first", "second")


@dataclass(frozen=True, slots=True)
class Result:
    """`since`: each row beside the run before it, where there is one."""

    rows: tuple[Benchmark, ...]
    since: tuple[Since | Apart | None, ...]
    costs: Costs


def show_result(result: Result) -> None:
    for each in result.since:
        if each is not None:
            since_notice(each, names=len(result.rows) > 1)
    with tag("div", "nk-card nk-bench-card"):
        _legend(result)
        with tag("div", "nk-curves"):
            _chart(result, "bench-speed", "bench-speed-about", lambda level: level.tokens_per_s, _axis_speed)
            _chart(result, "bench-first", "bench-first-about", lambda level: level.first_token_p50_s, _axis_time)
        if len(result.rows) == 2:
            _beside(result.rows[0], result.rows[1])
        for row in result.rows:
            _table(row, result.costs, is_alone=len(result.rows) == 1)
        _notes([level for row in result.rows for level in levels_of(row)])


def _notes(levels: Sequence[Level]) -> None:
    tag("p", "nk-hint", t("bench-columns"))
    guessed = max(level.guessed_share for level in levels)
    if guessed >= LEAST_GUESSED:
        tag("p", "nk-hint", t("bench-guessed", share=percent(guessed) or ""))
    if any(level.is_disturbed for level in levels):
        tag("p", "nk-hint", t("bench-disturbed"))


def since_notice(since: Since | Apart, *, names: bool) -> None:
    """Something worse is told as such."""
    kind, icon_name = "", "history"
    if isinstance(since, Since) and since.foremost is not None:
        kind, icon_name = ("warn", "triangle-alert") if since.is_worse else ("ok", "circle-check")
    with tag("div", f"nk-notice nk-bench-since {kind}".strip()):
        icon(icon_name)
        sentence = told_since(since)
        tag("span", "nk-grow", t("bench-of", model=name_of(since.now), sentence=sentence) if names else sentence)


def _legend(result: Result) -> None:
    with tag("ul", "nk-bench-legend"):
        for look, row in zip(LOOKS, result.rows, strict=False):
            _legend_entry(look, name_of(row), with_what(row))
        if earlier := _earlier(result):
            _legend_entry("before", t("bench-before", date=before_of(earlier)), earlier.before.backend)
    tag("p", "nk-hint nk-bench-asked", asked_what(result.rows[0]))


def _legend_entry(look: Look, name: str, about: str) -> None:
    with tag("li"):
        tag("svg", f"nk-curve-key {look}", viewBox="0 0 30 10", aria_hidden="true", innerHTML=(
            '<path class="line" d="M1 5H29"/><path class="dots" d="M15 5h0.001"/>'
        ))
        with tag("span"):
            tag("b", "", name)
            tag("span", "", about)


def _earlier(result: Result) -> Since | None:
    """Drawn beside one model alone: with two it would be a third and a fourth curve."""
    found = result.since[0] if len(result.rows) == 1 else None
    return found if isinstance(found, Since) else None


def _chart(
    result: Result, title: str, about: str, figure_of: Callable[[Level], Figure], written: Callable[[float], str]
) -> None:
    curves = [_curve(name_of(row), look, row, figure_of) for look, row in zip(LOOKS, result.rows, strict=False)]
    if earlier := _earlier(result):
        name = t("bench-before", date=before_of(earlier))
        curves.append(_curve(name, "before", earlier.before, figure_of))
    curve_chart(t(title), t(about), t("bench-col-clients"), curves, written)


def _curve(name: str, look: Look, row: Benchmark, figure_of: Callable[[Level], Figure]) -> Curve:
    return Curve(name, look, tuple(
        Point(level.concurrency, figure.median, figure.low, figure.high)
        for level in levels_of(row) for figure in (figure_of(level),)
    ))


def _axis_speed(tokens_per_s: float) -> str:
    return number(float(f"{tokens_per_s:.3g}"), None)


def _axis_time(value_s: float) -> str:
    return time_of(value_s) if value_s else "0"


# --- tables -----------------------------------------------------------------------------------------------------------


def _table(row: Benchmark, costs: Costs, *, is_alone: bool) -> None:
    names = ("speed", "stream", "first", "between", *(["price"] if costs.is_known else []))
    clients, *titles = (t(f"bench-col-{name}") for name in ("clients", *names))
    with _table_of(name_of(row), f"{name_of(row)}: {with_what(row)}", is_told=not is_alone), _body([clients, *titles]):
        for level in levels_of(row):
            speed = level.tokens_per_s
            spread = t("bench-spread", low=speed_of(speed.low), high=speed_of(speed.high))
            cells = [
                (speed_of(speed.median), spread if level.repetitions > 1 else ""),
                (speed_of(level.stream_tokens_per_s.median), ""),
                (time_of(level.first_token_p50_s.median), _p95(level.first_token_p95_s.median)),
                (time_of(level.inter_token_p50_s.median), _p95(level.inter_token_p95_s.median)),
                *([(money(costs.per_million(speed.median)), "")] if costs.is_known else []),
            ]
            _row(clients, level, slots_of(row), titles, cells)


def _beside(first: Benchmark, second: Benchmark) -> None:
    seconds = {level.concurrency: level for level in levels_of(second)}
    firsts = {level.concurrency: level for level in levels_of(first)}
    pairs = beside(first, second)
    if not pairs:
        return
    speed, wait = t("bench-col-speed"), t("bench-col-first")
    clients, titles = t("bench-col-clients"), [
        speed, t("bench-col-other", what=speed), t("bench-col-ratio", what=speed),
        wait, t("bench-col-other", what=wait), t("bench-col-ratio", what=wait),
    ]
    about = t("bench-beside-about", one=name_of(first), other=name_of(second))
    with _table_of(t("bench-beside"), about, is_told=True), _body([clients, *titles]):
        for pair in pairs:
            one, other = firsts[pair.concurrency], seconds[pair.concurrency]
            _row(clients, other, slots_of(second), titles, [
                (speed_of(one.tokens_per_s.median), ""),
                (speed_of(other.tokens_per_s.median), ""),
                (change_of(pair.tokens_per_s), "" if pair.is_beyond_noise else t("bench-alike")),
                (time_of(one.first_token_p50_s.median), ""),
                (time_of(other.first_token_p50_s.median), ""),
                (change_of(pair.first_token), ""),
            ])


# In a narrow window each row stands by itself, and each cell has its title beside it: that takes the meaning of a table
# from what is one, so all of it is said by roles.


@contextmanager
def _table_of(label: str, caption: str, *, is_told: bool) -> Iterator[None]:
    region = tag("div", "nk-bench-table", role="region", tabindex="0", aria_label=label)
    with region, tag("table", "nk-tbl nk-num", role="table"):
        tag("caption", "" if is_told else "nk-sr", caption)
        yield


def _body(titles: Sequence[str]) -> Element:
    """Under its titles."""
    with tag("thead", role="rowgroup"), tag("tr", role="row"):
        for index, title in enumerate(titles):
            tag("th", "" if index == 0 else "nk-r", title, scope="col", role="columnheader")
    return tag("tbody", role="rowgroup")


def _row(clients: str, level: Level, num_slots: int, titles: Sequence[str], cells: Sequence[tuple[str, str]]) -> None:
    """`cells`: each a value, and what is said about it."""
    with tag("tr", role="row"):
        with tag("th", "nk-bench-at", scope="row", role="rowheader", data_title=clients):
            tag("span", "", str(level.concurrency))
            if 0 < num_slots < level.concurrency:
                tag("small", "", t("bench-slots", slots=num_slots))
            if level.is_disturbed:
                tag("span", "nk-tag", t("bench-disturbed-short"))
        for title, (value, about) in zip(titles, cells, strict=True):
            with tag("td", "nk-r", role="cell", data_title=title):
                tag("b", "", value)
                if about:
                    tag("small", "", about)


def _p95(value_s: float) -> str:
    return t("bench-p95", time=time_of(value_s)) if value_s > 0 else ""
