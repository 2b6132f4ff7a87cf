"""Products of few rows with plain matrices on CUDA, each in one kernel with what stands around it: the norm before it,
the gate or the residual behind. A step of few sequences is over as soon as the weights are read, so nothing else may
take time of its own. Plain form: decoder.py. With more than MOST_ROWS, arithmetic counts, and products are cuBLAS's.

A norm's factor is known only once the whole row is there, so who writes the residual leaves, beside it, the residual
times the weights of the norm that comes next, and sums of its squares, by columns; the factor is multiplied in behind
the product. One row alone is no work for the tensor cores, and sums its squares itself; else it is the same arithmetic.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.kernels import Card, enter
from engine.backends.torch.launching import launch

MOST_ROWS: Final = 64
_COLUMNS: Final = 64                # of the residual, whose squares are summed together; rows of weights a program
_MOST_SPLITS: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """What the layers add to, and what the next norm needs of it. Written by `enter` and `add_product`."""

    hidden: Tensor                  # [rows, size]
    scaled: Tensor                  # [rows, size]: times the weights of the norm that comes next
    squares: Tensor                 # float32 [columns / _COLUMNS, to a power of two; MOST_ROWS]: sums

    @classmethod
    def empty(cls, size: int, dtype: torch.dtype, device: torch.device) -> Residual:
        sums = triton.next_power_of_2(triton.cdiv(size, _COLUMNS))
        return cls(
            torch.empty(MOST_ROWS, size, dtype=dtype, device=device),
            torch.empty(MOST_ROWS, size, dtype=dtype, device=device),
            torch.zeros(sums, MOST_ROWS, dtype=torch.float32, device=device),
        )

    def first(self, rows: int) -> Residual:
        return Residual(self.hidden[:rows], self.scaled[:rows], self.squares)


@triton.jit
def _one_row(
    x, hidden, weight, bias, out, next_norm, scaled, eps, SIZE_OUT, SIZE_IN: tl.constexpr, ROWS: tl.constexpr,
    WIDTH: tl.constexpr, NORMS: tl.constexpr, GATES: tl.constexpr, ADDS: tl.constexpr, BIASED: tl.constexpr,
    EVEN: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, WIDTH)
    there = row < SIZE_OUT
    cell = weight + row[:, None].to(tl.int64) * SIZE_IN + at[None, :]
    beyond = SIZE_OUT.to(tl.int64) * SIZE_IN
    values = tl.load(cell) if EVEN else tl.load(cell, mask=there[:, None] & (at[None, :] < SIZE_IN), other=0.0)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    if GATES:
        up = cell + beyond
        ups = tl.load(up) if EVEN else tl.load(up, mask=there[:, None] & (at[None, :] < SIZE_IN), other=0.0)
        total_up = tl.zeros([ROWS, WIDTH], tl.float32)
    square = tl.zeros([WIDTH], tl.float32)
    for start in range(0, SIZE_IN, WIDTH):
        place = start + at
        inside = place < SIZE_IN
        factors = (tl.load(x + place) if EVEN else tl.load(x + place, mask=inside, other=0.0)).to(tl.float32)
        if NORMS:
            full = tl.load(hidden + place) if EVEN else tl.load(hidden + place, mask=inside, other=0.0)
            square += full.to(tl.float32) * full.to(tl.float32)
        cell += WIDTH               # the next ones are on their way while these are used
        more = start + WIDTH < SIZE_IN if EVEN else there[:, None] & (place[None, :] + WIDTH < SIZE_IN)
        total += values.to(tl.float32) * factors[None, :]
        values = tl.load(cell, mask=more, other=0.0)
        if GATES:
            total_up += ups.to(tl.float32) * factors[None, :]
            ups = tl.load(cell + beyond, mask=more, other=0.0)
    result = tl.sum(total, 1)
    if NORMS:
        scale = tl.rsqrt(tl.sum(square, 0) / SIZE_IN + eps)
        result *= scale
    if BIASED:
        result += tl.load(bias + row, mask=there, other=0.0).to(tl.float32)
    if GATES:
        result_up = tl.sum(total_up, 1)
        if NORMS:
            result_up *= scale
        if BIASED:
            result_up += tl.load(bias + SIZE_OUT + row, mask=there, other=0.0).to(tl.float32)
        result = result / (1.0 + tl.exp(-result)) * result_up
    if ADDS:
        result += tl.load(out + row, mask=there, other=0.0).to(tl.float32)
        rounded = result.to(out.dtype.element_ty).to(tl.float32)
        norm = tl.load(next_norm + row, mask=there, other=0.0).to(tl.float32)
        tl.store(scaled + row, (rounded * norm).to(scaled.dtype.element_ty), mask=there)
    tl.store(out + row, result.to(out.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=["rows"])
def _few_rows(
    x, weight, bias, out, next_norm, scaled, squares, partial, counters, rows, eps, SIZE_OUT, SIZE_IN: tl.constexpr,
    NORMS: tl.constexpr, GATES: tl.constexpr, ADDS: tl.constexpr, BIASED: tl.constexpr, EVEN: tl.constexpr,
    AT_ONCE: tl.constexpr, TILE_OUT: tl.constexpr, TILE_IN: tl.constexpr, SPLITS: tl.constexpr, SUMS: tl.constexpr,
    MOST: tl.constexpr,
):
    tile = tl.program_id(0)
    split = tl.program_id(1)
    own = tl.arange(0, TILE_OUT)
    column = tile * TILE_OUT + own          # of the result; a row of the weights
    there = column < SIZE_OUT
    row = tl.arange(0, AT_ONCE)
    live = row < rows
    share: tl.constexpr = SIZE_IN // SPLITS
    at = split * share + tl.arange(0, TILE_IN)
    cell = weight + column[:, None].to(tl.int64) * SIZE_IN + at[None, :]
    factor = x + row[None, :] * SIZE_IN + at[:, None]
    beyond = SIZE_OUT.to(tl.int64) * SIZE_IN
    total = tl.zeros([TILE_OUT, AT_ONCE], tl.float32)
    total_up = tl.zeros([TILE_OUT, AT_ONCE], tl.float32)
    for start in range(0, share, TILE_IN):
        factors = tl.load(factor + start, mask=live[None, :], other=0.0)
        values = tl.load(cell + start) if EVEN else tl.load(cell + start, mask=there[:, None], other=0.0)
        total = tl.dot(values, factors, total, input_precision="ieee")
        if GATES:
            up = cell + beyond + start
            ups = tl.load(up) if EVEN else tl.load(up, mask=there[:, None], other=0.0)
            total_up = tl.dot(ups, factors, total_up, input_precision="ieee")
    is_last = True
    if SPLITS > 1:                  # which no product with a gate is
        cells = partial + tile.to(tl.int64) * SPLITS * TILE_OUT * AT_ONCE + own[:, None] * AT_ONCE + row[None, :]
        tl.store(cells + split * TILE_OUT * AT_ONCE, total)
        tl.debug_barrier()          # all of this program's is written before it is counted
        is_last = tl.atomic_add(counters + tile, 1, sem="acq_rel") == SPLITS - 1
        if is_last:                 # it sums what all have left, in their order: the same bits every time
            tl.store(counters + tile, 0)
            total = tl.zeros([TILE_OUT, AT_ONCE], tl.float32)
            for each in tl.static_range(SPLITS):
                total += tl.load(cells + each * TILE_OUT * AT_ONCE, cache_modifier=".cg")
    if is_last:
        _finish(
            total, total_up, row, live, column, there, tile, bias, out, next_norm, scaled, squares, eps, SIZE_OUT,
            SIZE_IN, NORMS, GATES, ADDS, BIASED, SUMS, MOST
        )


@triton.jit
def _finish(
    total, total_up, row, live, column, there, tile, bias, out, next_norm, scaled, squares, eps, SIZE_OUT,
    SIZE_IN: tl.constexpr, NORMS: tl.constexpr, GATES: tl.constexpr, ADDS: tl.constexpr, BIASED: tl.constexpr,
    SUMS: tl.constexpr, MOST: tl.constexpr,
):
    """What stands behind the product, of a tile [columns, rows]: the norm's factor, bias, gate, residual."""
    if NORMS:
        part = tl.arange(0, SUMS)[:, None] * MOST
        scale = tl.rsqrt(tl.sum(tl.load(squares + part + row[None, :]), 0) / SIZE_IN + eps)
        total *= scale[None, :]
        total_up *= scale[None, :]
    if BIASED:
        total += tl.load(bias + column, mask=there, other=0.0).to(tl.float32)[:, None]
    if GATES:
        if BIASED:
            total_up += tl.load(bias + SIZE_OUT + column, mask=there, other=0.0).to(tl.float32)[:, None]
        total = total / (1.0 + tl.exp(-total)) * total_up
    place = row[None, :] * SIZE_OUT + column[:, None]
    known = live[None, :] & there[:, None]
    if ADDS:
        total += tl.load(out + place, mask=known, other=0.0).to(tl.float32)
        rounded = total.to(out.dtype.element_ty).to(tl.float32)
        tl.store(squares + tile * MOST + row, tl.sum(tl.where(known, rounded * rounded, 0.0), 0))
        norm = tl.load(next_norm + column, mask=there, other=0.0).to(tl.float32)
        tl.store(scaled + place, (rounded * norm[:, None]).to(scaled.dtype.element_ty), mask=known)
    tl.store(out + place, total.to(out.dtype.element_ty), mask=known)


class FewRowProducts:
    """Owner of what its kernels leave for each other: only products into the residual, `columns` wide, are split."""

    def __init__(self, columns: int, eps: float, card: Card, device: torch.device) -> None:
        self._eps = eps
        self._card = card
        num_tiles = triton.cdiv(columns, _COLUMNS)
        size = num_tiles * _COLUMNS * MOST_ROWS * _MOST_SPLITS
        self._partial = torch.empty(size, dtype=torch.float32, device=device)
        self._counters = torch.zeros(num_tiles, dtype=torch.int32, device=device)

    @staticmethod
    def fits(matrix: Tensor) -> bool:
        return matrix.shape[1] % 16 == 0 and bool(matrix.is_contiguous())

    def enter(
        self, tokens: Tensor, chosen: Tensor, embedding: Tensor, factor: float, norm: Tensor, residual: Residual
    ) -> None:
        """The residual is what `kernels.enter` makes of these; `norm`: the weights of the one that comes first."""
        enter(tokens, chosen, embedding, factor, residual.hidden, (norm, residual.scaled, residual.squares))

    def normed_product(self, residual: Residual, matrix: Tensor, bias: Tensor | None, out: Tensor) -> None:
        """`out` [rows, out] = the normed residual times `matrix`."""
        self._run(residual.scaled, residual, None, matrix, bias, out, len(matrix), NORMS=True)

    def gated_product(self, residual: Residual, matrix: Tensor, bias: Tensor | None, out: Tensor) -> None:
        """`out` [rows, out] = SiLU of the normed residual times the first half of `matrix` [2 * out, in], times
        that with the second half.
        """
        self._run(residual.scaled, residual, None, matrix, bias, out, len(matrix) // 2, NORMS=True, GATES=True)

    def add_product(
        self, x: Tensor, matrix: Tensor, bias: Tensor | None, residual: Residual, next_norm: Tensor
    ) -> None:
        """The residual += `x` [rows, in] times `matrix`. `next_norm`: the weights of the norm that comes after it."""
        self._run(x, residual, next_norm, matrix, bias, residual.hidden, len(matrix), ADDS=True)

    def _run(
        self, x: Tensor, residual: Residual, next_norm: Tensor | None, matrix: Tensor, bias: Tensor | None,
        out: Tensor, size_out: int, *, NORMS: bool = False, GATES: bool = False, ADDS: bool = False,
    ) -> None:
        kinds = {"NORMS": NORMS, "GATES": GATES, "ADDS": ADDS, "BIASED": bias is not None}
        rows, size_in = len(out), matrix.shape[1]
        bias_or_any, next_norm = (matrix if bias is None else bias), (x if next_norm is None else next_norm)
        if rows == 1:
            at_once, width, warps = _one_row_plan(size_in, gates=GATES)
            launch(
                _one_row, (triton.cdiv(size_out, at_once),),
                x, residual.hidden, matrix, bias_or_any, out, next_norm, residual.scaled, self._eps, size_out,
                SIZE_IN=size_in, ROWS=at_once, WIDTH=width, EVEN=size_out % at_once == 0 and size_in % width == 0,
                num_warps=warps, **kinds,
            )
            return
        at_once = max(16, triton.next_power_of_2(rows))
        plan = _few_rows_plan(rows, size_out, size_in, gates=GATES, adds=ADDS)
        stage_bytes = ((2 if GATES else 1) * _COLUMNS + at_once) * plan.tile_in * matrix.element_size()
        launch(
            _few_rows, (triton.cdiv(size_out, _COLUMNS), plan.splits),
            x, matrix, bias_or_any, out, next_norm, residual.scaled, residual.squares,
            self._partial, self._counters, rows, self._eps, size_out, SIZE_IN=size_in,
            EVEN=size_out % _COLUMNS == 0, AT_ONCE=at_once, TILE_OUT=_COLUMNS,
            TILE_IN=plan.tile_in, SPLITS=plan.splits, SUMS=len(residual.squares), MOST=MOST_ROWS, num_warps=4,
            num_stages=self._card.num_stages(plan.stages, stage_bytes), **kinds,
        )


def _one_row_plan(size_in: int, *, gates: bool) -> tuple[int, int, int]:
    """(rows of weights a program, numbers of each at once, warps), as they were fastest on one H200."""
    width = min(1024, triton.next_power_of_2(size_in))
    return (2, width, 2) if gates else (4, width, 4)


@dataclass(frozen=True, slots=True)
class _Plan:
    tile_in: int
    splits: int
    stages: int


def _few_rows_plan(rows: int, size_out: int, size_in: int, *, gates: bool, adds: bool) -> _Plan:
    """As they were fastest on one H200: a device is filled by some 128 programs, however few columns there are."""
    tile_in = next(size for size in (128, 64, 32, 16) if size_in % size == 0)
    if adds:
        wanted = _MOST_SPLITS if size_out < 64 * _COLUMNS else 2
        return _Plan(tile_in, next(each for each in (wanted, 2, 1) if size_in % (tile_in * each) == 0), 5)
    if gates and rows > 16:
        return _Plan(min(tile_in, 64), 1, 3 if size_out >= 1 << 13 else 5)
    return _Plan(tile_in, 1, 3 if size_out >= 1 << 15 else 5)
