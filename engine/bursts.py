"""Who comes to an engine at rest, often comes with others: an agent asks several things at once, and so do clients
whose answers ended together. The first step would be the first one's alone, and the others wait for it. So where the
last bursts were of several, the first waits a moment for as many. On the engine's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

TOGETHER_S: Final = 0.03        # after the first: who comes by then is of its burst
LONGEST_S: Final = 0.015        # that the first waits, and so all that is lost where nobody comes


class Bursts:
    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._begun_s = 0.0                     # the last one
        self._size = self._size_before = 1      # so far; and that of the one before
        self._expected = 1                      # of it
        self._is_gathering = False              # it has not had a step yet

    def came(self, *, to_rest: bool) -> None:
        """A request; to an engine that has nothing else to do."""
        now_s = self._clock_s()
        if to_rest:
            self._expected = min(self._size, self._size_before)
            self._size, self._size_before = 1, self._size
            self._begun_s, self._is_gathering = now_s, True
        elif now_s - self._begun_s <= TOGETHER_S:
            self._size += 1

    def wait_s(self) -> float:
        """For how long the first step should wait for somebody to come; 0: begin."""
        if not self._is_gathering or self._size >= self._expected:
            return 0.0
        return max(0.0, self._begun_s + LONGEST_S - self._clock_s())

    def begin_step(self) -> None:
        self._is_gathering = False
