"""The measurement that is under way, or what became of the last, in every open tab. On the Measure page."""

from __future__ import annotations

from app.services.bench_status import BenchState, BenchStatus
from app.services.container import Services
from ui.components.dialog import show_problem
from ui.components.elements import icon, tag
from ui.components.text import live, put
from ui.language import in_words, t
from ui.words import long_time, number, percent, speed


class BenchProgress:
    """It stays in place while its words change, so that Stop keeps the focus."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._told = ""
        self._problem = tag("div", "nk-bench-problem")
        with tag("div", "nk-card nk-dl nk-bench-run") as self._card:
            with tag("div", "nk-top"):
                with tag("div", "nk-grow"):
                    self._name = live("span", "nk-name")
                with tag("button", "nk-btn nk-btn-quiet nk-btn-sm", type="button").on("click", self._stop):
                    icon("square", 16)
                    tag("span", text=t("bench-stop"))
            with tag("div", "nk-meter", role="progressbar", aria_label=t("bench-meter")) as self._meter:
                self._bar = tag("i")
            with tag("div", "nk-bot nk-num"):
                self._parts = [live("span") for _ in range(5)]
            self._line = live("p", "nk-hint")
        self._said = live("div", "nk-sr", role="status")

    def show(self, status: BenchStatus | None) -> None:
        is_running = status is not None and status.is_running
        self._card.set_visibility(is_running)
        failed = in_words(status.reason) if status is not None and status.state is BenchState.FAILED else ""
        if failed != self._told:
            self._told = failed
            show_problem(self._problem, failed)
        if status is None:
            return
        if not is_running:
            self._said.set_text(t(f"bench-state-{status.state.value}"))
            return
        self._said.set_text("")
        first, *others = status.model_names
        models = t("bench-and", one=first, other=others[0]) if others else first
        put(self._name, t("bench-measuring", models=models))
        put(self._line, t("bench-line", slots=status.num_slots) if status.waits_in_line else "")
        share = round(100 * status.fraction, 1)
        self._bar.style(f"width: {share}%")
        if self._meter.props.get("aria-valuenow") != str(round(share)):
            self._meter.props["aria-valuenow"] = str(round(share))
        for element, text in zip(self._parts, [*parts_of(status), *[""] * 5], strict=False):
            put(element, text)

    async def _stop(self) -> None:
        await self._services.benchmarks.stop()


def parts_of(status: BenchStatus) -> list[str]:
    """What stands under the bar, most important first; at most five."""
    if status.state is BenchState.LOADING:
        return [t("bench-loading")]
    parts = [percent(status.fraction) or ""]
    if len(status.model_names) == 2:
        parts.append(status.model_name)
    parts.append(t("bench-now", clients=status.concurrency, repetition=status.repetition, all=status.repetitions)
                 if status.concurrency else t("bench-warming"))
    if status.tokens_per_s:
        parts.append(t("bench-last-round", speed=speed(status.tokens_per_s)))
    if status.about_s:
        parts.append(t("download-left", time=long_time(status.about_s)))
    elif status.num_all:
        parts.append(t("bench-answers", done=number(status.num_done), all=number(status.num_all)))
    return parts
