"""Whether a guess is worth verifying, and how far. Called by `Scheduler`, on the engine's thread.

Tokens that are proposed are computed beside the others, and count if they are right. That pays where as many are likely
to be right as would have been computed one by one in the time that verifying takes. Both are measured as the engine
runs: the chance for each sequence, by its proposer; the time for each number of sequences at once, by the clock. So
proposals stop where text does not repeat itself, where many run, and where a step of many tokens is dear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.proposer import PromptLookup, Proposer
from engine.request import Sequence

MAX_PROPOSED = 31               # with its own token half a tile: llama.cpp computes as many as it does two, bit for bit
LEARNING_RATE = 0.05            # a step's
FORGETTING_RATE = 0.005         # a step's without proposals: what seemed too dear is tried again
SURPRISE = 1.5                  # a step takes at most so many times what was expected: neighbours may have stopped it
FIRST_SURCHARGE = 1.5           # proposed tokens' worth: other kernels, and among others a run of their own

_FIRST_WEIGHT = 0.1             # of a step measured, two points of the line that is thought of first


class Speculation:
    """Owner of the proposers, by default prompt lookup alone, and of what is known of the costs."""

    def __init__(self, proposers: Iterable[Proposer] | None = None) -> None:
        proposers = [PromptLookup()] if proposers is None else proposers
        self._costs = {proposer: StepCosts() for proposer in proposers}
        self._asked: list[Proposer] = []           # in the step that is planned or runs
        self.has_guess = False                     # likewise: somebody had a guess, if none that should pay yet

    def can_pay(self, num_sequences: int) -> bool:
        """Where so many run that not even a sure guess would, nobody need be asked: reading along costs 6 µs each,
        and is made up for later.
        """
        return bool(self._worthwhile(num_sequences))

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """Tokens to verify in a step of these sequences: for each at most its limit, and as many as should pay.

        Where several proposers have a guess, that counts from which most is to be gained.
        """
        wanted: dict[Proposer, dict[Sequence, int]] = {}
        costs = self._worthwhile(len(limits))
        self.has_guess = False
        for sequence, limit in limits.items():
            most = 0.0
            for proposer, cost in costs.items():
                chance = proposer.chance(sequence)
                self.has_guess |= chance > 0.0
                if not (num_tokens := num_worthwhile(chance, cost, limit)):
                    continue
                gain = cost.gain(chance, num_tokens)
                if gain > most:
                    most, best, num_best = gain, proposer, num_tokens
            if most > 0.0:
                wanted.setdefault(best, {})[sequence] = num_best
        self._asked = list(wanted)
        return {
            sequence: token_ids
            for proposer, each in wanted.items()
            for sequence, token_ids in proposer.propose(each).items()
        }

    def note_step(self, num_proposed: list[int], seconds: float) -> None:
        """A step took so long, proposing included, in which each sequence lacked one token and had so many proposed."""
        if not self._asked:
            for costs in self._costs.values():
                costs.note_plain(len(num_proposed), seconds)
        elif len(self._asked) == 1 and any(num_proposed):
            self._costs[self._asked[0]].note(num_proposed, seconds)

    def forget(self, sequence: Sequence) -> None:
        for proposer in self._costs:
            proposer.forget(sequence)

    def _worthwhile(self, num_sequences: int) -> dict[Proposer, Cost]:
        """Those whose guesses would pay in a step of so many sequences, if all came true."""
        return {
            proposer: cost for proposer, each in self._costs.items()
            if (cost := each.of_proposals(num_sequences)) is not None and cost.can_pay
        }


@dataclass(frozen=True, slots=True)
class Cost:
    """Of verifying n tokens of one sequence: `surcharge` + n * `per_token`, in tokens that come one by one."""

    surcharge: float
    per_token: float

    @property
    def can_pay(self) -> bool:
        """Where every guess came true."""
        return self.gain(1.0, MAX_PROPOSED) > 0.0

    def gain(self, chance: float, num_tokens: int) -> float:
        """Tokens to be gained, each right with `chance` if all before it are."""
        num_right = sum(chance**n for n in range(1, num_tokens + 1))
        return num_right - self.surcharge - num_tokens * self.per_token


def num_worthwhile(chance: float, cost: Cost, limit: int) -> int:
    """How many tokens to propose: 0 where no number of them pays."""
    if chance <= 0.0 or cost.per_token >= 1.0:
        return 0
    num_tokens = min(limit, MAX_PROPOSED)
    if cost.per_token > 0.0 and chance < 1.0:                  # the last must be worth itself
        num_tokens = min(num_tokens, int(math.log(cost.per_token) / math.log(chance)))
    return num_tokens if cost.gain(chance, num_tokens) > 0.0 else 0


class StepCosts:
    """What proposals cost, by number of sequences in the step. A step that has none comes first, to compare with."""

    def __init__(self) -> None:
        self._plain_s: dict[int, float] = {}       # a step without proposals
        self._lines: dict[int, _Line] = {}

    def of_proposals(self, num_sequences: int) -> Cost | None:
        """None: nothing is known yet."""
        line = self._lines.get(num_sequences)
        return None if line is None else line.fitted()

    def note_plain(self, num_sequences: int, seconds: float) -> None:
        plain_s = self._plain_s.setdefault(num_sequences, seconds)
        self._plain_s[num_sequences] += LEARNING_RATE * (min(seconds, plain_s * SURPRISE) - plain_s)
        self._lines.setdefault(num_sequences, _Line(_first_cost(num_sequences))).fade(FORGETTING_RATE)

    def note(self, num_proposed: list[int], seconds: float) -> None:
        """After a plain step of as many sequences."""
        num_sequences, num_proposing = len(num_proposed), sum(map(bool, num_proposed))
        if plain_s := self._plain_s[num_sequences]:
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
        self.fade(LEARNING_RATE)
        self._sums = [old + new for old, new in zip(self._sums, terms, strict=True)]

    def fade(self, rate: float) -> None:
        self._sums = [(1.0 - rate) * old for old in self._sums]

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
