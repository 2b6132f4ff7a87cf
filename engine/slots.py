"""Who runs, and in which slot. Owned by `Scheduler`, on the engine's thread."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

from engine.batch import Release
from engine.errors import EngineFailed
from engine.request import Sequence


class Slots:
    """In the order in which they came, the oldest first."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._running: dict[int, Sequence] = {}
        self._free = list(range(number))                       # a heap: the lowest is given first
        self._released: list[Release] = []                     # since the last batch

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._running.values())

    def __reversed__(self) -> Iterator[Sequence]:
        return reversed(self._running.values())

    def __getitem__(self, slot: int) -> Sequence:
        return self._running[slot]

    @property
    def has_free(self) -> bool:
        return bool(self._free)

    @property
    def has_released(self) -> bool:
        """The back end is yet to hear that somebody left."""
        return bool(self._released)

    def num_by_user(self) -> Counter[str]:
        return Counter(sequence.request.user for sequence in self)

    def enter(self, sequence: Sequence) -> None:
        sequence.slot = heapq.heappop(self._free)
        self._running[sequence.slot] = sequence

    def leave(self, sequence: Sequence, kept_blocks: list[tuple[int, int]]) -> None:
        """`kept_blocks` are those of its blocks that can still be found: (index, block id)."""
        assert sequence.slot is not None
        self._released.append(Release(slot=sequence.slot, kept_blocks=kept_blocks))
        del self._running[sequence.slot]
        heapq.heappush(self._free, sequence.slot)
        sequence.slot = None
        sequence.num_computed_tokens = 0

    def collect_released(self) -> list[Release]:
        released, self._released = self._released, []
        return released

    def check_integrity(self) -> None:
        if sorted([*self._free, *self._running]) != list(range(self._number)):
            raise EngineFailed("The scheduler lost a slot.")
