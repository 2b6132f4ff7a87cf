"""Who is next: the waiting sequences of one engine, ordered so that one user's hundred cannot starve another's one.

Owned by the scheduler, on the engine's thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from engine.request import Sequence

HALF_LIFE_S = 60.0   # what a user consumed a minute ago counts half


class Consumption:
    """Tokens computed for each user, fading with time."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._tokens: dict[str, tuple[float, float]] = {}   # user -> (tokens, the time at which that was true)

    def charge(self, user: str, num_tokens: int) -> None:
        self._tokens[user] = (self.of(user) + num_tokens, self._clock_s())

    def of(self, user: str) -> float:
        tokens, at_s = self._tokens.get(user, (0.0, 0.0))
        return tokens * 0.5 ** ((self._clock_s() - at_s) / HALF_LIFE_S) if tokens else 0.0

    def forget_faded(self) -> None:
        """Drop users whose share has faded, so that the table does not keep every user ever seen."""
        self._tokens = {user: entry for user, entry in self._tokens.items() if self.of(user) >= 1.0}


class WaitingQueue:
    """Order: priority; how many of the user's run or wait before it; preempted before new; lately consumed; arrival.

    Counting those that wait before it makes users take turns, and makes the order hold while its head is admitted.
    """

    def __init__(self, consumption: Consumption) -> None:
        self._consumption = consumption
        self._sequences: list[Sequence] = []
        self._told: dict[Sequence, int] = {}   # positions as last reported

    def __len__(self) -> int:
        return len(self._sequences)

    @property
    def users(self) -> set[str]:
        return {sequence.request.user for sequence in self._sequences}

    def add(self, sequence: Sequence) -> None:
        self._sequences.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        self._sequences.remove(sequence)

    def in_order(self, running: Iterable[Sequence]) -> list[Sequence]:
        num_before = Counter(sequence.request.user for sequence in running)
        ranked: list[tuple[tuple[float, ...], Sequence]] = []
        for sequence in sorted(self._sequences, key=_class_and_arrival):
            user = sequence.request.user
            priority, is_new, arrival_s = _class_and_arrival(sequence)
            num_consumed_tokens = int(self._consumption.of(user))      # what has faded to nothing must not count
            ranked.append(((priority, num_before[user], is_new, num_consumed_tokens, arrival_s), sequence))
            num_before[user] += 1
        return [sequence for _, sequence in sorted(ranked, key=lambda pair: pair[0])]

    def moves(self, running: Iterable[Sequence]) -> list[tuple[Sequence, int | None]]:
        """Positions (1 is next) that differ from those last reported; None for one that has begun to run since."""
        positions = {sequence: position for position, sequence in enumerate(self.in_order(running), start=1)}
        begun: list[tuple[Sequence, int | None]] = [
            (sequence, None) for sequence in self._told if sequence not in positions and sequence.is_running
        ]
        moved = [(sequence, place) for sequence, place in positions.items() if self._told.get(sequence) != place]
        self._told = positions
        return begun + moved


def _class_and_arrival(sequence: Sequence) -> tuple[int, bool, float]:
    return sequence.request.priority, sequence.num_preemptions == 0, sequence.request.arrival_s
