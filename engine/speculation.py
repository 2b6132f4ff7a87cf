"""Whether a guess is worth verifying, and how far. Called by `Scheduler`, on the engine's thread.

Tokens that are proposed are computed beside the others, and count if they are right. That pays where as many are likely
to be right as would have been computed one by one in the time that verifying takes. Both are measured as the engine
runs: the chance for each sequence, by its proposer; the time for each number of sequences at once, by the clock. So
proposals stop where text does not repeat itself, where many run, and where a step of many tokens is dear.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.proposer import PromptLookup, Proposer
from engine.request import Sequence

MAX_PROPOSED = 31               # with its own token half a tile: llama.cpp computes as many as it does two, bit for bit
LEARNING_RATE = 0.05            # a step's
SURPRISE = 1.5                  # a step takes at most so many times what was expected: neighbours may have stopped it
FIRST_SURCHARGE = 1.5           # proposed tokens' worth: other kernels, and among others a run of their own

_FIRST_WEIGHT = 0.1             # of a step measured, two points of the line that is thought of first


class Speculation:
    """Owner of the proposer and of what is known of chances and costs."""

    def __init__(self, proposer: Proposer | None = None) -> None:
        self._proposer = proposer or PromptLookup()
        self._costs = StepCosts()

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """Tokens to verify in a step of these sequences: for each at most its limit, and as many as should pay."""
        cost = self._costs.of_proposals(len(limits))
        if cost is None:
            return {}
        wanted: dict[Sequence, int] = {}
        for sequence, limit in limits.items():
            num_tokens = num_worthwhile(self._proposer.chance(sequence), cost, limit)
            if num_tokens > 0:
                wanted[sequence] = num_tokens
        return self._proposer.propose(wanted) if wanted else {}

    def note_step(self, num_proposed: list[int], seconds: float) -> None:
        """A step in which each sequence lacked one token, and had so many proposed, took so long."""
        self._costs.note(num_proposed, seconds)

    def forget(self, sequence: Sequence) -> None:
        self._proposer.forget(sequence)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of verifying n tokens of one sequence: `surcharge` + n * `per_token`, in tokens that come one by one."""

    surcharge: float
    per_token: float


def num_worthwhile(chance: float, cost: Cost, limit: int) -> int:
    """How many tokens to propose, each right with `chance` if all before it are: 0 where no number of them pays."""
    if chance <= 0.0 or cost.per_token >= 1.0:
        return 0
    num_tokens = min(limit, MAX_PROPOSED)
    if cost.per_token > 0.0 and chance < 1.0:                  # the last must be worth itself
        num_tokens = min(num_tokens, int(math.log(cost.per_token) / math.log(chance)))
    num_right = sum(chance**n for n in range(1, num_tokens + 1))
    return num_tokens if num_right > cost.surcharge + num_tokens * cost.per_token else 0


class StepCosts:
    """What proposals cost, by number of sequences in the step. A step that has none comes first, to compare with."""

    def __init__(self) -> None:
        self._plain_s: dict[int, float] = {}       # a step without proposals
        self._lines: dict[int, _Line] = {}

    def of_proposals(self, num_sequences: int) -> Cost | None:
        """None: nothing is known yet."""
        line = self._lines.get(num_sequences)
        return None if line is None else line.fitted()

    def note(self, num_proposed: list[int], seconds: float) -> None:
        num_sequences, num_proposing = len(num_proposed), sum(map(bool, num_proposed))
        if num_sequences not in self._lines:
            self._lines[num_sequences] = _Line(_first_cost(num_sequences))
            self._plain_s[num_sequences] = seconds
        plain_s = self._plain_s[num_sequences]
        if not num_proposing:
            self._plain_s[num_sequences] += LEARNING_RATE * (min(seconds, plain_s * SURPRISE) - plain_s)
        elif plain_s > 0.0:
            measured = (seconds - plain_s) * num_sequences / plain_s
            self._lines[num_sequences].note(sum(num_proposed) / num_proposing, measured / num_proposing)


class _Line:
    """A line fitted to (number of tokens, cost), old points fading; where it began counts for ever, but little."""

    def __init__(self, first: Cost) -> None:
        self._first = first
        self._sums = [0.0] * 5                     # of weights, x, y, x * x, x * y

    def note(self, x: float, y: float) -> None:
        cost = self.fitted()
        expected = cost.surcharge + cost.per_token * x
        y = min(max(y, expected / SURPRISE), expected * SURPRISE)
        terms = (1.0, x, y, x * x, x * y)
        self._sums = [(1.0 - LEARNING_RATE) * old + new for old, new in zip(self._sums, terms, strict=True)]

    def fitted(self) -> Cost:
        w, sx, sy, sxx, sxy = self._sums
        for x in (1, MAX_PROPOSED):
            y = self._first.surcharge + self._first.per_token * x
            terms = zip((w, sx, sy, sxx, sxy), (1.0, x, y, x * x, x * y), strict=True)
            w, sx, sy, sxx, sxy = (old + _FIRST_WEIGHT * new for old, new in terms)
        per_token = max((w * sxy - sx * sy) / (w * sxx - sx * sx), 0.0)
        return Cost(max((sy - per_token * sx) / w, 0.0), per_token)


def _first_cost(num_sequences: int) -> Cost:
    """As where reading the weights takes as long as computing one token."""
    per_token = num_sequences / (num_sequences + 1)
    return Cost(FIRST_SURCHARGE * per_token, per_token)
