"""Finds the likeliest tokens of many rows of logits at once, and bounds what all others weigh. Called by `StepSampler`,
on the engine's thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.sampler import ROUNDING, Logits, TokenIds, weight_factor, weights_of

GROUP_SIZE = 16              # tokens of a vocabulary that are represented by their maximum
MIN_GROUPS_A_WINNER = 4      # with fewer groups for each token that is wanted, finding them so does not pay


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeliest:
    """Of each row, its likeliest tokens, likeliest first, the lower id first among equals. Good until the next search.
    """

    token_ids: TokenIds              # [rows, count]
    values: Logits                   # [rows, count]
    rows: Sequence[Logits]           # whole
    seen: Logits                     # [rows, more than count]: `values` and those of the tokens in the same groups
    maxima: Logits                   # [rows, groups]
    seen_maxima: Logits              # [rows, count]: of the groups of `seen`
    work: Logits                     # memory for as many numbers as `maxima` has

    @property
    def peaks(self) -> Logits:
        return self.values[:, :1]

    def total_bounds(self, temperatures: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of what the weights of all tokens add up to: a group adds its maximum at least, all equal at most."""
        known = weights_of(self.seen, self.peaks, temperatures).sum(axis=1, dtype=np.float64)
        work = _part(self.work, self.maxima.shape)
        maxima = weights_of(self.maxima, self.peaks, temperatures, out=work).sum(axis=1, dtype=np.float64)
        seen_maxima = weights_of(self.seen_maxima, self.peaks, temperatures).sum(axis=1, dtype=np.float64)
        unseen = np.maximum(maxima - seen_maxima, 0.0)
        return (known + unseen) * (1.0 - ROUNDING), (known + GROUP_SIZE * unseen) * (1.0 + ROUNDING)

    def total(self, row: int, temperature: float) -> float:
        """Of one row, off by less than ROUNDING: in half the time that it takes to the last bit."""
        weights = self.rows[row] - self.values[row, 0]
        weights *= np.float32(1.0) / weight_factor(temperature)
        return float(np.einsum("i->", np.exp(weights, out=weights)))


class LikeliestFinder:
    """Its arrays are kept from step to step: fresh ones of this size cost as much, in page faults, as what is done
    with them.
    """

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._num_groups = -(-vocab_size // GROUP_SIZE)
        self._first_of = np.arange(GROUP_SIZE)[None, :, None] * self._num_groups
        self._maxima = np.empty((0, self._num_groups), np.float32)
        self._work = np.empty(0, np.float32)

    def pays_for(self, count: int) -> bool:
        return count * MIN_GROUPS_A_WINNER <= self._num_groups

    def find(self, logits: Logits, places: list[int], count: int) -> tuple[list[int], Likeliest] | None:
        """The `count` likeliest of the rows at these places, and the places: without those that have equals at the
        edge, or a value that is no number. None where all have.

        A group is every so manieth token, so that maxima are taken of whole vectors. The groups with the largest
        maxima hold the largest values.
        """
        if not places:
            return None
        rows = [logits[place] for place in places]
        maxima, work = self._memory(len(rows), count)
        for row, out in zip(rows, maxima, strict=True):
            self._take_maxima(row, out)
        groups, certain = _largest_each(maxima, count, work)
        certain &= np.isfinite(maxima.max(axis=1))
        if not certain.all():
            return self.find(logits, _selected(places, certain), count)
        members = (self._first_of + groups[:, None, :]).reshape(len(rows), -1)
        seen = np.empty(members.shape, np.float32)
        for row, ids, out in zip(rows, members, seen, strict=True):
            row.take(ids, out=out, mode="clip")
        seen[members >= self._vocab_size] = -np.inf
        chosen, certain = _largest_each(seen, count, work)
        if not certain.all():
            return self.find(logits, _selected(places, certain), count)
        largest = np.take_along_axis(seen, chosen, axis=1)
        order = np.argsort(-largest, axis=1, kind="stable")          # ids ascend so far: equals stay in their order
        return places, Likeliest(
            token_ids=np.take_along_axis(members, np.take_along_axis(chosen, order, axis=1), axis=1),
            values=np.take_along_axis(largest, order, axis=1),
            rows=rows, seen=seen, maxima=maxima, seen_maxima=np.take_along_axis(maxima, groups, axis=1), work=work,
        )

    def _take_maxima(self, row: Logits, out: Logits) -> None:
        """Group g has the tokens g, g + number of groups, and so on; the last ones may be one short."""
        whole = row.size // out.size * out.size
        row[:whole].reshape(-1, out.size).max(axis=0, out=out)
        if rest := row.size - whole:
            np.maximum(out[:rest], row[whole:], out=out[:rest])

    def _memory(self, num_rows: int, count: int) -> tuple[Logits, Logits]:
        """For the maxima; and for a copy of these, or of what stands in the same groups as the largest."""
        if len(self._maxima) < num_rows:
            self._maxima = np.empty((num_rows, self._num_groups), np.float32)
        if self._work.size < (size := num_rows * max(self._num_groups, GROUP_SIZE * count)):
            self._work = np.empty(size, np.float32)
        return self._maxima[:num_rows], self._work


def _largest_each(values: Logits, count: int, work: Logits) -> tuple[TokenIds, NDArray[np.bool_]]:
    """(places of the `count` largest of each row, ascending; which rows have no equals at the edge). The places are of
    use only if all rows are certain.
    """
    num_rows, width = values.shape
    copy = _part(work, values.shape)
    np.copyto(copy, values)
    copy.partition(width - count, axis=1)
    rows, places = np.divmod(np.flatnonzero(values >= copy[:, width - count, None]), width)
    certain = np.bincount(rows, minlength=num_rows) == count
    return places.reshape(num_rows, count) if certain.all() else places, certain


def _part(work: Logits, shape: tuple[int, ...]) -> Logits:
    return work[: math.prod(shape)].reshape(shape)


def _selected(places: list[int], chosen: NDArray[np.bool_]) -> list[int]:
    return [place for place, is_chosen in zip(places, chosen.tolist(), strict=True) if is_chosen]
