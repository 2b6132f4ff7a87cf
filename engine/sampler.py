"""Chooses the next token of one row from its logits, in numpy: the definition of what sampling means here. Called by
`engine.step_sampler`, which decides the easy rows of a step together, on the engine's thread.

The order is the one that `SamplingParams` fixes: logit bias, grammar, penalties, temperature, top-k, top-p, min-p,
seed. What a grammar forbids stays forbidden whatever comes after it, so it is asked last of the first three: where the
likeliest token is allowed, that is all that is asked.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.draw import Weights, draw
from engine.errors import EngineFailed
from engine.params import SamplingParams
from engine.told import Told

Logits = NDArray[np.float32]
TokenIds = NDArray[np.intp]
Temperatures = float | Sequence[float] | NDArray[np.float64]

LOWEST_TEMPERATURE = 1e-20   # below it, differences of logits would be infinite
GROUPS_A_WINNER = 4          # of the largest values, each is looked for among so many groups' maxima
ROUNDING = 1e-5              # more than a 32-bit sum of a vocabulary, added in pairs, may be off


def sample(logits: Logits, row: SamplingInput) -> SampledToken:
    """The next token of a row. `logits` is float32 [vocab_size]; it is neither changed nor kept.

    The same logits, seed and number of output tokens give the same token, whatever else the batch holds: a preempted
    sequence repeats itself. Equal logits go to the lowest id. A NaN counts as impossible.
    Raises EngineFailed when no logit is a usable number.
    """
    params = row.params
    if params.is_greedy and params.logprobs is None and not adjusts(params):
        best = int(logits.argmax())
        if np.isfinite(logits[best]) and (row.grammar is None or row.grammar.allows(best)):
            return SampledToken(best)
    logits = _usable(logits)
    if params.is_greedy:
        token_id = _likeliest(adjusted(logits, row), row)
    else:
        token_ids, weights = weighed(logits, row)
        token_id = int(token_ids[draw(weights, row)])
    if params.logprobs is None:
        return SampledToken(token_id)
    return _with_logprobs(logits, token_id, params.logprobs)


def sample_row(logits: Logits, row: BatchRow) -> tuple[SampledToken, ...]:
    """The next tokens of a row: its proposals as far as they are what would have been chosen, and one token more.

    `logits` is float32 [row.num_sampled_from, vocab_size]. A token depends on those before it and on its own logits
    alone, so the text is the one that comes without proposals.
    """
    if row.sampling is None:
        return ()
    tokens = [sample(logits[0], row.sampling)]
    if not row.num_proposed:
        return tuple(tokens)
    ahead = row.sampling.copy()
    for proposed_id, following in zip(row.proposed_ids, logits[1:], strict=True):
        if tokens[-1].token_id != proposed_id:
            break
        ahead.token_ids.append(proposed_id)
        if ahead.grammar is not None:
            ahead.grammar.accept(proposed_id)
            if ahead.grammar.is_complete or ahead.grammar.failure is not None:
                break
        token = sample(following, ahead)
        if ahead.grammar is not None and ahead.grammar.failure is not None:
            break                            # the next step will find that out without a proposal, and say so
        tokens.append(token)
    return tuple(tokens)


def weighed(logits: Logits, row: SamplingInput) -> tuple[TokenIds, Weights]:
    """The tokens that may follow, and their weights: probabilities up to a common factor. For a temperature above 0,
    and logits that are usable.
    """
    params = row.params
    values = _within_grammar(adjusted(logits, row), row)
    if values is not logits:
        values = _usable(values)
    if params.top_k:
        token_ids = _largest(values, params.top_k)
        weights = weights_of(values[token_ids], values.max(), params.temperature)
        if params.top_p < 1.0:
            kept = _nucleus_size(weights, params.top_p * float(weights.sum()))
            token_ids, weights = token_ids[:kept], weights[:kept]
    elif params.top_p < 1.0:
        token_ids, weights = _nucleus(values, params)
    else:
        token_ids, weights = _all_ids(values.size), weights_of(values, values.max(), params.temperature)
    if params.min_p:
        possible = weights >= params.min_p      # the likeliest token's weight is 1
        token_ids, weights = token_ids[possible], weights[possible]
    return token_ids, weights


def adjusted(logits: Logits, row: SamplingInput) -> Logits:
    """Logits after logit bias and penalties: a copy, or `logits` itself where neither is asked for."""
    params = row.params
    if not adjusts(params):
        return logits
    logits = logits.copy()
    if params.logit_bias:
        logits[list(params.logit_bias)] += np.fromiter(params.logit_bias.values(), dtype=np.float32)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):      # a tiny penalty is 0 in 32 bits
        if params.repetition_penalty != 1.0:
            seen = np.unique(np.array(row.token_ids, dtype=np.intp))
            penalty = np.float32(params.repetition_penalty)
            logits[seen] = np.where(logits[seen] > 0.0, logits[seen] / penalty, logits[seen] * penalty)
    output = row.token_ids[row.num_prompt_tokens:]
    if output and (params.presence_penalty or params.frequency_penalty):
        counts = Counter(output)
        times = np.fromiter(counts.values(), dtype=np.float32)
        logits[list(counts)] -= np.float32(params.presence_penalty) + np.float32(params.frequency_penalty) * times
    return logits


def _likeliest(values: Logits, row: SamplingInput) -> int:
    best = int(values.argmax())
    if row.grammar is None or row.grammar.allows(best):
        return best
    return int(_within_grammar(values, row).argmax())


def _within_grammar(values: Logits, row: SamplingInput) -> Logits:
    if row.grammar is None:
        return values
    allowed = np.where(row.grammar.mask(values.size), values, np.float32(-np.inf))
    if allowed.max() == -np.inf:
        row.grammar.fail("the model holds everything that could follow here for impossible")
        return values
    return allowed


def is_plain(row: SamplingInput) -> bool:
    """Whether nothing but the size of its logits decides: no grammar, bias or penalty; nor are logprobs wanted."""
    return row.grammar is None and row.params.logprobs is None and not adjusts(row.params)


def adjusts(params: SamplingParams) -> bool:
    return bool(
        params.logit_bias
        or params.repetition_penalty != 1.0
        or params.presence_penalty
        or params.frequency_penalty
    )


def _usable(logits: Logits) -> Logits:
    """The same logits without NaN, and with a finite maximum; a copy only where something had to change."""
    peak = logits.max()                      # NaN if any is
    if np.isnan(peak):
        logits = np.where(np.isnan(logits), np.float32(-np.inf), logits)
        peak = logits.max()
    if peak == -np.inf:
        raise EngineFailed(Told("no-number"))
    if peak == np.inf:                       # infinitely likelier than every finite one
        logits = np.where(logits == np.inf, np.float32(0.0), np.float32(-np.inf))
    return logits


def weights_of(
    values: Logits, peak: Logits | np.float32, temperature: Temperatures, out: Weights | None = None
) -> Weights:
    """Unnormalised probabilities; the likeliest token's is 1. Temperatures may be one for each row of values."""
    with np.errstate(over="ignore", under="ignore"):      # a tiny temperature sends all but the likeliest to 0
        weights: Weights = np.subtract(values, peak, out=out)
        weights /= weight_factor(temperature)
        return np.exp(weights, out=weights)


def weight_factor(temperature: Temperatures) -> Weights:
    """By which differences of logits are divided: [] or [rows, 1]."""
    factors = np.maximum(temperature, LOWEST_TEMPERATURE).astype(np.float32)
    return factors if factors.ndim == 0 else factors[:, None]


@functools.lru_cache(maxsize=8)
def _all_ids(size: int) -> TokenIds:
    ids = np.arange(size)
    ids.flags.writeable = False
    return ids


def _largest(values: Logits, count: int) -> TokenIds:
    """Ids of the `count` largest values, largest first, the lower id first among equals.

    Of many groups' maxima the `count` largest are values too, so nothing below the least of these is wanted: few are
    left to be sorted.
    """
    candidates = _all_ids(values.size)
    group = values.size // (GROUPS_A_WINNER * count)
    if group > 1:
        num_groups = values.size // group
        maxima = values[: num_groups * group].reshape(group, num_groups).max(axis=0)
        candidates = np.flatnonzero(values >= np.partition(maxima, num_groups - count)[num_groups - count])
    order = np.argsort(-values[candidates], kind="stable")
    return candidates[order[:count]]


def _nucleus(values: Logits, params: SamplingParams) -> tuple[TokenIds, Weights]:
    """The likeliest tokens that hold `top_p` of the whole, likeliest first, with their weights.

    All weights below `least` together are less than what may be missing, so no token of the nucleus is among them. Most
    of what is left is mostly not, either: so those far above it are sorted first, and the others where these are not
    enough.
    """
    weights = weights_of(values, values.max(), params.temperature)
    total = float(weights.sum())
    wanted = params.top_p * total
    least = (1.0 - params.top_p) * total / values.size
    for bound in (20.0 * least, 5.0 * least, 0.9 * least, 0.0):          # the last for what rounding may do
        token_ids = np.flatnonzero(weights >= np.float32(bound))
        likeliest = weights[token_ids]
        if likeliest.sum(dtype=np.float64) >= wanted * (1.0 + ROUNDING):
            break
    order = _ranked(values[token_ids])
    likeliest = likeliest[order]
    kept = _nucleus_size(likeliest, wanted)
    return token_ids[order[:kept]], likeliest[:kept]


def _ranked(values: Logits) -> TokenIds:
    """Places of the values, largest first, as they stand among equals: as one number each they sort much faster."""
    keys = (-ascending(values) << 32) | np.arange(values.size)
    keys.sort()
    return keys & 0xFFFFFFFF


def ascending(values: Logits) -> NDArray[np.int64]:
    """Integers in the order of the numbers, of 32 bits."""
    bits = (values + np.float32(0.0)).view(np.int32)                     # -0.0 equals 0.0, but not in its bits
    return (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64)


def _nucleus_size(weights: Weights, wanted: float) -> int:
    """How many of the first weights it takes to reach `wanted`, the one that reaches it included."""
    return int(np.searchsorted(np.cumsum(weights, dtype=np.float64), wanted, side="left")) + 1


def _with_logprobs(logits: Logits, token_id: int, num_top: int) -> SampledToken:
    values = logits.astype(np.float64)
    logprobs = values - values.max()
    logprobs -= np.log(np.exp(logprobs).sum())
    likeliest = _largest(logits, num_top) if num_top else ()
    top = tuple((int(i), float(logprobs[i])) for i in likeliest if np.isfinite(logprobs[i]))
    return SampledToken(token_id, float(logprobs[token_id]), top)
