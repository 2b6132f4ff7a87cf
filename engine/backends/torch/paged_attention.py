"""Attention of single tokens over the paged cache, in Triton; its plain form is in attention.py. `GraphLayers`
launches it in the CUDA graph of a step, `CudaOperations` by itself, where a step has prompts in it.

Sequences are found by slot: `slots[row]` leads to a row of `tables`, so that tables stay on the device.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.kernels import Card, turned_heads
from engine.backends.torch.launching import launch
from engine.backends.torch.model_config import BLOCK_SIZE

KEYS_AT_ONCE = 64           # tokens that a program reads in one go: two blocks
MAX_SPLITS = 16
PROGRAMS_A_PROCESSOR = 4    # where there are fewer, one for a long text keeps the device waiting


@triton.jit(do_not_specialize=["table_width"])
def _attend(
    qkv, cache, scales, tables, slots, positions, out, partial, sums, counters, table_width, scale, softcap, window,
    cosines, sines, q_weight, k_weight, half, eps,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    FEW: tl.constexpr, CHUNK: tl.constexpr, SPLITS: tl.constexpr, CAPS: tl.constexpr, WINDOWS: tl.constexpr,
    QUANTISED: tl.constexpr, TURNS: tl.constexpr, NORMS: tl.constexpr,
):
    kv_head = tl.program_id(0)
    split = tl.program_id(1)
    row = tl.program_id(2)
    group: tl.constexpr = HEADS // KV_HEADS
    at = tl.arange(0, HEAD)
    member = tl.arange(0, GROUP)
    live = member < group
    head = kv_head * group + member
    position = tl.load(positions + row)
    length = position + 1
    table = tables + tl.load(slots + row) * table_width
    start = qkv + row.to(tl.int64) * (HEADS + 2 * KV_HEADS) * HEAD
    first = 0
    if WINDOWS:
        first = tl.maximum(length - window, 0) // CHUNK * CHUNK
    share = tl.cdiv(tl.cdiv(length - first, CHUNK), SPLITS) * CHUNK
    begin = first + split * share
    end = tl.minimum(begin + share, length)
    if TURNS:
        query = turned_heads(
            start + head[:, None] * HEAD, live[:, None], live[:, None], position, cosines, sines, q_weight, k_weight,
            half, eps, HEAD, NORMS
        )
        if (begin < end) & (end == length):     # who reads the new token's key writes it: nobody else reads there yet
            _write_new(
                start, cache, table, kv_head, position, cosines, sines, q_weight, k_weight, half, eps, HEADS, KV_HEADS,
                HEAD, BLOCK, NORMS
            )
            tl.debug_barrier()
    else:
        query = tl.load(start + head[:, None] * HEAD + at[None, :], mask=live[:, None], other=0.0)
    highest = tl.full([GROUP], float("-inf"), tl.float32)
    total = tl.zeros([GROUP], tl.float32)
    mixed = tl.zeros([GROUP, HEAD], tl.float32)
    token = tl.arange(0, CHUNK)
    for chunk in range(begin, end, CHUNK):
        place_of = chunk + token
        inside = place_of < end
        block = tl.load(table + place_of // BLOCK, mask=inside, other=0).to(tl.int64)
        place = (block * KV_HEADS + kv_head) * 2 * BLOCK + place_of % BLOCK
        cell = cache + place[:, None] * HEAD + at[None, :]
        keys = tl.load(cell, mask=inside[:, None], other=0).to(query.dtype)
        values = tl.load(cell + BLOCK * HEAD, mask=inside[:, None], other=0).to(query.dtype)
        scores = tl.dot(query, tl.trans(keys), input_precision="ieee").to(tl.float32) * scale
        if QUANTISED:
            scores *= tl.load(scales + place, mask=inside, other=0.0).to(tl.float32)[None, :]
        if CAPS:
            scores = softcap * (2.0 / (1.0 + tl.exp(-2.0 * scores / softcap)) - 1.0)
        seen = inside
        if WINDOWS:
            seen = inside & (place_of >= length - window)
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        known = tl.where(new_highest == float("-inf"), 0.0, new_highest)
        weights = tl.exp(scores - known[:, None])
        fading = tl.exp(highest - known)
        total = total * fading + tl.sum(weights, 1)
        if QUANTISED:
            weights *= tl.load(scales + place + BLOCK, mask=inside, other=0.0).to(tl.float32)[None, :]
        mixed = mixed * fading[:, None] + tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        highest = new_highest
    if SPLITS == 1:
        result = out + (row.to(tl.int64) * HEADS + head)[:, None] * HEAD + at[None, :]
        tl.store(result, (mixed / total[:, None]).to(out.dtype.element_ty), mask=live[:, None])
    else:
        part = (row.to(tl.int64) * KV_HEADS + kv_head) * SPLITS
        pieces = partial + (part * group + member)[:, None] * HEAD + at[None, :]
        shares = sums + part * 2 * group + member
        tl.store(pieces + split * group * HEAD, mixed, mask=live[:, None])
        tl.store(shares + split * 2 * group, highest, mask=live)
        tl.store(shares + split * 2 * group + group, total, mask=live)
        tl.debug_barrier()      # all of this program's is written before it is counted
        counter = counters + row * KV_HEADS + kv_head
        if tl.atomic_add(counter, 1, sem="acq_rel") == SPLITS - 1:      # the last joins what all have left
            tl.store(counter, 0)
            _join(out, partial, sums, row, kv_head, HEADS, KV_HEADS, HEAD, FEW, SPLITS)


@triton.jit
def _write_new(
    start, cache, table, kv_head, position, cosines, sines, q_weight, k_weight, half, eps, HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, NORMS: tl.constexpr,
):
    """One head's key, turned, and its value, of the token whose row of `qkv` begins at `start`."""
    at = tl.arange(0, HEAD)
    one = tl.arange(0, 1)[:, None]
    key_start = start + (HEADS + kv_head + one) * HEAD
    key = turned_heads(
        key_start, one == 0, one > 0, position, cosines, sines, q_weight, k_weight, half, eps, HEAD, NORMS
    )
    value = tl.load(key_start + KV_HEADS * HEAD + at[None, :])
    block = tl.load(table + position // BLOCK).to(tl.int64)
    new = cache + ((block * KV_HEADS + kv_head) * 2 * BLOCK + position % BLOCK) * HEAD + at[None, :]
    tl.store(new, key)
    tl.store(new + BLOCK * HEAD, value)


@triton.jit
def _join(
    out, partial, sums, row, kv_head, HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr,
    FEW: tl.constexpr, SPLITS: tl.constexpr,
):
    """What all splits of a row's keys have left, as one result: each counts by the highest score that it has seen."""
    group: tl.constexpr = HEADS // KV_HEADS
    part = (row.to(tl.int64) * KV_HEADS + kv_head) * SPLITS
    at = tl.arange(0, HEAD)
    few = tl.arange(0, FEW)
    known = few < group
    each_share = sums + part * 2 * group + tl.arange(0, SPLITS)[:, None] * 2 * group + few[None, :]
    highests = tl.load(each_share, mask=known[None, :], other=0.0, cache_modifier=".cg")
    totals = tl.load(each_share + group, mask=known[None, :], other=1.0, cache_modifier=".cg")
    parts = tl.exp(highests - tl.max(highests, 0)[None, :])
    parts = parts / tl.sum(parts * totals, 0)[None, :]
    piece = partial + (part * group + few)[:, None] * HEAD + at[None, :]
    joined = tl.zeros([FEW, HEAD], tl.float32)
    for each in tl.static_range(SPLITS):
        own = tl.sum(tl.where(tl.arange(0, SPLITS)[:, None] == each, parts, 0.0), 0)
        joined += own[:, None] * tl.load(
            piece + each * group * HEAD, mask=known[:, None], other=0.0, cache_modifier=".cg"
        )
    result = out + (row.to(tl.int64) * HEADS + kv_head * group + few)[:, None] * HEAD + at[None, :]
    tl.store(result, joined.to(out.dtype.element_ty), mask=known[:, None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """What a new token's q and k still lack, where attention is to do that too: see `kernels.rotate_and_write`."""

    rotary: tuple[Tensor, Tensor]                   # (cos, sin) of all positions
    norms: tuple[Tensor, Tensor] | None             # weights of q's and k's
    eps: float


class PagedAttention:
    """Of single tokens. A sequence's keys are split over programs, where there are too few sequences to keep the device
    busy to the end; the last of them joins the parts.
    """

    def __init__(self, num_heads: int, num_kv_heads: int, head_dim: int, card: Card, device: torch.device) -> None:
        self._num_heads = num_heads
        self._card = card
        most_programs, group = PROGRAMS_A_PROCESSOR * card.num_processors, num_heads // num_kv_heads
        self._partial = torch.empty(most_programs * group * head_dim, dtype=torch.float32, device=device)
        self._sums = torch.empty(most_programs * group * 2, dtype=torch.float32, device=device)
        self._counters = torch.zeros(most_programs, dtype=torch.int32, device=device)

    def __call__(
        self, qkv: Tensor, cache: Tensor, tables: Tensor, slots: Tensor, positions: Tensor, out: Tensor, *,
        scale: float, softcap: float | None, window: int | None, scales: Tensor | None = None,
        turning: Turning | None = None,
    ) -> None:
        """`qkv` [rows, …] as `rotate_and_write` left it, or with `turning` as it came from its product: then keys and
        values are written here, and no two rows may be of one sequence. `out` [rows, heads * head_dim].
        """
        rows, kv_heads, head_dim = qkv.shape[0], cache.shape[1], cache.shape[-1]
        group = triton.next_power_of_2(self._num_heads // kv_heads)
        splits, warps, stages = self._plan(rows, kv_heads)
        stage_bytes = 2 * KEYS_AT_ONCE * head_dim * max(cache.element_size(), qkv.element_size())
        cos, sin = turning.rotary if turning is not None else (out, out)
        q_weight, k_weight = turning.norms if turning is not None and turning.norms is not None else (out, out)
        launch(
            _attend, (kv_heads, splits, rows),
            qkv, cache, cache if scales is None else scales, tables, slots, positions, out, self._partial, self._sums,
            self._counters, tables.shape[1], scale, softcap or 1.0, window or 0, cos, sin, q_weight, k_weight,
            cos.shape[1], 0.0 if turning is None else turning.eps,
            HEADS=self._num_heads, KV_HEADS=kv_heads, HEAD=head_dim, BLOCK=BLOCK_SIZE,
            GROUP=max(16, group), FEW=group, CHUNK=KEYS_AT_ONCE, SPLITS=splits,
            CAPS=softcap is not None, WINDOWS=window is not None, QUANTISED=scales is not None,
            TURNS=turning is not None, NORMS=turning is not None and turning.norms is not None,
            num_warps=warps, num_stages=self._card.num_stages(stages, stage_bytes),
        )

    def _plan(self, rows: int, kv_heads: int) -> tuple[int, int, int]:
        """(splits, warps, stages), as they were fastest on one H200."""
        wanted = PROGRAMS_A_PROCESSOR * self._card.num_processors // (rows * kv_heads)
        if wanted < 2:
            return 1, 2, 4
        is_alone = rows * kv_heads * MAX_SPLITS <= self._card.num_processors
        return min(MAX_SPLITS if is_alone else MAX_SPLITS // 2, 1 << (wanted.bit_length() - 1)), 4, 2
