"""Finds the likeliest tokens of many rows of logits at once, and bounds what all others weigh. Called by `StepSampler`,
on the engine's thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.draw import Weights
from engine.sampler import ROUNDING, Logits, TokenIds, ascending, weight_factor, weights_of

GROUP_SIZE = 16              # tokens of a vocabulary that are represented by their maximum
MIN_GROUPS_A_WINNER = 4      # with fewer groups for each token that is wanted, finding them so does not pay
MAX_FOLD = 16                # groups that are represented by one of their maxima, where the threshold is looked for
MAX_FOUND = 4                # times what is wanted: of a row where so many are above its threshold, many are equal

VALUE_BITS = 32              # of a key by which rows, values and ids are sorted as one number
KEY_BITS = 63

Sums = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeliest:
    """Of each row, its likeliest tokens, likeliest first, the lower id first among equals. Good until the next search.
    """

    token_ids: TokenIds              # [rows, count]
    values: Logits                   # [rows, count]
    logits: Logits                   # [any, vocab_size]
    places: Sequence[int]            # of the rows in `logits`
    maxima: Logits                   # [rows, groups of GROUP_SIZE tokens]
    num_seen: TokenIds               # [rows] groups that may hold one of the likeliest

    @property
    def peaks(self) -> Logits:
        return self.values[:, :1]


@dataclass(frozen=True, slots=True)
class Totals:
    """What the weights of all tokens of each row add up to: bounds, dearer and closer from one to the next. They hold
    for the sum that a row alone is drawn by, too, whatever is rounded there.
    """

    likeliest: Likeliest
    temperatures: NDArray[np.float64]
    weights: Weights                 # [rows, count] of the likeliest
    sums: Sums                       # [rows] that these add up to

    def at_once(self) -> tuple[Sums, Sums]:
        """Of all rows: no other token weighs more than the last of the likeliest. Does for peaked distributions."""
        others = self.weights[:, -1].astype(np.float64) * (self.likeliest.logits.shape[1] - self.weights.shape[1])
        return _widened(self.sums, self.sums + others)

    def by_groups(self, rows: TokenIds) -> tuple[Sums, Sums]:
        """Of these rows: a group without any of the likeliest adds its maximum, at least, and no other token of a group
        weighs more than that, or than the last of the likeliest.
        """
        found = self.likeliest
        maxima = np.minimum(found.maxima[rows], found.values[rows, -1:])
        maxima = weights_of(maxima, found.peaks[rows], self.temperatures[rows], out=maxima)
        groups = maxima.sum(axis=1).astype(np.float64)
        others = np.maximum(groups - found.num_seen[rows] * self.weights[rows, -1].astype(np.float64), 0.0)
        return _widened(self.sums[rows] + others, self.sums[rows] + GROUP_SIZE * groups)

    def added_up(self, rows: TokenIds) -> tuple[Sums, Sums]:
        """Of these rows: in half the time that it takes to the last bit."""
        totals = np.array([self._total(row) for row in rows])
        return _widened(totals, totals)

    def _total(self, row: int) -> float:
        found = self.likeliest
        weights = found.logits[found.places[row]] - found.values[row, 0]
        weights *= np.float32(1.0) / weight_factor(self.temperatures[row])
        return float(np.einsum("i->", np.exp(weights, out=weights)))


def _widened(low: Sums, high: Sums) -> tuple[Sums, Sums]:
    return low * (1.0 - ROUNDING), high * (1.0 + ROUNDING)


class LikeliestFinder:
    """Keeps its memory from step to step: fresh memory costs as much, in page faults, as what is done with it."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._num_groups = -(-vocab_size // GROUP_SIZE)
        self._num_whole = self._num_groups - (GROUP_SIZE * self._num_groups - vocab_size)     # the others are one short
        self._first_of = np.arange(GROUP_SIZE)[:, None] * self._num_groups
        self._id_bits = vocab_size.bit_length()
        self._maxima = np.empty((0, self._num_groups), np.float32)

    def pays_for(self, count: int) -> bool:
        return count * MIN_GROUPS_A_WINNER <= self._num_groups

    def find(self, logits: Logits, places: list[int], count: int) -> tuple[list[int], Likeliest] | None:
        """The `count` likeliest of the rows at these places, and the places: without those of which too many are equal,
        or a value is no number. None where all have.

        A group is every so manieth token, so that maxima are taken of whole vectors. Of some of the tokens the least
        of the `count` largest is a threshold, which the `count` largest of all reach, and few others.
        """
        if not places or len(places) > 1 << (KEY_BITS - VALUE_BITS - self._id_bits):
            return None
        maxima = self._memory(len(places))
        self._take_maxima(logits, places, maxima)
        thresholds = self._thresholds(maxima, count)
        place_of_seen = np.flatnonzero(maxima >= thresholds[:, None])
        row_of_seen = place_of_seen // self._num_groups
        num_seen = np.bincount(row_of_seen, minlength=len(places))
        is_good = num_seen <= MAX_FOUND * count
        is_good &= np.isfinite(maxima.max(axis=1)) & np.isfinite(thresholds)
        if not is_good.all():
            return self.find(logits, [place for place, good in zip(places, is_good, strict=True) if good], count)
        groups = place_of_seen - row_of_seen * self._num_groups
        starts = np.multiply(places, self._vocab_size)
        flat = logits.reshape(-1)
        seen = flat.take(self._first_of + (starts[row_of_seen] + groups), mode="clip")
        seen[-1, groups >= self._num_whole] = -np.inf
        chosen = np.flatnonzero(seen >= thresholds[row_of_seen])
        member = chosen // len(groups)
        of_seen = chosen - member * len(groups)
        ids = groups[of_seen] + member * self._num_groups
        token_ids = self._sorted(row_of_seen[of_seen], seen.reshape(-1)[chosen], ids, count)
        return places, Likeliest(
            token_ids=token_ids, values=flat.take(starts[:, None] + token_ids), logits=logits, places=places,
            maxima=maxima, num_seen=num_seen,
        )

    def _take_maxima(self, logits: Logits, places: list[int], out: Logits) -> None:
        """Group g has the tokens g, g + number of groups, and so on; the last ones may be one short."""
        whole = self._vocab_size // self._num_groups * self._num_groups
        for start, end in _runs(places):
            rows, maxima = logits[places[start] : places[start] + end - start], out[start:end]
            rows[:, :whole].reshape(end - start, -1, self._num_groups).max(axis=1, out=maxima)
            if rest := self._vocab_size - whole:
                np.maximum(maxima[:, :rest], rows[:, whole:], out=maxima[:, :rest])

    def _thresholds(self, maxima: Logits, count: int) -> Logits:
        """[rows]: what at least `count` of each row's tokens reach."""
        fold = min(MAX_FOLD, self._num_groups // (2 * count))
        width = self._num_groups // fold
        folded = maxima[:, : fold * width].reshape(len(maxima), fold, width).max(axis=1)
        folded.partition(width - count, axis=1)
        least: Logits = folded[:, width - count]
        return least

    def _sorted(self, rows: TokenIds, values: Logits, token_ids: TokenIds, count: int) -> TokenIds:
        """[rows, count] ids of the largest values, largest first, the lower id first among equals. As one number each
        they sort fastest.
        """
        keys = (rows << VALUE_BITS) - ascending(values)
        keys = (keys << self._id_bits) | token_ids
        keys.sort()
        num_of = np.bincount(rows)
        first = np.cumsum(num_of) - num_of
        largest: TokenIds = keys[first[:, None] + np.arange(count)] & ((1 << self._id_bits) - 1)
        return largest

    def _memory(self, num_rows: int) -> Logits:
        if len(self._maxima) < num_rows:
            self._maxima = np.empty((num_rows, self._num_groups), np.float32)
        return self._maxima[:num_rows]


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where runs of successive numbers begin and end."""
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or places[end] != places[end - 1] + 1:
            yield start, end
            start = end
