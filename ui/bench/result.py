"""What was measured: curves, a table of each model, two models beside each other, and the run before. On the Measure
page.

Made anew with each round of a run that is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui.element import Element

from app.services.bench_figures import Figure, Level
from app.services.bench_history import Since, beside, levels_of
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
    since: tuple[Since | None, ...]
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
    guessed = max(level.guessed_share for level in levels)
    if guessed >= LEAST_GUESSED:
        tag("p", "nk-hint", t("bench-guessed", share=percent(guessed) or ""))
    if any(level.is_disturbed for level in levels):
        tag("p", "nk-hint", t("bench-disturbed"))


def since_notice(since: Since, *, names: bool) -> None:
    """Something worse is told as such."""
    kind, icon_name = ("warn", "triangle-alert") if since.is_worse else ("", "history")
    if since.foremost is not None and not since.is_worse:
        kind, icon_name = "ok", "circle-check"
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
    return result.since[0] if len(result.rows) == 1 else None


def _chart(
    result: Result, title: str, about: str, figure_of: Callable[[Level], Figure], written: Callable[[float], str]
) -> None:
    curves = [_curve(name_of(row), look, row, figure_of) for look, row in zip(LOOKS, result.rows, strict=False)]
    if earlier := _earlier(result):
        name = t("bench-before", date=before_of(earlier))
        curves.append(_curve(name, "before", earlier.before, figure_of))
    curve_chart(t(title), t(about), t("bench-at-once"), curves, written)


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
    titles = ["bench-at-once", "bench-col-speed", "bench-col-stream", "bench-col-first", "bench-col-between"]
    titles += ["bench-col-price"] if costs.is_known else []
    with _scrolling(name_of(row)), tag("table", "nk-tbl nk-num"):
        tag("caption", "nk-sr" if is_alone else "", f"{name_of(row)}: {with_what(row)}")
        _head([t(each) for each in titles])
        with tag("tbody"):
            for level in levels_of(row):
                with tag("tr"):
                    _row_head(level)
                    speed = level.tokens_per_s
                    spread = t("bench-spread", low=speed_of(speed.low), high=speed_of(speed.high))
                    _cell(speed_of(speed.median), spread if level.repetitions > 1 else "")
                    _cell(speed_of(level.stream_tokens_per_s.median))
                    _cell(time_of(level.first_token_p50_s.median), _slowest(level.first_token_p95_s.median))
                    _cell(time_of(level.inter_token_p50_s.median), _slowest(level.inter_token_p95_s.median))
                    if costs.is_known:
                        _cell(money(costs.per_million(speed.median)))


def _beside(first: Benchmark, second: Benchmark) -> None:
    seconds = {level.concurrency: level for level in levels_of(second)}
    firsts = {level.concurrency: level for level in levels_of(first)}
    pairs = beside(first, second)
    if not pairs:
        return
    with _scrolling(t("bench-beside")), tag("table", "nk-tbl nk-num"):
        tag("caption", "", t("bench-beside-about", one=name_of(first), other=name_of(second)))
        speed, wait = t("bench-col-speed"), t("bench-col-first")
        _head([
            t("bench-at-once"), speed, t("bench-col-other", what=speed), t("bench-col-ratio", what=speed),
            wait, t("bench-col-other", what=wait), t("bench-col-ratio", what=wait),
        ])
        with tag("tbody"):
            for pair in pairs:
                one, other = firsts[pair.concurrency], seconds[pair.concurrency]
                with tag("tr"):
                    _row_head(other)
                    _cell(speed_of(one.tokens_per_s.median))
                    _cell(speed_of(other.tokens_per_s.median))
                    _cell(change_of(pair.tokens_per_s), "" if pair.is_beyond_noise else t("bench-alike"))
                    _cell(time_of(one.first_token_p50_s.median))
                    _cell(time_of(other.first_token_p50_s.median))
                    _cell(change_of(pair.first_token))


def _scrolling(label: str) -> Element:
    """A table that is wider than a phone moves by itself, by finger and by key."""
    return tag("div", "nk-bench-table", role="region", tabindex="0", aria_label=label)


def _head(titles: Sequence[str]) -> None:
    with tag("thead"), tag("tr"):
        for index, title in enumerate(titles):
            tag("th", "" if index == 0 else "nk-r", title, scope="col")


def _row_head(level: Level) -> None:
    with tag("th", "nk-bench-at", scope="row"):
        tag("span", "", str(level.concurrency))
        if level.is_disturbed:
            tag("span", "nk-tag", t("bench-disturbed-short"))


def _cell(value: str, about: str = "") -> None:
    with tag("td", "nk-r"):
        tag("b", "", value)
        if about:
            tag("small", "", about)


def _slowest(value_s: float) -> str:
    return t("figure-slowest", time=time_of(value_s)) if value_s > 0 else ""
