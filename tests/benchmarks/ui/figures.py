"""A figure with its goal, and the table of all of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """`goal` is an upper bound, a lower one where `more_is_better`; None: only told, nothing was promised."""

    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    more_is_better: bool = False
    note: str = ""

    @property
    def is_met(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal

    @property
    def verdict(self) -> str:
        return "" if self.goal is None else "met" if self.is_met else "MISSED"


@dataclass(frozen=True, slots=True)
class Skipped:
    name: str
    why: str


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def table(figures: Sequence[Figure | Skipped]) -> str:
    width = max(len(figure.name) for figure in figures)
    return "\n".join(_line(figure, width) for figure in figures)


def _line(figure: Figure | Skipped, width: int) -> str:
    if isinstance(figure, Skipped):
        return f"{figure.name:{width}}  {'skipped':>10}  {figure.why}"
    sign = "≥" if figure.more_is_better else "≤"
    goal = "" if figure.goal is None else f"{sign} {figure.goal:g}"
    value = f"{figure.value:.4g}" if abs(figure.value) < 10_000 else f"{figure.value:.0f}"
    return f"{figure.name:{width}}  {value:>10} {figure.unit:8}{goal:>8}  {figure.verdict:7} {figure.note}".rstrip()
