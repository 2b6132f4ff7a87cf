"""The rows of a step in numbers, counted by numpy: where each of their tokens lies, in the step and in the cache.

They come in the order of their kinds, so that those of each lie behind one another and are attended in one launch,
however the scheduler mixed them. On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.backends.torch.model_config import BLOCK_SIZE
from engine.batch import BatchRow

Numbers: TypeAlias = NDArray[np.int64]


class RowKind(IntEnum):
    SINGLE = 0                  # one token, whatever lies before it
    BEGINS = 1                  # several, the first of their sequence
    GOES_ON = 2                 # several, and what lies before them is read from the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCount:
    """Of each row, [rows] but for `tables`; in the order in which they are computed."""

    rows: Sequence[BatchRow]
    kinds: Numbers              # RowKind, ascending
    given: Numbers              # where each stood
    lengths: Numbers            # tokens in this step
    befores: Numbers            # tokens before them that have KV
    starts: Numbers             # of its tokens, in the step
    num_wanted: Numbers         # of its last tokens, after which logits are wanted
    tables: Numbers             # blocks of all rows, behind one another
    first_blocks: Numbers       # where its own begin there
    num_blocks: Numbers

    @classmethod
    def of(cls, rows: Sequence[BatchRow]) -> StepCount:
        facts = np.array([(len(row.token_ids), row.position, row.num_sampled_from) for row in rows], np.int64)
        facts = facts.reshape(len(rows), 3)
        kinds = np.where(facts[:, 0] == 1, RowKind.SINGLE, np.where(facts[:, 1] == 0, RowKind.BEGINS, RowKind.GOES_ON))
        given = np.argsort(kinds, kind="stable")
        rows = [rows[place] for place in given.tolist()]
        lengths, befores, num_wanted = facts[given].T
        num_blocks = -(-(befores + lengths) // BLOCK_SIZE)
        own = (row.block_table[:number] for row, number in zip(rows, num_blocks.tolist(), strict=True))
        return cls(
            rows=rows, kinds=kinds[given], given=given, lengths=lengths, befores=befores, starts=firsts_of(lengths),
            num_wanted=num_wanted, tables=np.fromiter(chain.from_iterable(own), np.int64),
            first_blocks=firsts_of(num_blocks), num_blocks=num_blocks,
        )

    @property
    def ends(self) -> Numbers:
        return self.befores + self.lengths

    @property
    def token_ids(self) -> Numbers:
        return np.fromiter(chain.from_iterable(row.token_ids for row in self.rows), np.int64)

    @property
    def positions(self) -> Numbers:
        return ranges(self.befores, self.lengths)

    @property
    def blocks(self) -> Numbers:
        """Of each token."""
        return self.blocks_of(self.befores, self.lengths)

    @property
    def wanted(self) -> Numbers:
        """The tokens after which logits are wanted, by the order in which their rows were given."""
        firsts, numbers = np.empty_like(self.starts), np.empty_like(self.num_wanted)
        firsts[self.given], numbers[self.given] = self.starts + self.lengths - self.num_wanted, self.num_wanted
        return ranges(firsts, numbers)

    def blocks_of(self, firsts: Numbers, numbers: Numbers, rows: slice = slice(None)) -> Numbers:
        """The block of each of the tokens `firsts` to `firsts` + `numbers` of these rows' sequences."""
        places = np.repeat(self.first_blocks[rows], numbers) + ranges(firsts, numbers) // BLOCK_SIZE
        blocks: Numbers = self.tables[places]
        return blocks


def firsts_of(numbers: Numbers) -> Numbers:
    """Where each piece begins, if pieces of these sizes lie behind one another."""
    firsts: Numbers = np.cumsum(numbers) - numbers
    return firsts


def bounds_of(numbers: Numbers) -> Numbers:
    """Likewise, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(numbers)))


def ranges(firsts: Numbers, numbers: Numbers) -> Numbers:
    """`firsts[i]` to `firsts[i] + numbers[i]`, one behind the other."""
    found: Numbers = np.arange(numbers.sum()) + np.repeat(firsts - firsts_of(numbers), numbers)
    return found
