"""Attention of single tokens over the paged cache, in Triton; its plain form is in attention.py. `GraphDecoder`
launches it, in one CUDA graph a step.

Sequences are found by slot: `slots[row]` leads to a row of `tables`, so that tables stay on the device.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.paged_kv import BLOCK_SIZE

KEYS_AT_ONCE = 64           # tokens that a program reads in one go: four blocks
MAX_SPLITS = 16


@triton.jit
def _attend(
    qkv, cache, scales, tables, slots, positions, out, partial, sums, table_width, scale, softcap, window,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr,
    CHUNK: tl.constexpr, SPLITS: tl.constexpr, CAPS: tl.constexpr, WINDOWS: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    kv_head = tl.program_id(0)
    split = tl.program_id(1)
    row = tl.program_id(2)
    group: tl.constexpr = HEADS // KV_HEADS
    at = tl.arange(0, HEAD)
    member = tl.arange(0, GROUP)
    live = member < group
    head = kv_head * group + member
    length = tl.load(positions + row) + 1
    table = tables + tl.load(slots + row) * table_width
    query = tl.load(
        qkv + (row.to(tl.int64) * (HEADS + 2 * KV_HEADS) + head)[:, None] * HEAD + at[None, :], mask=live[:, None],
        other=0.0,
    )
    first = 0
    if WINDOWS:
        first = tl.maximum(length - window, 0) // CHUNK * CHUNK
    num_chunks = tl.cdiv(length - first, CHUNK)
    share = tl.cdiv(num_chunks, SPLITS) * CHUNK
    begin = first + split * share
    end = tl.minimum(begin + share, length)
    highest = tl.full([GROUP], float("-inf"), tl.float32)
    total = tl.zeros([GROUP], tl.float32)
    mixed = tl.zeros([GROUP, HEAD], tl.float32)
    token = tl.arange(0, CHUNK)
    for start in range(begin, end, CHUNK):
        position = start + token
        inside = position < end
        block = tl.load(table + position // BLOCK, mask=inside, other=0).to(tl.int64)
        place = (block * KV_HEADS + kv_head) * 2 * BLOCK + position % BLOCK
        cell = cache + place[:, None] * HEAD + at[None, :]
        keys = tl.load(cell, mask=inside[:, None], other=0).to(query.dtype)
        values = tl.load(cell + BLOCK * HEAD, mask=inside[:, None], other=0).to(query.dtype)
        scores = tl.dot(query, tl.trans(keys)).to(tl.float32) * scale
        if QUANTISED:
            scores *= tl.load(scales + place, mask=inside, other=0.0).to(tl.float32)[None, :]
        if CAPS:
            capped = scores / softcap
            scores = softcap * (2.0 / (1.0 + tl.exp(-2.0 * capped)) - 1.0)
        seen = inside
        if WINDOWS:
            seen = inside & (position >= length - window)
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        known = tl.where(new_highest == float("-inf"), 0.0, new_highest)
        weights = tl.exp(scores - known[:, None])
        fading = tl.exp(highest - known)
        total = total * fading + tl.sum(weights, 1)
        if QUANTISED:
            weights *= tl.load(scales + place + BLOCK, mask=inside, other=0.0).to(tl.float32)[None, :]
        mixed = mixed * fading[:, None] + tl.dot(weights.to(values.dtype), values)
        highest = new_highest
    if SPLITS == 1:
        result = mixed / total[:, None]
        tl.store(
            out + (row.to(tl.int64) * HEADS + head)[:, None] * HEAD + at[None, :], result.to(out.dtype.element_ty),
            mask=live[:, None],
        )
    else:
        place = (row.to(tl.int64) * HEADS + head) * SPLITS + split
        tl.store(partial + place[:, None] * HEAD + at[None, :], mixed, mask=live[:, None])
        tl.store(sums + place * 2, highest, mask=live)
        tl.store(sums + place * 2 + 1, total, mask=live)


@triton.jit
def _combine(partial, sums, out, HEAD: tl.constexpr, SPLITS: tl.constexpr):
    place = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, SPLITS)
    at = tl.arange(0, HEAD)
    highest = tl.load(sums + (place * SPLITS + split) * 2)
    total = tl.load(sums + (place * SPLITS + split) * 2 + 1)
    share = tl.exp(highest - tl.max(highest, 0))
    share = share / tl.sum(share * total, 0)
    mixed = tl.load(partial + (place * SPLITS + split)[:, None] * HEAD + at[None, :])
    tl.store(out + place * HEAD + at, tl.sum(mixed * share[:, None], 0).to(out.dtype.element_ty))


class PagedAttention:
    """Of single tokens. A long sequence's keys are split over programs, where there are too few sequences to fill
    the device; the parts meet in a second kernel.
    """

    def __init__(self, max_rows: int, num_heads: int, head_dim: int, num_processors: int, device: torch.device) -> None:
        self._num_heads = num_heads
        self._num_processors = num_processors
        self._partial = torch.empty(
            self._most_rows_split(max_rows) * num_heads * MAX_SPLITS * head_dim, dtype=torch.float32, device=device
        )
        self._sums = torch.empty(self._partial.numel() // head_dim * 2, dtype=torch.float32, device=device)

    def __call__(
        self, qkv: Tensor, cache: Tensor, tables: Tensor, slots: Tensor, positions: Tensor, out: Tensor, *,
        scale: float, softcap: float | None, window: int | None, scales: Tensor | None = None,
    ) -> None:
        """`qkv` [rows, …] as `rotate_and_write` left it; `out` [rows, heads * head_dim]."""
        rows, kv_heads, head_dim = qkv.shape[0], cache.shape[1], cache.shape[-1]
        splits = self._splits(rows, kv_heads)
        _attend[(kv_heads, splits, rows)](
            qkv, cache, cache if scales is None else scales, tables, slots, positions, out, self._partial, self._sums,
            tables.shape[1], scale, softcap or 0.0, window or 0,
            HEADS=self._num_heads, KV_HEADS=kv_heads, HEAD=head_dim, BLOCK=BLOCK_SIZE,
            GROUP=max(16, triton.next_power_of_2(self._num_heads // kv_heads)), CHUNK=KEYS_AT_ONCE, SPLITS=splits,
            CAPS=softcap is not None, WINDOWS=window is not None, QUANTISED=scales is not None, num_warps=4,
            num_stages=3,
        )
        if splits > 1:
            _combine[(rows * self._num_heads,)](
                self._partial, self._sums, out, HEAD=head_dim, SPLITS=splits, num_warps=1
            )

    def _splits(self, rows: int, kv_heads: int) -> int:
        wanted = 2 * self._num_processors // (rows * kv_heads)
        return min(MAX_SPLITS, 1 << (wanted.bit_length() - 1)) if wanted > 1 else 1

    def _most_rows_split(self, max_rows: int) -> int:
        """A row more than these is never split, since one head of each fills the device."""
        return min(max_rows, self._num_processors)
