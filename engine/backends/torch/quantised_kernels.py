"""Products with quantised matrices on CUDA: few rows by a kernel that reads the bits and nothing else, many rows by
cuBLAS. quantised.py has the plain forms, with which they are compared.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.kernels import linear, matrix_times_vector, rows_at_once
from engine.backends.torch.launching import launch
from engine.backends.torch.quantised import LARGEST_FP8, PACKED_TOGETHER, Matrix, Quantised

MOST_FEW_ROWS: Final = 128          # with more, arithmetic takes longer than reading; then it is cuBLAS's
LEAST_FP8_ROWS: Final = 32          # from which on the tensor cores multiply FP8 as it is
_HALF: Final = PACKED_TOGETHER // 2


@triton.jit
def _one_row_4(
    x, values, scales, zeros, bias, out, SIZE_OUT, SIZE_IN: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr,
    BLOCKS: tl.constexpr, HALF: tl.constexpr, BIASED: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = row < SIZE_OUT
    block_at, at = tl.arange(0, BLOCKS), tl.arange(0, HALF)
    num_blocks: tl.constexpr = SIZE_IN // (2 * HALF)
    start = row[:, None, None].to(tl.int64) * (SIZE_IN // 2)
    cell = values + start + block_at[None, :, None] * HALF + at[None, None, :]
    pair = tl.load(cell, mask=there[:, None, None] & (block_at[None, :, None] < num_blocks), other=0)
    total = tl.zeros([ROWS, BLOCKS], tl.float32)
    for first in range(0, num_blocks, BLOCKS):
        block = first + block_at
        place = x + block[:, None] * (2 * HALF) + at[None, :]
        inside = block[:, None] < num_blocks
        factors = tl.load(place, mask=inside, other=0.0).to(tl.float32)
        others = tl.load(place + HALF, mask=inside, other=0.0).to(tl.float32)
        now = pair.to(tl.int16)
        cell += BLOCKS * HALF       # the next ones are on their way while these are used
        pair = tl.load(cell, mask=there[:, None, None] & (block[None, :, None] + BLOCKS < num_blocks), other=0)
        # 0x4300 is 128 in bf16, whose last four bits count by one: that is cheaper than to make numbers of integers
        low = ((now & 15) | 0x4300).to(tl.bfloat16, bitcast=True).to(tl.float32)
        high = ((now >> 4) | 0x4300).to(tl.bfloat16, bitcast=True).to(tl.float32)
        added = tl.sum(low * factors[None, :, :] + high * others[None, :, :], 2)
        group = row[:, None] * (SIZE_IN // GROUP) + (block * (2 * HALF) // GROUP)[None, :]
        known = there[:, None] & (block[None, :] < num_blocks)
        scale = tl.load(scales + group, mask=known, other=0.0)
        zero = tl.load(zeros + group, mask=known, other=0).to(tl.float32)
        total += (added - (128.0 + zero) * tl.sum(factors + others, 1)[None, :]) * scale
    result = tl.sum(total, 1)
    if BIASED:
        result += tl.load(bias + row, mask=there, other=0.0).to(tl.float32)
    tl.store(out + row, result.to(out.dtype.element_ty), mask=there)


@triton.jit
def _rows_to_fp8(x, values, scales, SIZE: tl.constexpr, WIDTH: tl.constexpr, LARGEST: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, WIDTH)
    numbers = tl.load(x + row * SIZE + at, mask=at < SIZE, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(numbers), 0), 1e-12) / LARGEST
    tl.store(values + row * SIZE + at, (numbers / scale).to(values.dtype.element_ty), mask=at < SIZE)
    tl.store(scales + row, scale)


@triton.jit(do_not_specialize=["ROWS"])
def _few_rows_8(
    x, values, scales, bias, out, ROWS, SIZE_OUT, SIZE_IN: tl.constexpr, TILE_ROWS: tl.constexpr,
    TILE_OUT: tl.constexpr, TILE_IN: tl.constexpr, BIASED: tl.constexpr,
):
    column = tl.program_id(0) * TILE_OUT + tl.arange(0, TILE_OUT)
    row = tl.program_id(1) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    at = tl.arange(0, TILE_IN)
    there, live = column < SIZE_OUT, row < ROWS
    weights = values + column[:, None].to(tl.int64) * SIZE_IN + at[None, :]
    factors = x + row[:, None] * SIZE_IN + at[None, :]
    total = tl.zeros([TILE_ROWS, TILE_OUT], tl.float32)
    for start in range(0, SIZE_IN, TILE_IN):
        inside = at[None, :] < SIZE_IN - start
        weight = tl.load(weights + start, mask=there[:, None] & inside, other=0.0)
        factor = tl.load(factors + start, mask=live[:, None] & inside, other=0.0)
        total += tl.dot(factor, tl.trans(weight.to(factor.dtype)))
    total *= tl.load(scales + column, mask=there, other=0.0)[None, :]
    if BIASED:
        total += tl.load(bias + column, mask=there, other=0.0).to(tl.float32)[None, :]
    tl.store(
        out + row[:, None] * SIZE_OUT + column[None, :], total.to(out.dtype.element_ty),
        mask=live[:, None] & there[None, :],
    )


@triton.jit(do_not_specialize=["ROWS"])
def _few_rows_4(
    x, values, scales, zeros, bias, out, ROWS, SIZE_OUT, SIZE_IN: tl.constexpr, GROUP: tl.constexpr,
    TILE_ROWS: tl.constexpr, TILE_OUT: tl.constexpr, BLOCKS: tl.constexpr, HALF: tl.constexpr, BIASED: tl.constexpr,
):
    column = tl.program_id(0) * TILE_OUT + tl.arange(0, TILE_OUT)
    row = tl.program_id(1) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    there, live = column < SIZE_OUT, row < ROWS
    at = tl.arange(0, BLOCKS * HALF)
    place = at // HALF * (2 * HALF) + at % HALF           # in the row, of the numbers in the low bits
    block_at = tl.arange(0, BLOCKS)
    bytes_ = values + column[:, None].to(tl.int64) * (SIZE_IN // 2) + at[None, :]
    factors = x + row[:, None] * SIZE_IN + place[None, :]
    groups: tl.constexpr = SIZE_IN // GROUP
    total = tl.zeros([TILE_ROWS, TILE_OUT], tl.float32)
    for start in range(0, SIZE_IN // 2, BLOCKS * HALF):
        inside = at[None, :] < SIZE_IN // 2 - start
        pair = tl.load(bytes_ + start, mask=there[:, None] & inside, other=0)
        block = start // HALF + block_at
        group = column[:, None] * groups + (block * (2 * HALF) // GROUP)[None, :]
        known = there[:, None] & (block[None, :] < SIZE_IN // (2 * HALF))
        scale = tl.load(scales + group, mask=known, other=0.0)
        zero = tl.load(zeros + group, mask=known, other=0).to(tl.float32)
        pairs = tl.reshape(pair, [TILE_OUT, BLOCKS, HALF])
        low = ((pairs & 15).to(tl.float32) - zero[:, :, None]) * scale[:, :, None]
        high = ((pairs >> 4).to(tl.float32) - zero[:, :, None]) * scale[:, :, None]
        seen = live[:, None] & inside
        first = tl.load(factors + 2 * start, mask=seen, other=0.0)
        second = tl.load(factors + 2 * start + HALF, mask=seen, other=0.0)
        total += tl.dot(first, tl.trans(tl.reshape(low, [TILE_OUT, BLOCKS * HALF]).to(first.dtype)))
        total += tl.dot(second, tl.trans(tl.reshape(high, [TILE_OUT, BLOCKS * HALF]).to(first.dtype)))
    if BIASED:
        total += tl.load(bias + column, mask=there, other=0.0).to(tl.float32)[None, :]
    tl.store(
        out + row[:, None] * SIZE_OUT + column[None, :], total.to(out.dtype.element_ty),
        mask=live[:, None] & there[None, :],
    )


@triton.jit
def _plain_of_4(
    values, scales, zeros, out, SIZE_IN, GROUP, HALF: tl.constexpr, BLOCKS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1) * BLOCKS + tl.arange(0, BLOCKS)[:, None]
    at = tl.arange(0, HALF)[None, :]
    inside = block < SIZE_IN // (2 * HALF)
    pair = tl.load(values + row * (SIZE_IN // 2) + block * HALF + at, mask=inside, other=0)
    group = row * (SIZE_IN // GROUP) + block * (2 * HALF) // GROUP
    scale = tl.load(scales + group, mask=inside, other=0.0)
    zero = tl.load(zeros + group, mask=inside, other=0).to(tl.float32)
    cell = out + row * SIZE_IN + block * (2 * HALF) + at
    kind = out.dtype.element_ty
    tl.store(cell, (((pair & 15).to(tl.float32) - zero) * scale).to(kind), mask=inside)
    tl.store(cell + HALF, (((pair >> 4).to(tl.float32) - zero) * scale).to(kind), mask=inside)


def product(x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
    """`x` [rows, in] times `matrix` [out, in]; `x` in 16 bits."""
    if isinstance(matrix, Tensor):
        return linear(x, matrix, bias)
    if matrix.kind == "fp8" and len(x) >= LEAST_FP8_ROWS and all(size % 16 == 0 for size in matrix.shape):
        return _fp8_product(x, matrix, bias)
    if len(x) <= MOST_FEW_ROWS:
        return few_rows(x, matrix, bias)
    if matrix.zeros is not None:
        return F.linear(x, plain_of_4(matrix, x.dtype), bias)
    out = F.linear(x, matrix.values.to(x.dtype)) * matrix.scales.T.to(x.dtype)
    return out if bias is None else out + bias


def few_rows(x: Tensor, matrix: Quantised, bias: Tensor | None = None) -> Tensor:
    """Tiles are those that were fastest on an H200, for the shapes of an 8B."""
    rows, (size_out, size_in) = len(x), matrix.shape
    if rows == 1:
        return _one_row(x, matrix, bias)
    out = x.new_empty(rows, size_out)
    tile_out, tile_in = (128, 128) if rows > 32 and size_out >= 16384 else (32, 256)
    tile_rows = 16 if rows <= 16 else 32 if rows <= 32 else 64
    grid = triton.cdiv(size_out, tile_out), triton.cdiv(rows, tile_rows)
    bias_or_any, options = (x if bias is None else bias), {"BIASED": bias is not None, "num_warps": 4, "num_stages": 3}
    if matrix.zeros is None:
        launch(
            _few_rows_8, grid,
            x, matrix.values, matrix.scales, bias_or_any, out, rows, size_out, SIZE_IN=size_in, TILE_ROWS=tile_rows,
            TILE_OUT=tile_out, TILE_IN=tile_in, **options,
        )
    else:
        launch(
            _few_rows_4, grid,
            x, matrix.values, matrix.scales, matrix.zeros, bias_or_any, out, rows, size_out, SIZE_IN=size_in,
            GROUP=matrix.group_size, TILE_ROWS=tile_rows, TILE_OUT=tile_out, BLOCKS=tile_in // PACKED_TOGETHER,
            HALF=_HALF, **options,
        )
    return out


def _one_row(x: Tensor, matrix: Quantised, bias: Tensor | None) -> Tensor:
    size_out, size_in = matrix.shape
    if matrix.zeros is None:
        width = min(2048, triton.next_power_of_2(size_in))
        return matrix_times_vector(x, matrix.values, bias, matrix.scales, width=width)
    out, at_once = x.new_empty(1, size_out), rows_at_once(size_out, size_in)
    launch(
        _one_row_4, (triton.cdiv(size_out, at_once),),
        x, matrix.values, matrix.scales, matrix.zeros, x if bias is None else bias, out, size_out, SIZE_IN=size_in,
        GROUP=matrix.group_size, ROWS=at_once, BLOCKS=32 if size_in >= 4096 else 8, HALF=_HALF,
        BIASED=bias is not None, num_warps=4,
    )
    return out


def plain_of_4(matrix: Quantised, dtype: torch.dtype) -> Tensor:
    rows, size_in = matrix.shape
    out = torch.empty(rows, size_in, dtype=dtype, device=matrix.values.device)
    launch(
        _plain_of_4, (rows, triton.cdiv(size_in, 2 * _HALF * 16)),
        matrix.values, matrix.scales, matrix.zeros, out, size_in, matrix.group_size, HALF=_HALF, BLOCKS=16
    )
    return out


def _fp8_product(x: Tensor, matrix: Quantised, bias: Tensor | None) -> Tensor:
    rows, size_in = x.shape
    values = torch.empty(rows, size_in, dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(rows, 1, dtype=torch.float32, device=x.device)
    width = triton.next_power_of_2(size_in)
    launch(_rows_to_fp8, (rows,), x, values, scales, SIZE=size_in, WIDTH=width, LARGEST=LARGEST_FP8, num_warps=8)
    out = torch._scaled_mm(
        values, matrix.values.T, scale_a=scales, scale_b=matrix.scales.view(1, -1), out_dtype=x.dtype
    )
    return out if bias is None else out + bias
