"""Steps with prompts on CUDA that the device is done with sooner than their kernels are launched one by one: each is a
graph of all that `Decoder.forward` does. Those of single tokens alone are in graph_decoder.py. On the engine's thread.

A graph's sizes are for good, so one is captured for each of `_shapes`, while nothing is asked; until then, and beyond
them, steps are launched piece by piece. What a step is short of is made up by tokens that lie in a block of nobody's.
Every row is attended as a prompt, a single token as one that goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import structlog
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.backends.torch.attention import Prompts
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.decoder import Decoder, FlatStep
from engine.backends.torch.graph_capture import GraphCapture
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.step_count import StepCount, bounds_of, ranges
from engine.batch import BatchRow

TOKENS: Final = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
KEYS: Final = (1024, 4096, 16384)       # that are read from the cache, of all rows together
MOST_TOKENS_OVER_KEYS: Final = 1024
MOST_ROWS: Final = 14
NUM_BOUNDS: Final = MOST_ROWS + 2       # of rows, and of what makes up for the rest
SHARE_OF_MEMORY: Final = 4              # graphs keep what they work in, as much as this part of a step's most tokens
LAUNCHING_S: Final = 0.015              # of a step's kernels one by one, about, on a slow core
FLOPS_A_PROCESSOR: Final = 5e12         # of an H200, in bf16

logger = structlog.get_logger(__name__)


class PromptShape(NamedTuple):
    num_tokens: int
    num_keys: int                       # 0: all rows begin, and see the keys of this step alone

    def holds(self, num_tokens: int, num_keys: int) -> bool:
        return num_tokens <= self.num_tokens and num_keys <= self.num_keys and bool(num_keys) is bool(self.num_keys)


class FixedStep:
    """A `FlatStep` of one shape, whose tensors stay where they are on the device."""

    def __init__(self, shape: PromptShape, spare_block: int, device: torch.device) -> None:
        self._shape, self._spare_block = shape, spare_block
        tokens, keys, bounds = shape.num_tokens, shape.num_keys, NUM_BOUNDS // 2        # two int32 in an int64
        sizes = [tokens, tokens, tokens, MOST_ROWS, bounds, bounds, keys, keys]
        self._here = torch.zeros(sum(sizes), dtype=torch.int64)
        self._there = self._here.to(device)
        self._parts = [part.numpy() for part in self._here.split(sizes)]
        token_ids, positions, blocks, wanted, queries_at, keys_at, key_blocks, key_positions = self._there.split(sizes)
        self.step = FlatStep(
            token_ids=token_ids, positions=positions, blocks=blocks, wanted=wanted, spans=(), prompts=[Prompts(
                start=0, end=tokens, query_bounds=queries_at.view(torch.int32), key_bounds=keys_at.view(torch.int32),
                most_queries=tokens, most_keys=keys or tokens, blocks=key_blocks if keys else None,
                positions=key_positions if keys else None,
            )],
        )

    def bring(self, rows: Sequence[BatchRow]) -> None:
        """`rows`: as many tokens and keys as the shape holds, at most."""
        count, (num_tokens, num_keys) = StepCount.of(rows), self._shape
        token_ids, positions, blocks, wanted, queries_at, keys_at, key_blocks, key_positions = self._parts
        _fill(token_ids, count.token_ids, 0)
        _fill(positions, count.positions, 0)
        _fill(blocks, count.blocks, self._spare_block)
        _fill(wanted, count.wanted, 0)
        _fill(queries_at.view(np.int32), bounds_of(count.lengths), num_tokens)
        if num_keys:
            key_bounds, nothing = bounds_of(count.ends), np.zeros_like(count.ends)
            _fill(keys_at.view(np.int32), key_bounds, key_bounds[-1])       # what makes up sees nothing, and is zero
            _fill(key_blocks, count.blocks_of(nothing, count.ends), self._spare_block)
            _fill(key_positions, ranges(nothing, count.ends), 0)
        else:
            keys_at[:] = queries_at
        self._there.copy_(self._here)


class PromptGraphs:
    def __init__(self, decoder: Decoder, kv: PagedKv, capture: GraphCapture, *, max_num_batched_tokens: int) -> None:
        config, device = decoder.config, decoder.weights.embedding.device
        self._decoder, self._kv, self._capture = decoder, kv, capture
        self._logits = torch.empty(MOST_ROWS, config.vocab_size, dtype=torch.float32, device=device)
        flops = FLOPS_A_PROCESSOR * torch.cuda.get_device_properties(device).multi_processor_count
        most_tokens = int(LAUNCHING_S * flops / _flop_a_token(config))
        self._to_prepare: list[PromptShape] = []
        if config.attention_softcap is None:        # else prompts are attended one by one
            self._to_prepare = list(_shapes(most_tokens, max_num_batched_tokens // SHARE_OF_MEMORY))
        self._captured: dict[PromptShape, tuple[FixedStep, Callable[[], None]]] = {}      # they launch it

    def forward(self, rows: Sequence[BatchRow]) -> Tensor | None:
        """float32 logits [wanted, vocab], valid until the next call. None: no graph holds these rows."""
        num_wanted, num_tokens = sum(row.num_sampled_from for row in rows), sum(len(row.token_ids) for row in rows)
        if max(len(rows), num_wanted) > MOST_ROWS:
            return None
        num_before = sum(row.position for row in rows)
        num_keys = num_before + num_tokens if num_before else 0
        shape = min((shape for shape in self._captured if shape.holds(num_tokens, num_keys)), default=None)
        if shape is None:
            return None
        step, launch = self._captured[shape]
        step.bring(rows)
        launch()
        return self._logits[:num_wanted]

    def prepare(self) -> bool:
        """Capture one more. False: there are none left."""
        if not self._to_prepare:
            return False
        begun_s, shape = time.monotonic(), self._to_prepare.pop(0)
        fixed = FixedStep(shape, self._kv.num_blocks - 1, self._logits.device)
        fixed.bring([])
        self._captured[shape] = fixed, self._capture(lambda: self._compute(fixed.step))
        logger.debug("prompt_graph_captured", **shape._asdict(), seconds=round(time.monotonic() - begun_s, 3))
        return True

    def _compute(self, step: FlatStep) -> None:
        self._logits.copy_(self._decoder.forward(step, self._kv))


def _fill(part: NDArray[np.int64] | NDArray[np.int32], numbers: NDArray[np.int64], rest: int) -> None:
    part[: len(numbers)], part[len(numbers) :] = numbers, rest


def _shapes(most_tokens: int, most_in_memory: int) -> Iterator[PromptShape]:
    """Those that begin first: they are fewer. Keys that are gathered are small beside what tokens go through."""
    most_tokens = min(most_tokens, most_in_memory)
    yield from (PromptShape(tokens, 0) for tokens in TOKENS if tokens <= most_tokens)
    for keys, tokens in product(KEYS, TOKENS):
        if tokens <= min(most_tokens, keys, MOST_TOKENS_OVER_KEYS) and keys <= SHARE_OF_MEMORY * most_in_memory:
            yield PromptShape(tokens, keys)


def _flop_a_token(config: DecoderConfig) -> int:
    """Of products with matrices; those of attention come on top."""
    heads = 2 * config.num_heads + 2 * config.num_kv_heads
    return 2 * config.num_layers * config.hidden_size * (heads * config.head_dim + 3 * config.intermediate_size)
