"""The rows of a step as `FlatStep`: counted by numpy, and brought to the device in two pieces, whatever their number.

On the engine's thread. A step of prompts is waited for by the device, so none of this may go token by token in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.backends.torch.attention import Prompts, Singles, Span
from engine.backends.torch.decoder import FlatStep
from engine.backends.torch.step_count import RowKind, StepCount, bounds_of, ranges
from engine.batch import BatchRow

ALIGNED_BYTES = 16


def flatten(rows: Sequence[BatchRow], device: torch.device, *, for_kernels: bool) -> FlatStep:
    """With `for_kernels`, single tokens and prompts apart, as kernels want them; `spans` are then of prompts alone."""
    count = StepCount.of(rows)
    cargo = _Cargo()
    token_ids, positions, blocks = cargo.add(count.token_ids), cargo.add(count.positions), cargo.add(count.blocks)
    wanted, tables = cargo.add(count.wanted), cargo.add(count.tables)
    singles = _SinglesPlan.of(count, cargo) if for_kernels else None
    prompts = _prompts_plans(count, cargo) if for_kernels else None
    cargo.bring(device)
    return FlatStep(
        token_ids=cargo[token_ids], positions=cargo[positions], blocks=cargo[blocks], wanted=cargo[wanted],
        spans=_spans(count, cargo[tables], least_tokens=2 if for_kernels else 1),
        singles=None if singles is None else singles.made(cargo),
        prompts=None if prompts is None else [plan.made(cargo) for plan in prompts],
    )


@dataclass(slots=True)
class _Cargo:
    """Arrays that cross to the device together, those of each type in one piece; then found by what `add` gave."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)

    def add(self, array: NDArray[Any], kind: type[np.integer[Any]] = np.int64) -> int:
        self.arrays.append(array.astype(kind, copy=False))
        return len(self.arrays) - 1

    def bring(self, device: torch.device) -> None:
        self.tensors = [torch.empty(0)] * len(self.arrays)
        for kind in (np.int64, np.int32):
            of_kind = [(place, array) for place, array in enumerate(self.arrays) if array.dtype == kind]
            firsts = list(accumulate((_aligned(len(array), kind) for _, array in of_kind), initial=0))
            whole = np.zeros(firsts.pop(), kind)
            for (_, array), first in zip(of_kind, firsts, strict=True):
                whole[first : first + len(array)] = array
            there = torch.from_numpy(whole).to(device)
            for (place, array), first in zip(of_kind, firsts, strict=True):
                self.tensors[place] = there[first : first + len(array)]

    def __getitem__(self, place: int) -> Tensor:
        return self.tensors[place]


def _aligned(length: int, kind: type[np.integer[Any]]) -> int:
    """So many numbers reach to where the next may begin: kernels are compiled anew for each set of crooked pointers."""
    step = ALIGNED_BYTES // np.dtype(kind).itemsize
    return -(-length // step) * step


def _spans(count: StepCount, tables: Tensor, *, least_tokens: int) -> list[Span]:
    numbers = zip(
        *(each.tolist() for each in (count.starts, count.lengths, count.befores, count.first_blocks, count.num_blocks)),
        strict=True,
    )
    return [
        Span(start=start, num_tokens=length, num_before=before, table=tables[first : first + number])
        for start, length, before, first, number in numbers
        if length >= least_tokens
    ]


@dataclass(frozen=True, slots=True)
class _SinglesPlan:
    width: int
    tables: int
    positions: int
    slots: int

    @classmethod
    def of(cls, count: StepCount, cargo: _Cargo) -> _SinglesPlan | None:
        number = int(np.count_nonzero(count.kinds == RowKind.SINGLE))
        if not number:
            return None
        width = int(count.num_blocks[:number].max())
        tables = np.zeros((number, width), np.int32)
        for table, row in zip(tables, count.rows, strict=False):
            own = row.block_table[:width]
            table[: len(own)] = own
        return cls(
            width=width, tables=cargo.add(tables.reshape(-1), np.int32),
            positions=cargo.add(count.befores[:number], np.int32), slots=cargo.add(np.arange(number), np.int32),
        )

    def made(self, cargo: _Cargo) -> Singles:
        return Singles(
            tables=cargo[self.tables].view(-1, self.width), slots=cargo[self.slots], positions=cargo[self.positions]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PromptsPlan:
    start: int
    end: int
    query_bounds: int
    key_bounds: int
    most_queries: int
    most_keys: int
    blocks: int | None
    positions: int | None

    def made(self, cargo: _Cargo) -> Prompts:
        return Prompts(
            start=self.start, end=self.end, query_bounds=cargo[self.query_bounds], key_bounds=cargo[self.key_bounds],
            most_queries=self.most_queries, most_keys=self.most_keys,
            blocks=None if self.blocks is None else cargo[self.blocks],
            positions=None if self.positions is None else cargo[self.positions],
        )


def _prompts_plans(count: StepCount, cargo: _Cargo) -> list[_PromptsPlan] | None:
    """Those that begin, and those that go on, each a launch a layer. None where there are none."""
    begin, go_on = np.searchsorted(count.kinds, [RowKind.BEGINS, RowKind.GOES_ON]).tolist()
    runs = ((slice(begin, go_on), False), (slice(go_on, None), True))
    return [
        _prompts_plan(count, rows, cargo, goes_on=goes_on) for rows, goes_on in runs if len(count.lengths[rows])
    ] or None


def _prompts_plan(count: StepCount, rows: slice, cargo: _Cargo, *, goes_on: bool) -> _PromptsPlan:
    lengths, ends = count.lengths[rows], count.ends[rows]
    start, nothing = int(count.starts[rows][0]), np.zeros_like(ends)
    return _PromptsPlan(
        start=start, end=start + int(lengths.sum()), query_bounds=cargo.add(bounds_of(lengths), np.int32),
        key_bounds=cargo.add(bounds_of(ends), np.int32), most_queries=int(lengths.max()), most_keys=int(ends.max()),
        blocks=cargo.add(count.blocks_of(nothing, ends, rows)) if goes_on else None,
        positions=cargo.add(ranges(nothing, ends)) if goes_on else None,
    )
