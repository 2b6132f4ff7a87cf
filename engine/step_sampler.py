"""Chooses the next tokens of all rows of a step. Made and called by back ends, on the engine's thread.

`engine.sampler` says what a row's token is, one row at a time. Where a draw is among few of the likeliest tokens, as
top-k and mostly top-p leave them, it is made here for all such rows together: a row alone costs more in calls of numpy
than in arithmetic, and weighing a whole vocabulary costs more than finding the likeliest of it. What cannot be decided
so beyond doubt is left to `sample_row`; the token is the same, whoever chose it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.draw import Weights, uniform_of
from engine.likeliest import Likeliest, LikeliestFinder
from engine.sampler import ROUNDING, Logits, TokenIds, adjusts, sample_row, weights_of

NUM_LIKELIEST = 64           # top-p is looked for among so many; top-k among as many as it asks for, but at most
MAX_LIKELIEST = 128          # so many

Sums = NDArray[np.float64]


class StepSampler:
    """Keeps memory for its work, a few hundred bytes of it for each hundred tokens of the vocabulary and each row."""

    def __init__(self, vocab_size: int) -> None:
        self._finder = LikeliestFinder(vocab_size)

    def sample(self, logits: Logits, rows: Sequence[BatchRow]) -> list[tuple[SampledToken, ...]]:
        """Each row's next tokens, as `sample_row` gives them. `logits` is [sum of num_sampled_from, vocab_size]."""
        ends = np.cumsum([row.num_sampled_from for row in rows], dtype=np.intp).tolist()
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
        count = max(NUM_LIKELIEST, *(sampling.params.top_k for sampling in inputs.values()))
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            found = self._finder.find(logits, list(inputs), count)
            if found is None:
                return {}
            places, likeliest = found
            samplings = [inputs[place] for place in places]
            temperatures = [sampling.params.temperature for sampling in samplings]
            weights = weights_of(likeliest.values, likeliest.peaks, temperatures)
            sums = np.cumsum(weights, axis=1, dtype=np.float64)
            num_kept = _num_kept(likeliest, weights, sums, samplings)
            drawn = _draw(sums, num_kept, [uniform_of(sampling) for sampling in samplings])
        token_ids = likeliest.token_ids[np.arange(drawn.size), drawn].tolist()
        return {
            place: token_id
            for place, token_id, kept in zip(places, token_ids, num_kept.tolist(), strict=True) if kept
        }


def _num_kept(
    likeliest: Likeliest, weights: Weights, sums: Sums, samplings: Sequence[SamplingInput]
) -> TokenIds:
    """Of each row's likeliest, how many the filters leave; 0 where that takes more of the vocabulary to tell."""
    top_k = np.array([sampling.params.top_k for sampling in samplings])
    top_p = np.array([sampling.params.top_p for sampling in samplings])
    min_p = np.array([sampling.params.min_p for sampling in samplings], dtype=np.float64)
    num_kept = np.where(top_k, top_k, weights.shape[1])
    among_k = (top_p < 1.0) & (top_k > 0)
    for k in np.unique(top_k[among_k]).tolist():
        rows = np.flatnonzero(among_k & (top_k == k))
        totals = weights[rows, :k].sum(axis=1).astype(np.float64)
        num_kept[rows] = np.minimum(_nucleus_sizes(sums[rows], top_p[rows] * totals), k)
    among_all = (top_p < 1.0) & (top_k == 0)
    if among_all.any():
        num_kept = np.where(among_all, _sizes_among_all(likeliest, sums, top_p, samplings, among_all), num_kept)
    if min_p.any():
        num_kept = np.minimum(num_kept, (weights >= min_p[:, None]).sum(axis=1))
    return num_kept


def _sizes_among_all(
    likeliest: Likeliest, sums: Sums, top_p: NDArray[np.float64], samplings: Sequence[SamplingInput],
    wanted: NDArray[np.bool_],
) -> TokenIds:
    """Sizes of nuclei, of the rows that are wanted; 0 where that is more than the likeliest, or maybe."""
    temperatures = [sampling.params.temperature for sampling in samplings]
    low, high = likeliest.total_bounds(temperatures)
    fewest, most = _nucleus_sizes(sums, top_p * low), _nucleus_sizes(sums, top_p * high)
    for row in np.flatnonzero(wanted & (fewest < most) & (fewest <= sums.shape[1])).tolist():
        total = likeliest.total(row, temperatures[row])
        bounds = top_p[row] * total * np.array([1.0 - ROUNDING, 1.0 + ROUNDING])
        fewest[row], most[row] = np.searchsorted(sums[row], bounds, side="left") + 1
    return np.where((fewest == most) & (most <= sums.shape[1]), most, 0)


def _nucleus_sizes(sums: Sums, wanted: NDArray[np.float64]) -> TokenIds:
    sizes: TokenIds = (sums < wanted[:, None]).sum(axis=1) + 1
    return sizes


def _draw(sums: Sums, num_kept: TokenIds, uniforms: Sequence[float]) -> TokenIds:
    """As the draw of a row alone: where its uniform number's share of the sum of what is kept falls."""
    totals = sums[np.arange(len(sums)), np.maximum(num_kept, 1) - 1][:, None]
    last = (sums < totals).sum(axis=1)                           # that adds anything
    drawn: TokenIds = np.minimum((sums <= np.array(uniforms)[:, None] * totals).sum(axis=1), last)
    return drawn
