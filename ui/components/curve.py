"""Figures over how many ask at once, as curves: drawn by the server as SVG, with labels that are text of the page, so
that they keep their size however narrow it is. Who cannot see it is told its points, and finds them in a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ui.components.elements import tag

NUM_TICKS = 4
EDGE = 4.0                      # percent of the width that is kept beside the first and the last point
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

Look = Literal["first", "second", "before"]


@dataclass(frozen=True, slots=True)
class Point:
    clients: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    look: Look
    points: tuple[Point, ...]


def curve_chart(title: str, about: str, x_title: str, curves: Sequence[Curve], written: Callable[[float], str]) -> None:
    """`about` tells what a good curve looks like; `written(value)`: with its unit."""
    ticks = ticks_up_to(max(point.high for each in curves for point in each.points))
    clients = sorted({point.clients for each in curves for point in each.points})
    place = _Place(clients[0], clients[-1], ticks[-1])
    with tag("figure", "nk-curve"):
        with tag("figcaption"):
            tag("b", "", title)
            tag("span", "", about)
        told = "; ".join(f"{each.name}: {_told(each, written)}" for each in curves)
        with tag("div", "nk-curve-in nk-num", role="img", aria_label=f"{title}. {told}", dir="ltr"):
            with tag("div", "nk-curve-y"):
                for tick in ticks:
                    tag("span", "", written(tick), style=f"bottom:{place.y_share(tick):.2f}%")
            with tag("div", "nk-curve-plot"):
                tag("svg", viewBox="0 0 100 100", preserveAspectRatio="none", aria_hidden="true",
                    innerHTML=drawing(curves, ticks, place))
            with tag("div", "nk-curve-x"):
                for each in clients:
                    tag("span", "", str(each), style=f"inset-inline-start:{place.x(each):.2f}%")
            tag("span", "nk-curve-xt", x_title)


@dataclass(frozen=True, slots=True)
class _Place:
    """Percent of the plot, from its left upper corner. Twice as many clients are always as far to the right."""

    fewest: int
    most: int
    top: float

    def x(self, clients: int) -> float:
        if self.fewest == self.most:
            return 50.0
        share = math.log(clients / self.fewest) / math.log(self.most / self.fewest)
        return EDGE + share * (100 - 2 * EDGE)

    def y_share(self, value: float) -> float:
        return 100 * value / self.top

    def y(self, value: float) -> float:
        return 100 - self.y_share(value)


def ticks_up_to(most: float) -> list[float]:
    """Round numbers from 0 to what is not below `most`."""
    if most <= 0:
        return [0.0, 1.0]
    rough = most / NUM_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in STEPS if each * power >= rough * (1 - 1e-9))
    return [step * index for index in range(math.ceil(most / step - 1e-9) + 1)]


def drawing(curves: Sequence[Curve], ticks: Sequence[float], place: _Place) -> str:
    """Numbers and names of ours alone: nothing here needs to be escaped."""
    parts = [f'<path class="grid" d="M0 {place.y(tick):.2f}H100"/>' for tick in ticks]
    for each in sorted(curves, key=lambda curve: ("before", "second", "first").index(curve.look)):
        at = [(place.x(point.clients), place.y(point.value)) for point in each.points]
        line = "L".join(f"{x:.2f} {y:.2f}" for x, y in at)
        spread = "".join(
            f"M{place.x(point.clients):.2f} {place.y(point.low):.2f}V{place.y(point.high):.2f}" for point in each.points
        )
        dots = "".join(f"M{x:.2f} {y:.2f}h0.001" for x, y in at)
        parts.append(
            f'<g class="{each.look}"><path class="spread" d="{spread}"/><path class="line" d="M{line}"/>'
            f'<path class="dots" d="{dots}"/></g>'
        )
    return "".join(parts)


def _told(curve: Curve, written: Callable[[float], str]) -> str:
    return ", ".join(f"{point.clients}: {written(point.value)}" for point in curve.points)
