"""How much may be written to disk: a busy server would write for ever, and an SSD has a life. The engine's thread."""

from __future__ import annotations

from collections.abc import Callable

MEAN_BYTES_PER_S = 4 << 20          # in the long run: 0.35 TB a day, where an SSD of 1 TB is good for 600
BURST_BYTES = 1 << 30               # at once, after a pause


class Allowance:
    """Bytes that may be written: so many a second in the long run, and more at once after a pause."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._num_bytes = float(BURST_BYTES)
        self._at_s = clock_s()

    @property
    def wait_s(self) -> float:
        return max(0.0, -self._now_bytes() / MEAN_BYTES_PER_S)

    def use(self, num_bytes: int) -> None:
        self._num_bytes, self._at_s = self._now_bytes() - num_bytes, self._clock_s()

    def _now_bytes(self) -> float:
        return min(BURST_BYTES, self._num_bytes + (self._clock_s() - self._at_s) * MEAN_BYTES_PER_S)
