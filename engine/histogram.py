"""How long things take, counted in fixed buckets: the engine's thread observes, everybody else reads frozen copies.

The bounds serve a processor and a graphics card alike, and are fine enough for a median: the next is at most 1.7 times
the one before, but for the last.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

FIRST_TOKEN_BOUNDS_S = (
    0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75,
    1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0,
)
INTER_TOKEN_BOUNDS_S = (
    0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075,
    0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0,
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts[i]` fell into (bounds_s[i - 1], bounds_s[i]]; the last count is of what lay above all bounds."""

    bounds_s: tuple[float, ...]
    counts: tuple[int, ...]
    sum_s: float

    @classmethod
    def empty(cls, bounds_s: tuple[float, ...]) -> Histogram:
        return cls(bounds_s, (0,) * (len(bounds_s) + 1), 0.0)

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[int]:
        """How many were at most each bound, then all: what Prometheus calls buckets."""
        return list(accumulate(self.counts))

    def quantile_s(self, share: float) -> float | None:
        """Under how many seconds `share` of them stayed, as if a bucket's were spread evenly. None: there are none.

        What lies above all bounds counts as the last of them.
        """
        wanted = share * self.count
        below, low_s = 0, 0.0
        for num, high_s in zip(self.counts, self.bounds_s, strict=False):
            if num and below + num >= wanted:
                return low_s + (high_s - low_s) * (wanted - below) / num
            below, low_s = below + num, high_s
        return low_s if self.count else None


class HistogramCounter:
    """Grows on the engine's thread. Copied only where something came in since: there are two snapshots a step."""

    def __init__(self, bounds_s: tuple[float, ...]) -> None:
        self._bounds_s = bounds_s
        self._counts = [0] * (len(bounds_s) + 1)
        self._sum_s = 0.0
        self._snapshot: Histogram | None = Histogram.empty(bounds_s)

    def observe(self, value_s: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds_s, value_s)] += times
        self._sum_s += value_s * times
        self._snapshot = None

    def snapshot(self) -> Histogram:
        if self._snapshot is None:
            self._snapshot = Histogram(self._bounds_s, tuple(self._counts), self._sum_s)
        return self._snapshot
