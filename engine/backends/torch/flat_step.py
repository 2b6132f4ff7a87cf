"""The rows of a step as `FlatStep`: counted by numpy, and brought to the device in two pieces, whatever their number.

On the engine's thread. A step of prompts is waited for by the device, so none of this may go token by token in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, groupby
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.backends.torch.attention import Prompts, Singles, Span
from engine.backends.torch.decoder import FlatStep
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.batch import BatchRow

ALIGNED_BYTES = 16
MAX_RUNS = 4                # of prompts that are fresh, or go on: each is a launch a layer

Numbers: TypeAlias = NDArray[np.int64]


def flatten(rows: Sequence[BatchRow], device: torch.device, *, for_kernels: bool) -> FlatStep:
    """With `for_kernels`, single tokens and prompts apart, as kernels want them; `spans` are then of prompts alone."""
    count = _Count.of(rows)
    cargo = _Cargo()
    token_ids = cargo.add(np.fromiter(chain.from_iterable(row.token_ids for row in rows), np.int64))
    positions, blocks = cargo.add(count.positions), cargo.add(count.blocks_of(count.befores, count.lengths))
    wanted = cargo.add(_ranges(count.starts + count.lengths - count.num_wanted, count.num_wanted))
    tables = cargo.add(count.tables)
    singles = _SinglesPlan.of(rows, count, cargo) if for_kernels else None
    prompts = _prompts_plans(count, cargo) if for_kernels else None
    cargo.bring(device)
    return FlatStep(
        token_ids=cargo[token_ids], positions=cargo[positions], blocks=cargo[blocks], wanted=cargo[wanted],
        spans=_spans(count, cargo[tables], least_tokens=2 if for_kernels else 1),
        singles=None if singles is None else singles.made(cargo),
        prompts=None if prompts is None else [plan.made(cargo) for plan in prompts],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Of each row, [rows] but for `tables`."""

    lengths: Numbers            # tokens in this step
    befores: Numbers            # tokens before them that have KV
    starts: Numbers             # of its tokens, in the step
    num_wanted: Numbers         # of its last tokens, after which logits are wanted
    tables: Numbers             # blocks of all rows, behind one another
    first_blocks: Numbers       # where its own begin there
    num_blocks: Numbers

    @classmethod
    def of(cls, rows: Sequence[BatchRow]) -> _Count:
        lengths, befores, num_wanted = np.array(
            [(len(row.token_ids), row.position, row.num_sampled_from) for row in rows], np.int64
        ).T
        num_blocks = -(-(befores + lengths) // BLOCK_SIZE)
        own = (row.block_table[:number] for row, number in zip(rows, num_blocks.tolist(), strict=True))
        return cls(
            lengths=lengths, befores=befores, starts=_firsts(lengths), num_wanted=num_wanted,
            tables=np.fromiter(chain.from_iterable(own), np.int64), first_blocks=_firsts(num_blocks),
            num_blocks=num_blocks,
        )

    @property
    def ends(self) -> Numbers:
        return self.befores + self.lengths

    @property
    def positions(self) -> Numbers:
        return _ranges(self.befores, self.lengths)

    def blocks_of(self, firsts: Numbers, numbers: Numbers, rows: slice = slice(None)) -> Numbers:
        """The block of each of the tokens `firsts` to `firsts` + `numbers` of these rows' sequences."""
        places = np.repeat(self.first_blocks[rows], numbers) + _ranges(firsts, numbers) // BLOCK_SIZE
        blocks: Numbers = self.tables[places]
        return blocks


def _firsts(numbers: Numbers) -> Numbers:
    """Where each piece begins, if pieces of these sizes lie behind one another."""
    firsts: Numbers = np.cumsum(numbers) - numbers
    return firsts


def _ranges(firsts: Numbers, numbers: Numbers) -> Numbers:
    """`firsts[i]` to `firsts[i] + numbers[i]`, one behind the other."""
    ranges: Numbers = np.arange(numbers.sum()) + np.repeat(firsts - _firsts(numbers), numbers)
    return ranges


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


def _spans(count: _Count, tables: Tensor, *, least_tokens: int) -> list[Span]:
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
    rows: int
    tables: int
    positions: int
    slots: int

    @classmethod
    def of(cls, rows: Sequence[BatchRow], count: _Count, cargo: _Cargo) -> _SinglesPlan | None:
        [single] = np.nonzero(count.lengths == 1)
        if not len(single):
            return None
        width = int(count.num_blocks[single].max())
        tables = np.zeros((len(single), width), np.int32)
        for row, index in enumerate(single.tolist()):
            own = rows[index].block_table[:width]
            tables[row, : len(own)] = own
        return cls(
            rows=cargo.add(count.starts[single]), tables=cargo.add(tables.reshape(-1), np.int32),
            positions=cargo.add(count.befores[single], np.int32), slots=cargo.add(np.arange(len(single)), np.int32),
        )

    def made(self, cargo: _Cargo) -> Singles:
        rows = cargo[self.rows]
        return Singles(
            rows=rows, tables=cargo[self.tables].view(len(rows), -1), slots=cargo[self.slots],
            positions=cargo[self.positions],
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


def _prompts_plans(count: _Count, cargo: _Cargo) -> list[_PromptsPlan] | None:
    """Runs of prompts that begin, and of those that go on. None where single tokens stand between prompts, or there are
    none. The scheduler puts single tokens first.
    """
    [prompts] = np.nonzero(count.lengths > 1)
    if not len(prompts) or prompts[0] != len(count.lengths) - len(prompts):
        return None
    runs = [(goes_on, list(run)) for goes_on, run in groupby(prompts.tolist(), key=lambda i: bool(count.befores[i]))]
    if len(runs) > MAX_RUNS:
        runs = [(True, prompts.tolist())]
    return [_prompts_plan(count, slice(run[0], run[-1] + 1), cargo, goes_on=goes_on) for goes_on, run in runs]


def _prompts_plan(count: _Count, rows: slice, cargo: _Cargo, *, goes_on: bool) -> _PromptsPlan:
    lengths, ends = count.lengths[rows], count.ends[rows]
    start, nothing = int(count.starts[rows][0]), np.zeros_like(ends)
    return _PromptsPlan(
        start=start, end=start + int(lengths.sum()), query_bounds=cargo.add(_bounds(lengths), np.int32),
        key_bounds=cargo.add(_bounds(ends), np.int32), most_queries=int(lengths.max()), most_keys=int(ends.max()),
        blocks=cargo.add(count.blocks_of(nothing, ends, rows)) if goes_on else None,
        positions=cargo.add(_ranges(nothing, ends)) if goes_on else None,
    )


def _bounds(numbers: Numbers) -> Numbers:
    return np.concatenate(([0], np.cumsum(numbers)))
