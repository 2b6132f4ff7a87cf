"""torch as a `Backend`: models in safetensors, on CUDA, MPS or the processor. All of it runs on the engine's thread.

A block id is an address in `PagedKv`: nothing moves when a sequence leaves, and shared prefixes are read in place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.backends.base import BackendInfo, Tokenizer
from engine.backends.torch.attention import Prompts, Singles, Span
from engine.backends.torch.config import DecoderConfig, read_config
from engine.backends.torch.decoder import Decoder, FlatStep
from engine.backends.torch.operations import CudaOperations, PlainOperations, fits_kernels
from engine.backends.torch.paged_kv import BLOCK_SIZE, PagedKv
from engine.backends.torch.tokenizer import FolderTokenizer
from engine.backends.torch.weights import Weights, read_weights
from engine.batch import Batch, BatchRow, SampledToken, StepOutput
from engine.disk_cache.blocks import DiskBlocks
from engine.errors import EngineFailed
from engine.proposer import Proposer
from engine.step_sampler import StepSampler

if TYPE_CHECKING:
    from engine.backends.torch.graph_decoder import GraphDecoder


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchConfig:
    """What the memory plan decided."""

    folder: Path
    device: str                     # "cuda:0", "mps", "cpu"
    dtype: str                      # "bfloat16", "float32"
    num_blocks: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    num_threads: int = 0            # of the processor; 0: as torch likes
    speculate: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """What lies in the folder, on the device."""

    config: DecoderConfig
    weights: Weights
    tokenizer: Tokenizer


def load_model(config: TorchConfig) -> LoadedModel:
    """Raises ModelLoadError."""
    described = read_config(config.folder)
    tokenizer = FolderTokenizer(
        config.folder, vocab_size=described.vocab_size, eos_token_ids=described.eos_token_ids
    )
    weights = read_weights(config.folder, described, getattr(torch, config.dtype), torch.device(config.device))
    return LoadedModel(config=described, weights=weights, tokenizer=tokenizer)


class _StepInterrupted(Exception):
    pass


class TorchBackend:
    """Raises ModelLoadError when it cannot be made."""

    def __init__(self, config: TorchConfig, load: Callable[[TorchConfig], LoadedModel] = load_model) -> None:
        if config.num_threads:
            torch.set_num_threads(config.num_threads)
        self._config = config
        self._device = torch.device(config.device)
        model = load(config)
        described, self._tokenizer = model.config, model.tokenizer
        self._has_kernels = self._device.type == "cuda" and fits_kernels(described)
        operations = CudaOperations(described) if self._has_kernels else PlainOperations(described)
        self._decoder: Decoder | None = Decoder(
            described, model.weights, max_model_len=config.max_model_len, operations=operations
        )
        # One block more than sequences get: rows that only fill up a graph work there.
        self._kv: PagedKv | None = PagedKv(
            described, config.num_blocks + 1, getattr(torch, config.dtype), self._device
        )
        self._graphs = self._make_graphs(self._decoder, self._kv)
        self._sampler = StepSampler(described.vocab_size)
        self._is_interrupted = threading.Event()
        self._lengths: dict[int, int] = {}          # tokens with KV, by running slot
        self._info = self._describe(described, model.weights.num_bytes, self._kv.num_bytes)

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def held_bytes(self) -> int:
        return self._info.kv_bytes

    @property
    def proposers(self) -> tuple[Proposer, ...]:
        return ()

    @property
    def disk(self) -> DiskBlocks | None:
        return None

    def execute(self, batch: Batch) -> StepOutput:
        for release in batch.released:
            del self._lengths[release.slot]
            if self._graphs is not None:
                self._graphs.forget(release.slot)
        if not batch.rows:
            return StepOutput([])
        if self._decoder is None or self._kv is None:
            raise EngineFailed("The model was unloaded. Load it again.")
        self._enter(batch.rows, self._kv)
        try:
            tokens = self._choose(batch.rows, self._decoder, self._kv)
        except _StepInterrupted:
            return StepOutput([], was_interrupted=True)
        for row, chosen in zip(batch.rows, tokens, strict=True):
            self._lengths[row.slot] = row.num_tokens_after(len(chosen))
        return StepOutput(tokens)

    def interrupt(self) -> None:
        self._is_interrupted.set()

    def resume(self) -> None:
        self._is_interrupted.clear()

    def check_integrity(self) -> None:
        if self._lengths:
            raise EngineFailed(f"Slots {sorted(self._lengths)} are held though nothing runs. Load the model again.")

    def close(self) -> None:
        self._decoder = self._kv = self._graphs = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _make_graphs(self, decoder: Decoder, kv: PagedKv) -> GraphDecoder | None:
        if not self._has_kernels:
            return None
        from engine.backends.torch.graph_decoder import GraphDecoder  # noqa: PLC0415 - Triton is CUDA's

        return GraphDecoder(
            decoder, kv, max_rows=self._config.max_num_seqs, max_model_len=self._config.max_model_len
        )

    def _choose(
        self, rows: Sequence[BatchRow], decoder: Decoder, kv: PagedKv
    ) -> list[tuple[SampledToken, ...]]:
        """Where all are greedy and ask for nothing more, the device chooses, and only ids come back."""
        is_greedy = all(_is_plainly_greedy(row) for row in rows)
        if self._graphs is not None and self._graphs.takes(rows):       # over before it could be interrupted
            if is_greedy:
                return [(SampledToken(token_id),) for token_id in self._graphs.likeliest(rows)]
            logits = self._graphs.forward(rows)
        else:
            logits = decoder.forward(self._flatten(rows), kv, self._check)
        if is_greedy:
            best = iter(logits.argmax(dim=-1).tolist())
            return [(SampledToken(next(best)),) if row.sampling is not None else () for row in rows]
        return self._sampler.sample(logits.cpu().numpy(), rows)

    def _check(self) -> None:
        if self._is_interrupted.is_set():
            raise _StepInterrupted

    def _enter(self, rows: Sequence[BatchRow], kv: PagedKv) -> None:
        """Sequences that were just admitted: whole blocks are read where they lie, a beginning is copied."""
        copies = []
        for row in rows:
            if row.slot not in self._lengths:
                num_whole, num_more = divmod(row.position, BLOCK_SIZE)
                if num_more:
                    copies.append((row.restored_blocks[num_whole], row.block_table[num_whole], num_more))
            elif self._lengths[row.slot] != row.position:
                length = self._lengths[row.slot]
                raise EngineFailed(f"Slot {row.slot} goes on at {row.position}, but has KV for {length} tokens.")
            self._lengths[row.slot] = row.position
        kv.copy_beginnings(copies)

    def _flatten(self, rows: Sequence[BatchRow]) -> FlatStep:
        """One tensor of each kind goes to the device, whatever the number of rows."""
        token_ids: list[int] = []
        positions: list[int] = []
        blocks: list[int] = []
        wanted: list[int] = []
        tables: list[int] = []
        for row in rows:
            start, end = row.position, row.position + len(row.token_ids)
            token_ids += row.token_ids
            positions += range(start, end)
            blocks += [row.block_table[position // BLOCK_SIZE] for position in range(start, end)]
            tables += row.block_table[: -(-end // BLOCK_SIZE)]
            wanted += range(len(token_ids) - row.num_sampled_from, len(token_ids))
        numbers = torch.tensor([*token_ids, *positions, *blocks, *wanted, *tables], device=self._device)
        sizes = [len(token_ids), len(positions), len(blocks), len(wanted), len(tables)]
        ids, at, where, wanted_at, all_tables = numbers.split(sizes)
        return FlatStep(
            token_ids=ids, positions=at, blocks=where, wanted=wanted_at,
            spans=_spans(rows, all_tables), singles=self._singles(rows) if self._has_kernels else None,
            prompts=self._prompts(rows) if self._has_kernels else None,
        )

    def _singles(self, rows: Sequence[BatchRow]) -> Singles | None:
        starts = accumulate((len(row.token_ids) for row in rows), initial=0)
        found = [(row, start) for row, start in zip(rows, starts, strict=False) if len(row.token_ids) == 1]
        if not found:
            return None
        width = max(len(row.block_table) for row, _ in found)
        tables = [row.block_table + [0] * (width - len(row.block_table)) for row, _ in found]
        return Singles(
            rows=torch.tensor([start for _, start in found], device=self._device),
            tables=torch.tensor(tables, dtype=torch.int32, device=self._device),
            slots=torch.arange(len(found), dtype=torch.int32, device=self._device),
            positions=torch.tensor([row.position for row, _ in found], dtype=torch.int32, device=self._device),
        )

    def _prompts(self, rows: Sequence[BatchRow]) -> Prompts | None:
        """None where single tokens stand between them, or there are none. The scheduler puts single tokens first."""
        index = next((i for i, row in enumerate(rows) if len(row.token_ids) > 1), len(rows))
        prompts = rows[index:]
        if not prompts or any(len(row.token_ids) == 1 for row in prompts):
            return None
        start = sum(len(row.token_ids) for row in rows[:index])
        ends = [row.position + len(row.token_ids) for row in prompts]
        query_bounds = list(accumulate((len(row.token_ids) for row in prompts), initial=0))
        key_bounds = list(accumulate(ends, initial=0))
        bounds = torch.tensor([*query_bounds, *key_bounds], dtype=torch.int32, device=self._device)
        blocks = positions = None
        if any(row.position for row in prompts):
            positions = torch.cat([torch.arange(end, device=self._device) for end in ends])
            tables = [row.block_table[: -(-end // BLOCK_SIZE)] for row, end in zip(prompts, ends, strict=True)]
            firsts = torch.tensor(list(accumulate(map(len, tables), initial=0))[:-1], device=self._device)
            lengths = torch.tensor(ends, device=self._device)
            all_blocks = torch.tensor([block for table in tables for block in table], device=self._device)
            blocks = all_blocks[firsts.repeat_interleave(lengths) + positions // BLOCK_SIZE]
        return Prompts(
            start=start, end=start + query_bounds[-1], query_bounds=bounds[: len(query_bounds)],
            key_bounds=bounds[len(query_bounds) :], most_queries=max(len(row.token_ids) for row in prompts),
            most_keys=max(ends), blocks=blocks, positions=positions,
        )

    def _describe(self, described: DecoderConfig, weight_bytes: int, kv_bytes: int) -> BackendInfo:
        config = self._config
        return BackendInfo(
            name="torch",
            version=torch.__version__,
            device=config.device,
            block_size=BLOCK_SIZE,
            num_blocks=config.num_blocks,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=config.max_num_batched_tokens,
            max_model_len=min(config.max_model_len, described.context_length),
            vocab_size=described.vocab_size,
            prefix_cache=True,
            can_speculate=config.speculate,
            num_tokens_ahead=1 if self._graphs is not None else 0,
            weight_bytes=weight_bytes,
            kv_bytes=kv_bytes,
        )


def _spans(rows: Sequence[BatchRow], tables: Tensor) -> list[Span]:
    spans, start, first_block = [], 0, 0
    for row in rows:
        num_blocks = -(-(row.position + len(row.token_ids)) // BLOCK_SIZE)
        spans.append(Span(
            start=start, num_tokens=len(row.token_ids), num_before=row.position,
            table=tables[first_block : first_block + num_blocks],
        ))
        start, first_block = start + len(row.token_ids), first_block + num_blocks
    return spans


def _is_plainly_greedy(row: BatchRow) -> bool:
    if row.sampling is None:
        return True
    params = row.sampling.params
    return (
        params.is_greedy and not row.num_proposed and row.sampling.grammar is None and params.logprobs is None
        and not params.logit_bias and params.repetition_penalty == 1.0
        and not params.presence_penalty and not params.frequency_penalty
    )
