"""How a loaded model does: whom it serves, how fast, from what memory. Figures in its row of the models page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from nicegui.elements.mixins.text_element import TextElement

from engine.engine import Engine, EngineInfo, EngineMetrics
from engine.histogram import Histogram
from ui.components.elements import tag
from ui.language import t
from ui.words import brief, number, percent, size, speed

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str
    note: str


def figures_of(info: EngineInfo, metrics: EngineMetrics, now_s: float) -> list[Figure]:
    """Always in this order. The last is there only where the model's words are guessed ahead."""
    figures = [
        Figure(t("figure-running"), number(metrics.num_running), t("figure-waiting", count=metrics.num_waiting)),
        Figure(t("figure-speed"), speed(metrics.output_tokens_per_s(now_s)), t("figure-speed-note")),
        Figure(t("figure-first"), *_median_and_slowest(metrics.time_to_first_token)),
        Figure(t("figure-next"), *_median_and_slowest(metrics.inter_token)),
        Figure(t("figure-cached"), percent(metrics.cached_share) or UNKNOWN, t("figure-cached-note")),
        Figure(
            t("figure-held"), size(metrics.held_bytes),
            t("figure-held-note", size=size(info.kv_bytes + info.cache_bytes)),
        ),
    ]
    if guessed := percent(metrics.accept_rate):
        figures.append(Figure(t("figure-guessed"), guessed, t("figure-guessed-note")))
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
    return (median or UNKNOWN, t("figure-slowest", time=slowest) if slowest else t("figure-nothing"))


def _quantile(times: Histogram, share: float) -> str | None:
    value_s = times.quantile_s(share)
    if value_s is None:
        return None
    return t("figure-over", time=brief(value_s)) if value_s >= times.bounds_s[-1] else brief(value_s)
