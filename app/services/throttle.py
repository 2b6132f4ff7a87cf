"""Slows down guessing: after some failures each further try has to wait, twice as long each time. In memory.

Held by `AccountService`; on the event loop only.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

NUM_FREE_FAILURES = 10
FIRST_DELAY_S = 2.0
MAX_DELAY_S = 300.0
FORGET_AFTER_S = 3600.0
MAX_KEYS = 10_000                          # the oldest is forgotten: a flood of names must not fill the memory


@dataclass(slots=True)
class _Record:
    num_failures: int
    last_s: float


class Throttle:
    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        num_free_failures: int = NUM_FREE_FAILURES,
        max_delay_s: float = MAX_DELAY_S,
    ) -> None:
        self._clock = clock
        self._num_free_failures = num_free_failures
        self._max_delay_s = max_delay_s
        self._records: OrderedDict[Hashable, _Record] = OrderedDict()

    def begin(self, key: Hashable) -> int:
        """Seconds still to wait; 0 if the try may go ahead.

        It then counts as failed until `succeeded`: a hundred tries at once are no way around the limit.
        """
        now_s = self._clock()
        record = self._records.get(key)
        if record is None or now_s - record.last_s > FORGET_AFTER_S:
            record = _Record(0, now_s)
        wait_s = record.last_s + self._delay_s(record.num_failures) - now_s
        if wait_s > 0:
            return math.ceil(wait_s)
        self._records[key] = _Record(record.num_failures + 1, now_s)
        self._records.move_to_end(key)
        if len(self._records) > MAX_KEYS:
            self._records.popitem(last=False)
        return 0

    def succeeded(self, key: Hashable) -> None:
        self._records.pop(key, None)

    def _delay_s(self, num_failures: int) -> float:
        doublings = num_failures - self._num_free_failures
        return 0.0 if doublings < 0 else min(FIRST_DELAY_S * 2.0 ** min(doublings, 30), self._max_delay_s)
