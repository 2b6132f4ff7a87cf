"""What torch has no fast form of, in Triton: norms, rotation with the cache's writing, one row times a matrix.
Attention is in paged_attention.py, products of few rows with what stands around them in few_rows.py, the choice of the
next token in draw_kernels.py and likeliest_kernel.py.

Tests compare each with plain torch. `GraphLayers` launches them in the CUDA graph of a step, `CudaOperations` one by
one, where a step has prompts in it.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.launching import launch
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import LEAST_SCALE

MANY_ROWS = 64              # fill the device, though a program has eight heads
_SPARE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Card:
    """What of a GPU decides how kernels are laid out on it."""

    num_processors: int
    shared_bytes: int           # of each

    @classmethod
    def of(cls, device: torch.device) -> Card:
        facts = torch.cuda.get_device_properties(device)
        return cls(facts.multi_processor_count, facts.shared_memory_per_multiprocessor)

    def num_stages(self, wanted: int, stage_bytes: int) -> int:
        """How many tiles may wait for their turn in a processor's shared memory: a laptop's has less than half of an
        H200's.
        """
        return max(1, min(wanted, (self.shared_bytes - _SPARE_BYTES) // stage_bytes))


@triton.jit
def _enter(
    tokens, chosen, embedding, factor, hidden, norm, scaled, squares, SIZE: tl.constexpr, WIDTH: tl.constexpr,
    LEAVES: tl.constexpr, SUMS: tl.constexpr, MOST: tl.constexpr,
):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    if token < 0:
        token = tl.load(chosen - 1 - token).to(tl.int32)
    at = tl.arange(0, WIDTH)
    inside = at < SIZE
    value = tl.load(embedding + token.to(tl.int64) * SIZE + at, mask=inside, other=0.0)
    value = (value.to(tl.float32) * factor).to(hidden.dtype.element_ty)
    tl.store(hidden + row * SIZE + at, value, mask=inside)
    if LEAVES:
        full = value.to(tl.float32)
        weight = tl.load(norm + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(scaled + row * SIZE + at, (full * weight).to(scaled.dtype.element_ty), mask=inside)
        part = tl.arange(0, SUMS)
        tl.store(squares + part * MOST + row, tl.where(part == 0, tl.sum(full * full, 0), 0.0))


def enter(
    tokens: Tensor, chosen: Tensor, embedding: Tensor, factor: float, hidden: Tensor,
    left: tuple[Tensor, Tensor, Tensor] | None = None,
) -> None:
    """`hidden` [rows, size] = the embeddings of `tokens` int32 [rows], times `factor`. A token below zero, -1 - i, is
    the one that the step before chose for its row i, `chosen[i]`. `left`: see few_rows.py.
    """
    size = embedding.shape[1]
    norm, scaled, squares = left or (hidden, hidden, hidden)
    launch(
        _enter, (len(tokens),),
        tokens, chosen, embedding, factor, hidden, norm, scaled, squares, SIZE=size,
        WIDTH=triton.next_power_of_2(size), LEAVES=left is not None, SUMS=len(squares) if left is not None else 1,
        MOST=squares.shape[1], num_warps=4,
    )


@triton.jit
def _add_norm(x, residual, weight, out, eps, SIZE: tl.constexpr, WIDTH: tl.constexpr, ADDS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * SIZE
    at = tl.arange(0, WIDTH)
    inside = at < SIZE
    value = tl.load(residual + row + at, mask=inside, other=0.0).to(tl.float32)
    if ADDS:
        added = value + tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
        rounded = added.to(residual.dtype.element_ty)
        tl.store(residual + row + at, rounded, mask=inside)
        value = rounded.to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / SIZE + eps)
    normed = (value * scale).to(out.dtype.element_ty).to(tl.float32)
    result = normed * tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + at, result.to(out.dtype.element_ty), mask=inside)


def add_norm(x: Tensor | None, residual: Tensor, weight: Tensor, out: Tensor, eps: float) -> None:
    """`residual` += `x`, where there is one; `out` = its root-mean-square norm times `weight`. All [rows, size]."""
    rows, size = residual.shape
    width = triton.next_power_of_2(size)
    launch(
        _add_norm, (rows,),
        residual if x is None else x, residual, weight, out, eps, SIZE=size, WIDTH=width, ADDS=x is not None,
        num_warps=8 if width >= 2048 else 4,
    )


@triton.jit
def _silu_mul(gate_up, out, SIZE, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = at < SIZE
    gate = tl.load(gate_up + row * 2 * SIZE + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * SIZE + SIZE + at, mask=inside, other=0.0).to(tl.float32)
    silu = (gate / (1.0 + tl.exp(-gate))).to(out.dtype.element_ty).to(tl.float32)
    tl.store(out + row * SIZE + at, (silu * up).to(out.dtype.element_ty), mask=inside)


def silu_mul(gate_up: Tensor, out: Tensor) -> None:
    """`gate_up` [rows, 2 * size] to silu(gate) * up, [rows, size]."""
    rows, size = out.shape
    launch(_silu_mul, (rows, triton.cdiv(size, 1024)), gate_up, out, size, WIDTH=1024, num_warps=4)


@triton.jit
def _matrix_times_vector(
    x, weight, scales, bias, out, SIZE_OUT, SIZE_IN: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
    SCALED: tl.constexpr, BIASED: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    there = row[:, None] < SIZE_OUT
    cell = weight + row[:, None].to(tl.int64) * SIZE_IN + at[None, :]
    values = tl.load(cell, mask=there & (at[None, :] < SIZE_IN), other=0.0)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, SIZE_IN, WIDTH):
        factors = tl.load(x + start + at, mask=start + at < SIZE_IN, other=0.0).to(tl.float32)
        now = values.to(tl.float32)
        cell += WIDTH               # the next ones are on their way while these are used
        values = tl.load(cell, mask=there & (start + WIDTH + at[None, :] < SIZE_IN), other=0.0)
        total += now * factors[None, :]
    result = tl.sum(total, 1)
    if SCALED:
        result *= tl.load(scales + row, mask=row < SIZE_OUT, other=0.0)
    if BIASED:
        result += tl.load(bias + row, mask=row < SIZE_OUT, other=0.0).to(tl.float32)
    tl.store(out + row, result.to(out.dtype.element_ty), mask=row < SIZE_OUT)


def matrix_times_vector(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, scales: Tensor | None = None, *, width: int
) -> Tensor:
    """`x` [1, in] times `weight` [out, in], of whose rows each is to be multiplied by its own of `scales` float32
    [out, 1], where it has any. `width`, a power of two: numbers of a row that are read at once.
    """
    size_out, size_in = weight.shape
    out = x.new_empty(1, size_out)
    rows = rows_at_once(size_out, size_in)
    launch(
        _matrix_times_vector, (triton.cdiv(size_out, rows),),
        x, weight, x if scales is None else scales, x if bias is None else bias, out, size_out, SIZE_IN=size_in,
        ROWS=rows, WIDTH=width, SCALED=scales is not None, BIASED=bias is not None, num_warps=4,
    )
    return out


def rows_at_once(size_out: int, size_in: int) -> int:
    """Of a matrix, in one program, where `x` is one row: as it was fastest on one H200."""
    return 4 if size_in <= 1024 or size_out >= 16384 else 2


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x` [rows, in] times `weight` [out, in]: cuBLAS's, but for one row, which is as fast as its weights are read."""
    if len(x) != 1:
        return F.linear(x, weight, bias)
    return matrix_times_vector(x, weight, bias, width=min(1024, triton.next_power_of_2(weight.shape[1]) // 2))


@triton.jit
def turned_heads(
    start, there, is_query, position, cosines, sines, q_weight, k_weight, half, eps, HEAD: tl.constexpr,
    NORMS: tl.constexpr,
):
    """[heads, HEAD] from `start` [heads, 1], normed where `NORMS`, and turned: in the type that they are kept in."""
    at = tl.arange(0, HEAD)[None, :]
    partner = tl.where(at < half, at + half, tl.where(at < 2 * half, at - half, at))
    kind = start.dtype.element_ty
    value = tl.load(start + at, mask=there, other=0.0).to(tl.float32)
    other = tl.load(start + partner, mask=there, other=0.0).to(tl.float32)
    if NORMS:
        scale = tl.rsqrt(tl.sum(value * value, 1) / HEAD + eps)[:, None]
        weight = tl.where(is_query, tl.load(q_weight + at), tl.load(k_weight + at)).to(tl.float32)
        turned_weight = tl.where(is_query, tl.load(q_weight + partner), tl.load(k_weight + partner)).to(tl.float32)
        value = ((value * scale).to(kind).to(tl.float32) * weight).to(kind).to(tl.float32)
        other = ((other * scale).to(kind).to(tl.float32) * turned_weight).to(kind).to(tl.float32)
    turn = tl.where(at < half, at, at - half)
    turns = at < 2 * half
    cos = tl.load(cosines + position * half + turn, mask=turns, other=1.0)
    sin = tl.load(sines + position * half + turn, mask=turns, other=0.0)
    sign = tl.where(at < half, -1.0, 1.0)
    return tl.where(turns, value * cos + sign * other * sin, value).to(kind)


@triton.jit
def _rotate_and_write(
    qkv, cache, scales, blocks, positions, cosines, sines, q_weight, k_weight, half, eps,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, NORMS: tl.constexpr,
    AT_ONCE: tl.constexpr, QUANTISES: tl.constexpr, LEAST: tl.constexpr,
):
    row = tl.program_id(0)
    head = (tl.program_id(1) * AT_ONCE + tl.arange(0, AT_ONCE))[:, None]
    there = head < HEADS + KV_HEADS
    position = tl.load(positions + row)
    at = tl.arange(0, HEAD)[None, :]
    start = qkv + row.to(tl.int64) * (HEADS + 2 * KV_HEADS) * HEAD + head * HEAD
    turned = turned_heads(
        start, there, head < HEADS, position, cosines, sines, q_weight, k_weight, half, eps, HEAD, NORMS
    )
    tl.debug_barrier()              # all of the heads is read before any of them is written
    tl.store(start + at, turned, mask=there)
    is_key = there & (head >= HEADS)
    block = tl.load(blocks + row).to(tl.int64)
    place = (block * KV_HEADS + head - HEADS) * 2 * BLOCK + position % BLOCK
    cell = cache + place * HEAD + at
    values = tl.load(start + KV_HEADS * HEAD + at, mask=is_key, other=0.0)
    if QUANTISES:
        _store_quantised(cell, scales + place, turned.to(tl.float32), is_key, LEAST)
        _store_quantised(cell + BLOCK * HEAD, scales + place + BLOCK, values.to(tl.float32), is_key, LEAST)
    else:
        tl.store(cell, turned, mask=is_key)
        tl.store(cell + BLOCK * HEAD, values, mask=is_key)


@triton.jit
def _store_quantised(cell, scale, numbers, there, LEAST: tl.constexpr):
    """As `paged_kv.quantise_heads`, of heads in rows; halves go up rather than to the even neighbour."""
    factor = tl.maximum(tl.max(tl.abs(numbers), 1)[:, None] / 127.0, LEAST).to(tl.float16)
    whole = tl.floor(numbers / factor.to(tl.float32) + 0.5)
    tl.store(cell, tl.minimum(tl.maximum(whole, -127.0), 127.0).to(tl.int8), mask=there)
    tl.store(scale, factor, mask=there)


def rotate_and_write(
    qkv: Tensor, cache: Tensor, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
    norms: tuple[Tensor, Tensor] | None, *, num_heads: int, eps: float, scales: Tensor | None = None,
) -> None:
    """Norm (where the family does) and turn q and k in place; k and v go into the cache.

    `qkv` [rows, (heads + 2 kv_heads) head_dim], `cache` and `scales` one layer's, `blocks` and `positions` [rows] say
    where each token's KV goes, `rotary` (cos, sin) is of all positions.
    """
    kv_heads, head_dim = cache.shape[1], cache.shape[-1]
    cos, sin = rotary
    q_weight, k_weight = norms or (cos, cos)
    at_once = 8 if len(qkv) >= MANY_ROWS else 1
    launch(
        _rotate_and_write, (len(qkv), triton.cdiv(num_heads + kv_heads, at_once)),
        qkv, cache, cache if scales is None else scales, blocks, positions, cos, sin, q_weight, k_weight,
        cos.shape[1], eps,
        HEADS=num_heads, KV_HEADS=kv_heads, HEAD=head_dim, BLOCK=BLOCK_SIZE, NORMS=norms is not None, AT_ONCE=at_once,
        QUANTISES=scales is not None, LEAST=LEAST_SCALE, num_warps=4 if at_once > 1 else 1,
    )


@triton.jit
def _gather(
    cache, scales, blocks, positions, keys, values, KV_HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    key = tl.program_id(0).to(tl.int64)
    kv_head = tl.program_id(1)
    at = tl.arange(0, HEAD)
    block = tl.load(blocks + key).to(tl.int64)
    place = (block * KV_HEADS + kv_head) * 2 * BLOCK + tl.load(positions + key) % BLOCK
    cell = cache + place * HEAD + at
    target = (key * KV_HEADS + kv_head) * HEAD + at
    key_numbers, value_numbers = tl.load(cell), tl.load(cell + BLOCK * HEAD)
    if QUANTISED:
        key_numbers = key_numbers.to(tl.float32) * tl.load(scales + place).to(tl.float32)
        value_numbers = value_numbers.to(tl.float32) * tl.load(scales + place + BLOCK).to(tl.float32)
    tl.store(keys + target, key_numbers.to(keys.dtype.element_ty))
    tl.store(values + target, value_numbers.to(values.dtype.element_ty))


def gather(
    cache: Tensor, blocks: Tensor, positions: Tensor, dtype: torch.dtype, scales: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Keys and values [tokens, kv_heads, head_dim] from one layer's cache: `blocks` and `positions` [tokens]."""
    kv_heads, head_dim = cache.shape[1], cache.shape[-1]
    keys, values = (cache.new_empty(len(blocks), kv_heads, head_dim, dtype=dtype) for _ in range(2))
    launch(
        _gather, (len(blocks), kv_heads),
        cache, cache if scales is None else scales, blocks, positions, keys, values, KV_HEADS=kv_heads, HEAD=head_dim,
        BLOCK=BLOCK_SIZE, QUANTISED=scales is not None, num_warps=1,
    )
    return keys, values
