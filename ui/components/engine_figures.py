"""How a loaded model does: whom it serves, how fast, from what memory. Figures in its row of the models page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nicegui.elements.mixins.text_element import TextElement

from engine.engine import Engine, EngineInfo, EngineMetrics
from engine.histogram import Histogram
from ui.components.elements import tag
from ui.words import brief, percent, size, speed

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str
    note: str


def figures_of(info: EngineInfo, metrics: EngineMetrics, now_s: float) -> list[Figure]:
    """Always in this order. The last is there only where the model's words are guessed ahead."""
    figures = [
        Figure("Being answered", str(metrics.num_running), f"{metrics.num_waiting} in line"),
        Figure("Writing speed", speed(metrics.output_tokens_per_s(now_s)), "all together, now"),
        Figure("First token after", *_median_and_slowest(metrics.time_to_first_token)),
        Figure("Then one every", *_median_and_slowest(metrics.inter_token)),
        Figure("Read before", percent(metrics.cached_share) or UNKNOWN, "of all prompts"),
        Figure("Chats hold", size(metrics.held_bytes), f"of {size(info.kv_bytes + info.cache_bytes)}"),
    ]
    if guessed := percent(metrics.accept_rate):
        figures.append(Figure("Guessed right", guessed, "of tokens tried ahead"))
    return figures


class EngineFigures:
    """Of one engine. `show` brings what changed to the page, and sends nothing where nothing did."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._shown: list[tuple[TextElement, TextElement]] = []       # value and note of each
        self._list = tag("dl", "nk-figs nk-num")
        self.show()

    def show(self) -> None:
        figures = figures_of(self._engine.info, self._engine.metrics(), time.monotonic())
        for figure in figures[len(self._shown):]:
            self._add(figure.label)
        for (value, note), figure in zip(self._shown, figures, strict=True):
            value.text, note.text = figure.value, figure.note

    def _add(self, label: str) -> None:
        with self._list, tag("div"):
            tag("dt", "", label)
            with tag("dd"):
                value, note = TextElement(tag="b", text=""), TextElement(tag="span", text="")
        self._shown.append((value, note))


def _median_and_slowest(times: Histogram) -> tuple[str, str]:
    median, slowest = _quantile(times, 0.5), _quantile(times, 0.95)
    return (median or UNKNOWN, f"slowest 5 %: {slowest}" if slowest else "nothing written yet")


def _quantile(times: Histogram, share: float) -> str | None:
    value_s = times.quantile_s(share)
    if value_s is None:
        return None
    return f"over {brief(value_s)}" if value_s >= times.bounds_s[-1] else brief(value_s)
