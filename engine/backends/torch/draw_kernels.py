"""The draw of next tokens from logits that stay on the device, in Triton; `engine.sampler` says what it means. Launched
by `DeviceSampler`, in the CUDA graph of a step or by itself.

Only the likeliest tokens are put in order. Enough groups of the vocabulary reach a threshold with their maxima, so as
many tokens do, and few others: those are found, sorted, and drawn from, as far as top-k, top-p and min-p leave them.
Without any of these a draw goes through the vocabulary as it lies, by sums of groups.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _usable(logits, row, at, SIZE):
    """A NaN counts as impossible, and so does what is not there."""
    values = tl.load(logits + row.to(tl.int64) * SIZE + at, mask=at < SIZE, other=float("-inf"))
    values = tl.where(values == values, values, float("-inf"))
    return tl.where(values == 0.0, 0.0, values)             # -0.0 equals 0.0, but not in its bits


@triton.jit
def _ascending(values):
    """Integers in the order of the numbers. Once more gives the bits back."""
    bits = values.to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
def _weights(values, peak, temperature, least):
    """The likeliest token's is 1; those below `least` are none. Without a finite peak they mean nothing."""
    known = (peak > float("-inf")) & (peak < float("inf"))
    weights = tl.exp((tl.where(known, values, 0.0) - tl.where(known, peak, 0.0)) / temperature)
    return tl.where(weights >= least, weights, 0.0)


@triton.jit
def _temperature(draws, row, stride):
    return tl.maximum(tl.load(draws + stride + row).to(tl.float32), 1e-20)


@triton.jit
def _is_in_order_of_ids(draws, row, stride):
    """Neither greedy nor cut by top-k or top-p."""
    top_k, top_p = tl.load(draws + 2 * stride + row), tl.load(draws + 3 * stride + row)
    return (tl.load(draws + stride + row) > 0.0) & (top_k == 0.0) & (top_p >= 1.0)


@triton.jit
def _least_weight(draws, row, stride):
    """Below which none counts: by min-p, where it is not asked in the order of likelihood."""
    min_p = tl.load(draws + 4 * stride + row).to(tl.float32)
    return tl.where(_is_in_order_of_ids(draws, row, stride), min_p, 0.0)


@triton.jit
def group_maxima(logits, maxima, SIZE, GROUP: tl.constexpr, PART: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    groups: tl.constexpr = PART // GROUP
    values = _usable(logits, row, part * PART + tl.arange(0, PART), SIZE)
    group = part * groups + tl.arange(0, groups)
    tl.store(maxima + row * tl.num_programs(1) * groups + group, tl.max(tl.reshape(values, [groups, GROUP]), 1))


@triton.jit(do_not_specialize=["stride"])
def thresholds(
    maxima, draws, peaks, least, counters, found, stride, NUM_GROUPS, WIDTH: tl.constexpr, COUNT: tl.constexpr,
    CAPACITY: tl.constexpr,
):
    """`least`: the highest value, as an integer, that as many groups reach as tokens are wanted, COUNT where it is not
    said how many. `found` is emptied, and so are its `counters`.
    """
    row = tl.program_id(0)
    top_k = tl.load(draws + 2 * stride + row).to(tl.int32)
    count = tl.where(tl.load(draws + stride + row) > 0.0, tl.where(top_k > 0, top_k, COUNT), 1)
    at = tl.arange(0, WIDTH)
    values = tl.load(maxima + row * NUM_GROUPS + at, mask=at < NUM_GROUPS, other=float("-inf"))
    keys = _ascending(values).to(tl.int64)
    reached, missed = tl.min(keys, 0), tl.max(keys, 0) + 1
    for _ in range(33):                                     # halves what lies between, of 32 bits
        middle = (reached + missed) >> 1
        do_reach = tl.sum((keys >= middle).to(tl.int32), 0) >= count
        reached = tl.where(do_reach, middle, reached)
        missed = tl.where(do_reach, missed, middle)
    tl.store(counters + row, 0)
    tl.store(peaks + row, tl.max(values, 0))
    tl.store(least + row, tl.where(_is_in_order_of_ids(draws, row, stride), 0x7FFFFFFF, reached.to(tl.int32)))
    tl.store(found + row.to(tl.int64) * CAPACITY + tl.arange(0, CAPACITY), tl.full([CAPACITY], -(1 << 63), tl.int64))


@triton.jit(do_not_specialize=["stride"])
def weigh(
    logits, peaks, least, draws, sums, counters, found, stride, SIZE, GROUP: tl.constexpr, PART: tl.constexpr,
    CAPACITY: tl.constexpr,
):
    """Sums of the weights of groups, and all tokens that reach `least`, in no order: value above, id below, so that the
    lower id comes first among equals.
    """
    row, part = tl.program_id(0), tl.program_id(1)
    groups: tl.constexpr = PART // GROUP
    at = part * PART + tl.arange(0, PART)
    values = _usable(logits, row, at, SIZE)
    least_weight = _least_weight(draws, row, stride)
    weights = _weights(values, tl.load(peaks + row), _temperature(draws, row, stride), least_weight)
    group = part * groups + tl.arange(0, groups)
    tl.store(sums + row * tl.num_programs(1) * groups + group, tl.sum(tl.reshape(weights, [groups, GROUP]), 1))
    keys = _ascending(values)
    reach = (keys >= tl.load(least + row)) & (at < SIZE)
    number = tl.sum(reach.to(tl.int32), 0)
    if number > 0:
        place = tl.atomic_add(counters + row, number) + tl.cumsum(reach.to(tl.int32), 0) - 1
        key = (keys.to(tl.int64) << 32) | (0x7FFFFFFF - at).to(tl.int64)
        tl.store(found + row.to(tl.int64) * CAPACITY + place, key, mask=reach & (place < CAPACITY))


@triton.jit(do_not_specialize=["stride"])
def choose(
    logits, peaks, draws, sums, counters, found, chosen, said, stride, SIZE, NUM_GROUPS, WIDTH: tl.constexpr,
    GROUP: tl.constexpr, CAPACITY: tl.constexpr,
):
    """`found` is in descending order. `chosen` is some token always; `said` is -1 where it may be a wrong one."""
    row = tl.program_id(0)
    peak = tl.load(peaks + row)
    number = tl.load(counters + row)
    group = tl.arange(0, WIDTH)
    group_sums = tl.load(sums + row * NUM_GROUPS + group, mask=group < NUM_GROUPS, other=0.0).to(tl.float64)
    is_certain = (peak > float("-inf")) & (peak < float("inf"))
    if _is_in_order_of_ids(draws, row, stride):
        token = _drawn_by_id(logits, draws, row, stride, peak, group_sums, SIZE, WIDTH, GROUP)
    else:
        total = tl.sum(group_sums, 0)
        token, is_known = _drawn_by_rank(found, draws, row, stride, peak, number, total, CAPACITY)
        is_certain = is_certain & is_known
    token = tl.minimum(tl.maximum(token, 0), SIZE - 1)
    tl.store(chosen + row, token.to(tl.int64))
    tl.store(said + row, tl.where(is_certain, token, -1).to(tl.int64))


@triton.jit
def _drawn_by_id(logits, draws, row, stride, peak, group_sums, SIZE, WIDTH: tl.constexpr, GROUP: tl.constexpr):
    group = tl.arange(0, WIDTH)
    so_far = tl.cumsum(group_sums, 0)
    total = tl.max(so_far, 0)
    point = tl.load(draws + row) * total
    its_group = tl.minimum(_num_of(so_far <= point), _num_of(so_far < total))
    before = tl.max(tl.where(group < its_group, so_far, 0.0), 0)
    values = _usable(logits, row, its_group * GROUP + tl.arange(0, GROUP), SIZE)
    weights = _weights(values, peak, _temperature(draws, row, stride), _least_weight(draws, row, stride))
    within = before + tl.cumsum(weights.to(tl.float64), 0)
    return its_group * GROUP + tl.minimum(_num_of(within <= point), _num_of(within < tl.max(within, 0)))


@triton.jit
def _drawn_by_rank(found, draws, row, stride, peak, number, total, CAPACITY: tl.constexpr):
    """(token, whether it is certain), of the `number` that were found, of all that weigh `total` together."""
    uniform, temperature = tl.load(draws + row), _temperature(draws, row, stride)
    top_k, top_p = tl.load(draws + 2 * stride + row).to(tl.int32), tl.load(draws + 3 * stride + row)
    min_p = tl.load(draws + 4 * stride + row)
    all_there = (number > 0) & (number <= CAPACITY)
    number = tl.minimum(number, CAPACITY)
    rank = tl.arange(0, CAPACITY)
    there = rank < number
    key = tl.load(found + row.to(tl.int64) * CAPACITY + rank)
    values = _ascending((key >> 32).to(tl.int32).to(tl.float32, bitcast=True)).to(tl.float32, bitcast=True)
    weights = tl.where(there, _weights(tl.where(there, values, peak), peak, temperature, 0.0), 0.0)
    so_far = tl.cumsum(weights.to(tl.float64), 0)
    of_found = tl.max(so_far, 0)
    of_k = tl.where(top_k > 0, tl.max(tl.where(rank < top_k, so_far, 0.0), 0), total)
    wanted = tl.where(top_p < 1.0, top_p * of_k, float("inf"))
    last = _num_of((so_far < wanted) & there)
    last = tl.where(top_k > 0, tl.minimum(last, top_k - 1), last)
    num_likely = _num_of((weights >= min_p) & there)
    last = tl.where((min_p > 0.0) & (num_likely < number), tl.minimum(last, num_likely - 1), last)
    # Where more are kept than were found, what they weigh together is known within bounds.
    last_weight = tl.max(tl.where(rank == number - 1, weights, 0.0), 0)
    most = tl.minimum(wanted + last_weight, total)
    fewest = tl.where(min_p > 0.0, of_found, tl.maximum(of_found, tl.minimum(wanted, total)))
    kept = tl.max(tl.where(rank == last, so_far, 0.0), 0)
    most, fewest = tl.where(last < number, kept, most), tl.where(last < number, kept, fewest)
    drawn = _drawn(so_far, there, uniform, fewest)
    is_certain = all_there & (drawn == _drawn(so_far, there, uniform, most)) & (drawn < number)
    drawn = tl.where(tl.load(draws + stride + row) > 0.0, drawn, 0)
    return tl.max(tl.where(rank == drawn, 0x7FFFFFFF - (key & 0xFFFFFFFF).to(tl.int32), 0), 0), is_certain


@triton.jit
def _num_of(are_true):
    return tl.sum(are_true.to(tl.int32), 0)


@triton.jit
def _drawn(so_far, there, uniform, kept):
    """The place where this share of what is kept falls, never on a weight of 0."""
    return tl.minimum(_num_of((so_far <= uniform * kept) & there), _num_of((so_far < kept) & there))
