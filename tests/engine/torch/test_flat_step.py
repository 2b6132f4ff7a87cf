"""Rows as kernels want them, whatever the order in which the scheduler gives them."""

from __future__ import annotations

import torch

from engine.backends.torch.flat_step import flatten
from engine.batch import BatchRow, SamplingInput
from engine.params import SamplingParams

CPU = torch.device("cpu")


def _row(slot: int, position: int, token_ids: list[int], blocks: list[int]) -> BatchRow:
    sampling = SamplingInput(params=SamplingParams(), seed=0, token_ids=[], num_prompt_tokens=0)
    return BatchRow(slot=slot, token_ids=token_ids, position=position, block_table=blocks, sampling=sampling)


ROWS = [
    _row(0, 0, [10, 11, 12], [4]),          # begins
    _row(1, 40, [20], [5, 6]),              # a text of which all but one token was there
    _row(2, 32, [30, 31], [7, 8]),          # goes on
    _row(3, 0, [40, 41], [9]),              # begins
    _row(4, 31, [50], [1]),
]


def test_rows_of_each_kind_lie_behind_one_another_and_prompts_are_two_launches_at_most() -> None:
    step = flatten(ROWS, CPU, for_kernels=True)
    assert step.token_ids.tolist() == [20, 50, 10, 11, 12, 40, 41, 30, 31]
    assert step.positions.tolist() == [40, 31, 0, 1, 2, 0, 1, 32, 33]
    assert step.blocks.tolist() == [6, 1, 4, 4, 4, 9, 9, 8, 8]
    assert step.singles is not None and step.prompts is not None
    assert step.singles.tables.tolist() == [[5, 6], [1, 0]]
    assert step.singles.positions.tolist() == [40, 31]
    begin, go_on = step.prompts
    assert (begin.start, begin.end, begin.query_bounds.tolist(), begin.blocks) == (2, 7, [0, 3, 5], None)
    assert (go_on.start, go_on.end, go_on.key_bounds.tolist()) == (7, 9, [0, 34])
    assert go_on.blocks is not None and go_on.blocks.tolist() == [7] * 32 + [8] * 2


def test_logits_come_in_the_order_in_which_rows_were_given() -> None:
    for for_kernels in (False, True):
        step = flatten(ROWS, CPU, for_kernels=for_kernels)
        assert step.token_ids[step.wanted].tolist() == [12, 20, 31, 41, 50]
