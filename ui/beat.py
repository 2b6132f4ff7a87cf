"""When those who read answers hear of new text: on one beat for all. Owned by ui/stream.py; on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

SHORTEST_S = 0.05
READERS_A_STEP = 30         # so many more, and it is SHORTEST_S longer
LONGEST_S = 0.2


class Beat:
    """Fifty readers that wake together cost the loop one round instead of fifty. With each piece that is sent goes the
    same cost, however long it is: so many readers get longer pieces, up to thirty of them 20 a second.
    """

    def __init__(self, shortest_s: float = SHORTEST_S) -> None:
        self._shortest_s = shortest_s
        self._num_readers = 0

    @property
    def interval_s(self) -> float:
        return min(self._shortest_s * (1 + self._num_readers // READERS_A_STEP), LONGEST_S)

    @contextmanager
    def reader(self) -> Iterator[None]:
        self._num_readers += 1
        try:
            yield
        finally:
            self._num_readers -= 1

    async def next(self) -> None:
        interval_s = self.interval_s
        await asyncio.sleep(interval_s - asyncio.get_running_loop().time() % interval_s if interval_s else 0)
