"""The likeliest token, in Triton: launched in the graph of a step. Tests compare it with plain torch."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# A kernel's parameters are pointers and numbers of the device's, for which there are no types.

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.backends.torch.launching import launch

LOGITS_AT_ONCE = 4096


@triton.jit
def _best_of_part(logits, bests, places, SIZE, PART: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    at = part * PART + tl.arange(0, PART)
    values = tl.load(logits + row.to(tl.int64) * SIZE + at, mask=at < SIZE, other=float("-inf"))
    best, place = tl.max(values, 0, return_indices=True)
    tl.store(bests + row * tl.num_programs(1) + part, best)
    tl.store(places + row * tl.num_programs(1) + part, part * PART + place)


@triton.jit
def _best_of_parts(bests, places, out, NUM_PARTS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    part = tl.arange(0, WIDTH)
    values = tl.load(bests + row * NUM_PARTS + part, mask=part < NUM_PARTS, other=float("-inf"))
    _, best = tl.max(values, 0, return_indices=True)
    tl.store(out + row, tl.load(places + row * NUM_PARTS + best).to(tl.int64))


class Likeliest:
    """Of float32 logits, where there are so many that one program a row would take longer than all else."""

    def __init__(self, max_rows: int, vocab_size: int, device: torch.device) -> None:
        self._num_parts = triton.cdiv(vocab_size, LOGITS_AT_ONCE)
        self._bests = torch.empty(max_rows, self._num_parts, dtype=torch.float32, device=device)
        self._places = torch.empty(max_rows, self._num_parts, dtype=torch.int32, device=device)

    def __call__(self, logits: Tensor, out: Tensor) -> None:
        """`out` int64 [rows] = the first place of the highest in each row of `logits` [rows, vocab]."""
        rows, size = logits.shape
        launch(
            _best_of_part, (rows, self._num_parts),
            logits, self._bests, self._places, size, PART=LOGITS_AT_ONCE, num_warps=4
        )
        launch(
            _best_of_parts, (rows,),
            self._bests, self._places, out, NUM_PARTS=self._num_parts,
            WIDTH=triton.next_power_of_2(self._num_parts), num_warps=1,
        )
