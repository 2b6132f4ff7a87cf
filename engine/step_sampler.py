"""Chooses the next tokens of all rows of a step. Made and called by back ends, on the engine's thread.

`engine.sampler` says what a row's token is, one row at a time. Where a draw is among few of the likeliest tokens, as
top-k and mostly top-p leave them, it is made here for all such rows together: a row alone costs more in calls of numpy
than in arithmetic, and weighing a whole vocabulary costs more than finding the likeliest of it. What cannot be decided
so beyond doubt is left to `sample_row`; the token is the same, whoever chose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.draw import Weights, uniform_of
from engine.likeliest import Likeliest, LikeliestFinder, Sums, Totals
from engine.sampler import ROUNDING, Logits, TokenIds, is_plain, sample_row, weights_of

NUM_LIKELIEST = 32           # top-p is looked for among so many; top-k among as many as it asks for, but at most
MAX_LIKELIEST = 128          # so many


class StepSampler:
    """Keeps memory for its work, a byte for each four tokens of the vocabulary in each row."""

    def __init__(self, vocab_size: int) -> None:
        self._finder = LikeliestFinder(vocab_size)

    def sample(self, logits: Logits, rows: Sequence[BatchRow]) -> list[tuple[SampledToken, ...]]:
        """Each row's next tokens, as `sample_row` gives them. `logits` is [sum of num_sampled_from, vocab_size]."""
        ends = list(accumulate(row.num_sampled_from for row in rows))
        few = {
            end - 1: row.sampling for row, end in zip(rows, ends, strict=True)
            if row.sampling is not None and not row.num_proposed and self._is_among_few(row.sampling)
        }
        drawn = self._draw_among_few(logits, few) if len(few) > 1 else {}
        return [
            (SampledToken(drawn[end - 1]),) if row.num_sampled_from == 1 and end - 1 in drawn
            else sample_row(logits[end - row.num_sampled_from : end], row)
            for row, end in zip(rows, ends, strict=True)
        ]

    def _is_among_few(self, sampling: SamplingInput) -> bool:
        params = sampling.params
        if params.is_greedy or not is_plain(sampling):
            return False
        num_wanted = params.top_k or (NUM_LIKELIEST if params.top_p < 1.0 else MAX_LIKELIEST + 1)
        return num_wanted <= MAX_LIKELIEST and self._finder.pays_for(max(num_wanted, NUM_LIKELIEST))

    def _draw_among_few(self, logits: Logits, inputs: dict[int, SamplingInput]) -> dict[int, int]:
        """Token ids by place in `logits`; none for a row that has to be looked at alone."""
        count = max(sampling.params.top_k or NUM_LIKELIEST for sampling in inputs.values())
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            found = self._finder.find(logits, list(inputs), count)
            if found is None:
                return {}
            places, likeliest = found
            drawn, is_known = _draw(likeliest, [inputs[place] for place in places])
        known = np.flatnonzero(is_known)
        token_ids = likeliest.token_ids[known, drawn[known]]
        return {places[row]: token_id for row, token_id in zip(known.tolist(), token_ids.tolist(), strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Few:
    """The likeliest tokens of rows, and what decides which of them is drawn. `count` as a place means: none of them."""

    weights: Weights                 # [rows, count], as a row alone has them
    sums: Sums                       # [rows, count + 1], of the weights so far; the last is infinite
    uniforms: Sums                   # [rows]
    top_p: Sums
    totals_of_k: Sums                # that top-p is a share of; 0 where it is one of what all tokens weigh
    last: TokenIds                   # place that top-k and min-p leave
    cuts_tail: NDArray[np.bool_]     # min-p may, beyond these

    @classmethod
    def of(cls, samplings: Sequence[SamplingInput], weights: Weights) -> _Few:
        every = [sampling.params for sampling in samplings]
        num_rows, count = weights.shape
        sums = np.full((num_rows, count + 1), np.inf)
        np.cumsum(weights, axis=1, dtype=np.float64, out=sums[:, :count])
        top_k = np.array([params.top_k for params in every])
        totals_of_k = np.zeros(num_rows)
        for k in {params.top_k for params in every} - {0}:
            rows = np.flatnonzero(top_k == k)
            totals_of_k[rows] = weights[rows, :k].sum(axis=1)
        last = np.where(top_k, top_k - 1, count)
        min_p = np.array([params.min_p for params in every])
        if min_p.any():
            num_likely = (weights >= min_p[:, None]).sum(axis=1)
            last = np.minimum(last, np.where(num_likely < count, num_likely - 1, count))
        return cls(
            weights=weights,
            sums=sums,
            uniforms=np.array([uniform_of(sampling) for sampling in samplings]),
            top_p=np.array([params.top_p for params in every]),
            totals_of_k=totals_of_k,
            last=last,
            cuts_tail=min_p > 0.0,
        )

    def only(self, rows: TokenIds) -> _Few:
        return _Few(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    def draw(self, low: Sums, high: Sums) -> tuple[TokenIds, NDArray[np.bool_]]:
        """([rows] places, whether each is the same for all totals from `low` to `high`): it moves one way alone."""
        drawn = self._drawn(self._least_kept(low))
        is_these = drawn < self.weights.shape[1]
        return drawn, is_these if high is low else is_these & (drawn == self._drawn(self._most_kept(high)))

    def _least_kept(self, totals: Sums) -> Sums:
        """[rows] What the tokens that are kept weigh together, at least: with others, what top-p asks for."""
        wanted = self._wanted(totals)
        with_others = np.maximum(self.sums[:, -2], np.where(self.cuts_tail, 0.0, wanted))
        return self._kept(wanted, with_others * (1.0 - ROUNDING))

    def _most_kept(self, totals: Sums) -> Sums:
        """At most: the other that reaches it is no likelier than the last of these."""
        wanted = self._wanted(totals)
        return self._kept(wanted, (wanted + self.weights[:, -1]) * (1.0 + ROUNDING))

    def _wanted(self, totals: Sums) -> Sums:
        """[rows] By top-p, where the weights of all tokens add up to `totals`."""
        return np.where(self.top_p < 1.0, self.top_p * np.where(self.totals_of_k, self.totals_of_k, totals), np.inf)

    def _kept(self, wanted: Sums, with_others: Sums) -> Sums:
        last = np.minimum(_first(self.sums >= wanted[:, None]), self.last)
        return np.where(last < self.weights.shape[1], self.sums[np.arange(last.size), last], with_others)

    def _drawn(self, kept: Sums) -> TokenIds:
        """As in the draw of a row alone: where its uniform number's share of what is kept falls."""
        last = _first(self.sums >= kept[:, None])                            # that adds anything
        return np.minimum(_first(self.sums > (self.uniforms * kept)[:, None]), last)


def _first(are_true: NDArray[np.bool_]) -> TokenIds:
    """[rows] place, in each row. Faster than counting those before."""
    first: TokenIds = are_true.argmax(axis=1)
    return first


def _draw(likeliest: Likeliest, samplings: Sequence[SamplingInput]) -> tuple[TokenIds, NDArray[np.bool_]]:
    """([rows] places among the likeliest, whether a row alone would draw the same).

    What all tokens weigh is known within bounds, and mostly the same token is drawn at both. Where not, closer ones are
    looked for, and then it is added up.
    """
    temperatures = np.array([sampling.params.temperature for sampling in samplings])
    few = _Few.of(samplings, weights_of(likeliest.values, likeliest.peaks, temperatures))
    if few.totals_of_k.all():
        return few.draw(few.totals_of_k, few.totals_of_k)
    totals = Totals(likeliest, temperatures, few.weights, few.sums[:, -2])
    drawn, is_known = few.draw(*totals.at_once())
    for bounds in (totals.by_groups, totals.added_up):
        rows = np.flatnonzero(~is_known & (drawn < few.weights.shape[1]))
        if not rows.size:
            break
        drawn[rows], is_known[rows] = few.only(rows).draw(*bounds(rows))
    return drawn, is_known
