"""Chooses next tokens on CUDA, where a step's logits are: they would take longer to cross to the processor, and to be
looked through there, than the step itself. `GraphLayers` and `TorchBackend` have one, on the engine's thread.

What is asked of a row is what `engine.sampler` means, up to the rounding of sums. Penalties, grammars and logprobs are
for the processor; so is, rarely, a row whose nucleus is larger than what is put in order here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, compress
from operator import not_
from typing import Final

import numpy as np
import torch
import triton
from numpy.typing import NDArray
from torch import Tensor

from engine.backends.torch import draw_kernels
from engine.backends.torch.launching import launch
from engine.backends.torch.token_rows import as_far_as_right
from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.draw import uniform_at
from engine.sampler import is_plain
from engine.step_sampler import StepSampler

UNCERTAIN: Final = -1
NUM_FACTS: Final = 5            # of a draw: uniform number, temperature, top-k, top-p, min-p
NUM_FOUND: Final = 512          # tokens at least, likeliest first, that a draw may be among
_CAPACITY: Final = 2048
_PART: Final = 4096             # logits a program
_FEW_GROUPS: Final = 512        # are too few to find the likeliest by


class DeviceSampler:
    def __init__(self, max_rows: int, vocab_size: int, device: torch.device) -> None:
        self._vocab_size = vocab_size
        self._group = 64 if vocab_size >= 64 * _FEW_GROUPS else 16
        self._num_parts = triton.cdiv(vocab_size, _PART)
        self._num_groups = self._num_parts * _PART // self._group       # the last ones may be empty
        self._count = min(NUM_FOUND, max(1, triton.cdiv(vocab_size, self._group) // 2))

        def buffer(*size: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(max_rows, *size, dtype=dtype, device=device)

        self._maxima, self._sums = (buffer(self._num_groups, dtype=torch.float32) for _ in range(2))
        self._peaks, self._least = buffer(dtype=torch.float32), buffer(dtype=torch.int32)
        self._counters = buffer(dtype=torch.int32)
        self._found = buffer(_CAPACITY, dtype=torch.int64)

    def takes(self, sampling: SamplingInput | None) -> bool:
        """Whether such rows are chosen for here."""
        return sampling is None or (is_plain(sampling) and sampling.params.top_k <= self._count)

    def __call__(self, logits: Tensor, draws: Tensor, chosen: Tensor, said: Tensor) -> None:
        """`logits` float32 [rows, vocab]; `draws` float64 [NUM_FACTS, any], the rows' first. `chosen` int64 [rows] are
        tokens, and so is `said`, or UNCERTAIN where the processor has to look.
        """
        rows, size, stride = len(logits), self._vocab_size, draws.stride(0)
        width, parts = triton.next_power_of_2(self._num_groups), (rows, self._num_parts)
        found = self._found[:rows]
        launch(
            draw_kernels.group_maxima, parts, logits, self._maxima, size, GROUP=self._group, PART=_PART, num_warps=4,
        )
        launch(
            draw_kernels.thresholds, (rows,),
            self._maxima, draws, self._peaks, self._least, self._counters, found, stride, self._num_groups,
            WIDTH=width, COUNT=self._count, CAPACITY=_CAPACITY, num_warps=8,
        )
        launch(
            draw_kernels.weigh, parts,
            logits, self._peaks, self._least, draws, self._sums, self._counters, found, stride, size,
            GROUP=self._group, PART=_PART, CAPACITY=_CAPACITY, num_warps=4,
        )
        ordered = found.sort(dim=1, descending=True).values
        launch(
            draw_kernels.choose, (rows,),
            logits, self._peaks, draws, self._sums, self._counters, ordered, chosen, said, stride, size,
            self._num_groups, WIDTH=width, GROUP=self._group, CAPACITY=_CAPACITY, num_warps=8,
        )

    def sample(
        self, logits: Tensor, rows: Sequence[BatchRow], others: StepSampler
    ) -> list[tuple[SampledToken, ...]]:
        """Each row's next tokens. `others` is given the logits of those rows that are not taken or not certain here."""
        ends = list(accumulate(row.num_sampled_from for row in rows))
        pieces = [slice(end - row.num_sampled_from, end) for row, end in zip(rows, ends, strict=True)]
        said = self.choose(logits, rows)
        is_here = [
            self.takes(row.sampling) and UNCERTAIN not in said[piece] for row, piece in zip(rows, pieces, strict=True)
        ]
        left = list(compress(rows, map(not_, is_here)))
        their_logits = torch.cat([logits[piece] for piece in compress(pieces, map(not_, is_here))] or [logits[:0]])
        theirs = iter(others.sample(their_logits.float().cpu().numpy(), left) if left else ())
        return [
            as_far_as_right(row, said[piece]) if here else next(theirs)
            for row, piece, here in zip(rows, pieces, is_here, strict=True)
        ]

    def choose(self, logits: Tensor, rows: Sequence[BatchRow]) -> list[int]:
        """A token, or UNCERTAIN, for each row of `logits`, which are those after each row's last tokens. It waits."""
        said = []
        draws = torch.from_numpy(draws_of(rows)).to(logits.device)
        for first in range(0, len(logits), len(self._peaks)):
            some = logits[first : first + len(self._peaks)].float().contiguous()
            chosen, certain = (torch.empty(len(some), dtype=torch.int64, device=logits.device) for _ in range(2))
            self(some, draws[:, first : first + len(some)].contiguous(), chosen, certain)
            said.append(certain)
        return torch.cat(said).tolist() if said else []


def draws_of(rows: Iterable[BatchRow], num_ahead: int = 0) -> NDArray[np.float64]:
    """[NUM_FACTS, sum of num_sampled_from], for tokens so many places further on than the rows' next."""
    facts: list[tuple[float, ...]] = []
    for row in rows:
        sampling = row.sampling
        if sampling is None:
            continue
        params = sampling.params
        if params.is_greedy:
            facts += [(0.0,) * NUM_FACTS] * row.num_sampled_from
            continue
        place = len(sampling.token_ids) - sampling.num_prompt_tokens + num_ahead
        facts += [
            (uniform_at(sampling.seed, place + more), params.temperature, params.top_k, params.top_p, params.min_p)
            for more in range(row.num_sampled_from)
        ]
    return np.ascontiguousarray(np.array(facts, np.float64).reshape(-1, NUM_FACTS).T)
