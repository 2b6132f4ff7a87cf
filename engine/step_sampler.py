"""Chooses the next tokens of all rows of a step. Made and called by back ends, on the engine's thread.

`engine.sampler` says what a row's token is, one row at a time. Where a draw is among few of the likeliest tokens, as
top-k and mostly top-p leave them, it is made here for all such rows together: a row alone costs more in calls of numpy
than in arithmetic, and weighing a whole vocabulary costs more than finding the likeliest of it. What cannot be decided
so beyond doubt is left to `sample_row`; the token is the same, whoever chose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.draw import Weights, uniform_of
from engine.likeliest import Likeliest, LikeliestFinder, Sums
from engine.sampler import ROUNDING, Logits, TokenIds, adjusts, sample_row, weights_of

NUM_LIKELIEST = 64           # top-p is looked for among so many; top-k among as many as it asks for, but at most
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
        if params.is_greedy or sampling.grammar is not None or params.logprobs is not None or adjusts(params):
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
        token_ids = likeliest.token_ids[np.arange(drawn.size), drawn].tolist()
        return {
            place: token_id
            for place, token_id, known in zip(places, token_ids, is_known.tolist(), strict=True) if known
        }


class _Filters:
    """How many of its likeliest tokens each row keeps; more than there are where that cannot be told from them."""

    def __init__(self, samplings: Sequence[SamplingInput], weights: Weights, sums: Sums) -> None:
        every = [sampling.params for sampling in samplings]
        self._sums = sums
        self._beyond = weights.shape[1] + 1
        self._top_k = np.array([params.top_k for params in every])
        self._top_p = np.array([params.top_p for params in every])
        self.ask_for_totals = bool(((self._top_p < 1.0) & (self._top_k == 0)).any())
        self._totals_of_k = np.zeros(len(every))
        for k in {params.top_k for params in every} - {0}:
            rows = np.flatnonzero(self._top_k == k)
            self._totals_of_k[rows] = weights[rows, :k].sum(axis=1)
        self._at_most = np.where(self._top_k, self._top_k, self._beyond)
        min_p = np.array([params.min_p for params in every])
        if min_p.any():
            num_likely = (weights >= min_p[:, None]).sum(axis=1)
            self._at_most = np.minimum(self._at_most, np.where(num_likely < weights.shape[1], num_likely, self._beyond))

    def num_kept(self, totals: Sums) -> TokenIds:
        """[rows], of at least 1, where the weights of all tokens add up to `totals`. Larger totals never keep fewer."""
        wanted = self._top_p * np.where(self._top_k, self._totals_of_k, totals)
        sizes = np.where(self._top_p < 1.0, (self._sums < wanted[:, None]).sum(axis=1) + 1, self._beyond)
        kept: TokenIds = np.minimum(sizes, self._at_most)
        return kept


def _draw(likeliest: Likeliest, samplings: Sequence[SamplingInput]) -> tuple[TokenIds, NDArray[np.bool_]]:
    """([rows] places among the likeliest, whether a row alone would draw the same).

    What all tokens weigh is known within bounds, and mostly the same token is drawn at both. Where not, it is added up.
    """
    temperatures = [sampling.params.temperature for sampling in samplings]
    uniforms = np.array([uniform_of(sampling) for sampling in samplings])
    weights = weights_of(likeliest.values, likeliest.peaks, temperatures)
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    filters = _Filters(samplings, weights, sums)
    if not filters.ask_for_totals:
        num_kept = filters.num_kept(sums[:, -1])
        return _place(sums, num_kept, uniforms), num_kept <= sums.shape[1]
    low, high = likeliest.total_bounds(temperatures)
    drawn, is_known = _draw_between(sums, filters, uniforms, low, high)
    doubtful = np.flatnonzero(~is_known & (filters.num_kept(low) <= sums.shape[1])).tolist()
    for row in doubtful:
        total = likeliest.total(row, temperatures[row])
        low[row], high[row] = total * (1.0 - ROUNDING), total * (1.0 + ROUNDING)
    return _draw_between(sums, filters, uniforms, low, high) if doubtful else (drawn, is_known)


def _draw_between(
    sums: Sums, filters: _Filters, uniforms: Sums, low: Sums, high: Sums
) -> tuple[TokenIds, NDArray[np.bool_]]:
    """([rows] places, whether each is the same for all totals from `low` to `high`): the place moves one way alone."""
    most = filters.num_kept(high)
    drawn = _place(sums, filters.num_kept(low), uniforms)
    return drawn, (most <= sums.shape[1]) & (drawn == _place(sums, most, uniforms))


def _place(sums: Sums, num_kept: TokenIds, uniforms: Sums) -> TokenIds:
    """As the draw of a row alone: where its uniform number's share of the sum of what is kept falls."""
    totals = sums[np.arange(len(sums)), np.minimum(num_kept, sums.shape[1]) - 1][:, None]
    last = (sums < totals).sum(axis=1)                           # that adds anything
    drawn: TokenIds = np.minimum((sums <= uniforms[:, None] * totals).sum(axis=1), last)
    return drawn
