"""Finds the likeliest tokens of many rows of logits at once, and bounds what all others weigh. Called by `StepSampler`,
on the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.sampler import ROUNDING, Logits, TokenIds, weight_factor, weights_of

GROUP_SIZE = 16              # tokens of a vocabulary that are represented by their maximum
MIN_GROUPS_A_WINNER = 4      # with fewer groups for each token that is wanted, finding them so does not pay
MAX_FOLD = 16                # groups that are represented by one of their maxima, where the threshold is looked for
MAX_FOUND = 4                # times what is wanted: of a row where so many are above its threshold, many are equal

Sums = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeliest:
    """Of each row, its likeliest tokens, likeliest first, the lower id first among equals. Good until the next search.
    """

    token_ids: TokenIds              # [rows, count]
    values: Logits                   # [rows, count]
    rows: Sequence[Logits]           # whole
    seen: Logits                     # [groups seen, GROUP_SIZE]: of all rows; every token of `values` is among them
    seen_maxima: Logits              # [groups seen]
    row_of_seen: TokenIds            # [groups seen]
    maxima: Logits                   # [rows, groups]
    work: Logits                     # memory, shaped as `maxima`

    @property
    def peaks(self) -> Logits:
        return self.values[:, :1]

    def total_bounds(self, temperatures: Sequence[float]) -> tuple[Sums, Sums]:
        """Of what the weights of all tokens add up to: a group adds its maximum at least, all equal at most."""
        peaks, of_seen = self.peaks[self.row_of_seen], np.take(temperatures, self.row_of_seen)
        known = self._by_row(weights_of(self.seen, peaks, of_seen).sum(axis=1))
        maxima = weights_of(self.maxima, self.peaks, temperatures, out=self.work).sum(axis=1, dtype=np.float64)
        seen_maxima = self._by_row(weights_of(self.seen_maxima[:, None], peaks, of_seen)[:, 0])
        unseen = np.maximum(maxima - seen_maxima, 0.0)
        return (known + unseen) * (1.0 - ROUNDING), (known + GROUP_SIZE * unseen) * (1.0 + ROUNDING)

    def total(self, row: int, temperature: float) -> float:
        """Of one row, off by less than ROUNDING: in half the time that it takes to the last bit."""
        weights = self.rows[row] - self.values[row, 0]
        weights *= np.float32(1.0) / weight_factor(temperature)
        return float(np.einsum("i->", np.exp(weights, out=weights)))

    def _by_row(self, of_seen: Logits) -> Sums:
        return np.bincount(self.row_of_seen, weights=of_seen, minlength=len(self.rows)).astype(np.float64, copy=False)


class LikeliestFinder:
    """Its arrays are kept from step to step: fresh ones of this size cost as much, in page faults, as what is done
    with them.
    """

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._num_groups = -(-vocab_size // GROUP_SIZE)
        self._first_of = np.arange(GROUP_SIZE) * self._num_groups
        self._maxima = np.empty((0, self._num_groups), np.float32)
        self._work = np.empty((0, self._num_groups), np.float32)

    def pays_for(self, count: int) -> bool:
        return count * MIN_GROUPS_A_WINNER <= self._num_groups

    def find(self, logits: Logits, places: list[int], count: int) -> tuple[list[int], Likeliest] | None:
        """The `count` likeliest of the rows at these places, and the places: without those of which too many are equal,
        or a value is no number. None where all have.

        A group is every so manieth token, so that maxima are taken of whole vectors. Of some of the tokens the least
        of the `count` largest is a threshold, which the `count` largest of all reach, and few others.
        """
        if not places:
            return None
        rows = [logits[place] for place in places]
        maxima, work = self._memory(len(rows))
        for row, out in zip(rows, maxima, strict=True):
            self._take_maxima(row, out)
        thresholds = self._thresholds(maxima, count)
        row_of_seen, groups = np.divmod(np.flatnonzero(maxima >= thresholds[:, None]), self._num_groups)
        is_good = np.bincount(row_of_seen, minlength=len(rows)) <= MAX_FOUND * count
        is_good &= np.isfinite(maxima.max(axis=1))
        if not is_good.all():
            return self.find(logits, [place for place, good in zip(places, is_good, strict=True) if good], count)
        members = groups[:, None] + self._first_of
        seen = logits.reshape(-1).take(np.take(places, row_of_seen)[:, None] * self._vocab_size + members, mode="clip")
        seen[members >= self._vocab_size] = -np.inf
        is_chosen = (seen >= thresholds[row_of_seen, None]).T         # so that ids of a row ascend
        column, group = np.divmod(np.flatnonzero(is_chosen), len(groups))
        values, token_ids = _sorted(row_of_seen[group], seen[group, column], members[group, column], count)
        return places, Likeliest(
            token_ids=token_ids, values=values, rows=rows, seen=seen, seen_maxima=maxima[row_of_seen, groups],
            row_of_seen=row_of_seen, maxima=maxima, work=work,
        )

    def _take_maxima(self, row: Logits, out: Logits) -> None:
        """Group g has the tokens g, g + number of groups, and so on; the last ones may be one short."""
        whole = row.size // out.size * out.size
        row[:whole].reshape(-1, out.size).max(axis=0, out=out)
        if rest := row.size - whole:
            np.maximum(out[:rest], row[whole:], out=out[:rest])

    def _thresholds(self, maxima: Logits, count: int) -> Logits:
        """[rows]: what at least `count` of each row's tokens reach."""
        fold = min(MAX_FOLD, self._num_groups // (2 * count))
        width = self._num_groups // fold
        folded = maxima[:, : fold * width].reshape(len(maxima), fold, width).max(axis=1)
        folded.partition(width - count, axis=1)
        least: Logits = folded[:, width - count]
        return least

    def _memory(self, num_rows: int) -> tuple[Logits, Logits]:
        if len(self._maxima) < num_rows:
            self._maxima = np.empty((num_rows, self._num_groups), np.float32)
            self._work = np.empty_like(self._maxima)
        return self._maxima[:num_rows], self._work[:num_rows]


def _sorted(rows: TokenIds, values: Logits, token_ids: TokenIds, count: int) -> tuple[Logits, TokenIds]:
    """[rows, count] each, largest first, the lower id first among equals. Ids of a row come in ascending order."""
    order = np.argsort(rows.astype(np.int16), kind="stable")
    rows, num_of = rows[order], np.bincount(rows)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(num_of) - num_of, num_of)
    table = np.full((len(num_of), num_of.max()), -np.inf, np.float32)
    ids = np.zeros(table.shape, np.intp)
    table[rows, columns], ids[rows, columns] = values[order], token_ids[order]
    largest = np.argsort(-table, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(table, largest, axis=1), np.take_along_axis(ids, largest, axis=1)
