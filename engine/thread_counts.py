"""How many threads compute a step, learnt from how long steps take. The llama.cpp back end asks and tells it, on the
engine's thread.

Many threads are not always faster: one sequence is bound by memory, and a small model's threads mostly wait for each
other. So each class of steps, by its number of tokens, has a count of its own; now and then it is held against the
next count of a ladder, in pairs of steps that follow each other, for what a step takes changes with depth and with what
else the machine does. Neither loading nor a quiet class pays for it, and few steps are taken with a worse count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_FOR_ALL_CORES = 4       # with more cores than that, one is the event loop's
LEAST_TO_CHOOSE = 3          # with two threads there is nothing to choose: both are faster at each size
LARGEST_CLASS_TOKENS = 512

NUM_PAIRS = 4                # of steps that decide
NUM_HOPELESS = 2             # pairs, all of them lost: the others are spared
WORTH = 0.97                 # of the time: what gains less stays as it is
ALIKE = 0.1                  # the steps of a pair differ in tokens by no more than this share

FIRST_RETRY_S = 30.0         # what is best changes with what else runs; each time that nothing did,
LAST_RETRY_S = 600.0         # the wait is doubled, up to this


def threads_for(num_cores: int) -> int:
    """At most so many compute."""
    return num_cores if num_cores <= MOST_FOR_ALL_CORES else num_cores - 1


def ladder(most: int) -> tuple[int, ...]:
    """Counts worth trying, the largest first, each about three quarters of the one before."""
    counts = [most]
    while most >= LEAST_TO_CHOOSE and counts[-1] > 2:
        counts.append(max(2, counts[-1] * 3 // 4))
    return tuple(counts)


@dataclass(slots=True)
class _Class:
    """Steps of about as many tokens."""

    rung: int = 0                                       # of the ladder: what it uses
    challenger: int | None = None                       # the rung that is held against it
    has_changed: bool = False                           # in the trial that is on
    ratios: list[float] = field(default_factory=list)   # of time, challenger's to its own
    next_trial_s: float = 0.0
    retry_s: float = FIRST_RETRY_S


@dataclass(frozen=True, slots=True)
class _Taken:
    """A step that has been computed."""

    class_: _Class
    rung: int
    num_tokens: int
    took_s: float


class ThreadCounts:
    """`choose` before each step, `learn` after it; a step that was cut short is not told."""

    def __init__(
        self, most: int, *, is_fixed: bool = False, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._ladder = (most,) if is_fixed else ladder(most)
        self._clock_s = clock_s
        self._classes: dict[int, _Class] = {}
        self._last: _Taken | None = None                # unless it was already the second of a pair
        self._rung = 0                                  # of the step that runs

    def choose(self, num_tokens: int) -> int:
        """Threads for a step of so many tokens."""
        if len(self._ladder) == 1:
            return self._ladder[0]
        class_ = self._class_of(num_tokens)
        if class_.challenger is None and self._clock_s() >= class_.next_trial_s:
            class_.challenger = self._first_challenger(class_)
        self._rung = class_.rung
        if class_.challenger is not None and self._last_is_like(class_, num_tokens):
            self._rung = class_.challenger
        return self._ladder[self._rung]

    def learn(self, num_tokens: int, took_s: float) -> None:
        """Of the step that was last chosen for."""
        if len(self._ladder) == 1:
            return
        class_, last = self._class_of(num_tokens), self._last
        self._last = _Taken(class_, self._rung, num_tokens, took_s)
        if class_.challenger is None or self._rung != class_.challenger or last is None:
            return
        self._last = None
        class_.ratios.append(took_s / num_tokens / max(last.took_s / last.num_tokens, 1e-9))
        self._judge(class_)

    def _class_of(self, num_tokens: int) -> _Class:
        return self._classes.setdefault(min(num_tokens, LARGEST_CLASS_TOKENS).bit_length(), _Class())

    def _last_is_like(self, class_: _Class, num_tokens: int) -> bool:
        last = self._last
        return (
            last is not None and last.class_ is class_ and last.rung == class_.rung
            and abs(num_tokens - last.num_tokens) <= ALIKE * num_tokens
        )

    def _first_challenger(self, class_: _Class) -> int:
        """Fewer threads, where there are fewer."""
        return class_.rung + 1 if class_.rung + 1 < len(self._ladder) else class_.rung - 1

    def _judge(self, class_: _Class) -> None:
        is_hopeless = len(class_.ratios) >= NUM_HOPELESS and min(class_.ratios) >= 1.0
        if len(class_.ratios) < NUM_PAIRS and not is_hopeless:
            return
        assert class_.challenger is not None
        direction = class_.challenger - class_.rung
        has_won = not is_hopeless and statistics.median(class_.ratios) < WORTH
        class_.ratios.clear()
        if has_won:
            class_.rung, class_.has_changed = class_.challenger, True
            following = class_.challenger + direction
        elif direction > 0 and not class_.has_changed:
            following = class_.rung - 1                      # not fewer: maybe more
        else:
            following = -1
        class_.challenger = following if 0 <= following < len(self._ladder) else None
        if class_.challenger is None:
            class_.retry_s = FIRST_RETRY_S if class_.has_changed else min(2 * class_.retry_s, LAST_RETRY_S)
            class_.next_trial_s = self._clock_s() + class_.retry_s
            class_.has_changed = False
