"""llama.cpp as a `Backend`: what it can hold, forward and sample. All of it runs on the engine's thread.

Where the KV of which sequence lies is the business of `Streams`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

from engine.backends.base import BackendInfo
from engine.backends.llama_cpp.abort_flag import AbortFlag
from engine.backends.llama_cpp.context import Context, ContextShape, StepInterrupted, StreamRow, whole_cells
from engine.backends.llama_cpp.draft import DraftConfig, DraftModel
from engine.backends.llama_cpp.kv_state import Bytes, Piece, StateLayout, bytes_of, cut, fill, num_tokens_of
from engine.backends.llama_cpp.library import LIBRARY_VERSION
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.streams import BLOCK_SIZE, Streams
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.batch import Batch, BatchRow, LoadedBlock, SampledToken, SavedBlock, StepOutput
from engine.disk_cache.blocks import DiskBlocks
from engine.disk_cache.cache import DiskCache
from engine.disk_cache.ledger import Scope, identities_of
from engine.errors import EngineFailed, ModelLoadError
from engine.lora import Adapter
from engine.proposer import Proposer
from engine.step_sampler import StepSampler
from engine.thread_counts import ThreadCounts

START_SHAPE = ContextShape(num_streams=1, num_cells=1024)

_SAMPLE_TOKENS = 3                  # enough of a sequence to learn the layout of its state

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCppConfig:
    """What the memory plan and the trial decided."""

    path: Path
    max_model_len: int
    max_num_seqs: int
    cache_bytes: int                # 0: no prefix cache
    num_threads: int
    max_num_batched_tokens: int
    choose_threads: bool = False    # fewer than `num_threads` in steps that are faster so
    prefill_tokens_per_s: float = 0.0   # of the trial; 0: steps are bounded by tokens alone
    options: RunOptions = field(default_factory=RunOptions)
    adapters: tuple[Adapter, ...] = ()
    kv_type: str = "f16"            # "f32" where texts must not depend on who shares a step
    speculate: bool = True          # verify proposals, where the model's state can be cut
    draft: DraftConfig | None = None    # a smaller model of the same vocabulary, to guess
    parts: tuple[Path, ...] = ()    # all files of the model, where there are more than `path`
    disk: DiskCache | None = None   # for idle prefixes

    @property
    def files(self) -> tuple[Path, ...]:
        return (*(self.parts or (self.path,)), *(adapter.path for adapter in self.adapters))


class LlamaCppBackend:
    """`on_share` hears how much of the weights is loaded, from 0 to 1. Raises ModelLoadError when it cannot be made,
    EngineFailed when a step fails.
    """

    def __init__(self, config: LlamaCppConfig, on_share: Callable[[float], None] | None = None) -> None:
        self._config = config
        limit = ContextShape(config.max_num_seqs, whole_cells(config.max_model_len))
        start = START_SHAPE.grown_to(1, 1, limit)
        # A batch that holds fewer tokens than there are sequences ends the process inside llama.cpp.
        self._num_batch_tokens = max(min(config.max_num_batched_tokens, start.num_cells), config.max_num_seqs)
        identities = identities_of(config.files)
        with ExitStack() as undo:
            self._model = NativeModel(config.path, config.options, config.adapters, on_share=on_share)
            undo.callback(self._model.close)
            self._tokenizer = LlamaTokenizer(self._model)
            self._abort_flag = None if self._model.forgets else AbortFlag()     # half a step cannot be taken back
            # Nothing of it is bound to the back end, which has the streams: counting references frees both.
            new_context = partial(
                Context, self._model, num_batch_tokens=self._num_batch_tokens, num_threads=config.num_threads,
                kv_type=config.kv_type, abort_flag=self._abort_flag,
            )
            self._streams = Streams(new_context, start, limit)
            undo.callback(self._streams.close)
            self._streams.layout = self._learn_layout(self._streams.context)
            if self._streams.layout is None:      # states move as a whole, between contexts of as many streams only
                self._streams.reshape(ContextShape(limit.num_streams, start.num_cells))
            self._draft = self._load_draft()
            if self._draft:
                undo.callback(self._draft.close)
            self._sampler = StepSampler(self._model.vocab_size)
            self._thread_counts = ThreadCounts(config.num_threads, is_fixed=not config.choose_threads)
            self._info = self._describe(limit)
            self._disk = self._open_disk(identities)
            undo.pop_all()

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def tokenizer(self) -> LlamaTokenizer:
        return self._tokenizer

    @property
    def disk(self) -> DiskBlocks | None:
        return self._disk

    @property
    def held_bytes(self) -> int:
        return self._streams.held_bytes + (self._draft.held_bytes if self._draft else 0)

    @property
    def proposers(self) -> tuple[Proposer, ...]:
        return (self._draft,) if self._draft else ()

    def execute(self, batch: Batch) -> StepOutput:
        for release in batch.released:
            self._streams.leave(release)
        self._streams.forget(batch.evicted)
        self._save(batch.saved)
        if not batch.rows:
            return StepOutput([])
        self._streams.enter(batch.rows, self._load(batch.loaded))
        try:
            return StepOutput(self._forward(batch.rows))
        except StepInterrupted:
            self._streams.take_back(batch.rows)
            return StepOutput([], was_interrupted=True)

    def interrupt(self) -> None:
        if self._abort_flag is not None:
            self._abort_flag.set()

    def resume(self) -> None:
        if self._abort_flag is not None:
            self._abort_flag.clear()

    def prepare(self) -> bool:
        return False

    def check_integrity(self) -> None:
        if self._streams.slots:
            raise EngineFailed(f"Slots {self._streams.slots} are held though nothing runs. Load the model again.")
        num_parked = self._streams.num_parked_blocks
        if num_parked > self._info.num_blocks:
            raise EngineFailed(f"{num_parked} of {self._info.num_blocks} blocks are parked. Load the model again.")

    def close(self) -> None:
        if self._draft:
            self._draft.close()
        self._tokenizer.close()
        self._streams.close()
        self._model.close()
        if self._disk is not None:
            self._disk.close()              # last: what is still to be written is in host memory

    def _save(self, saved: list[SavedBlock]) -> None:
        if self._disk is None or not saved:
            return
        pieces = self._streams.parked(each.block for each in saved)
        for each in saved:
            if (piece := pieces.get(each.block)) is not None:
                self._disk.write(each.block, bytes_of(piece, each.num_tokens))

    def _load(self, loaded: list[LoadedBlock]) -> dict[int, Piece]:
        layout = self._streams.layout
        return {} if layout is None else {each.block: layout.piece_of(each.data, each.num_tokens) for each in loaded}

    def _forward(self, rows: list[BatchRow]) -> list[tuple[SampledToken, ...]]:
        streams = [self._streams.stream_of(row.slot) for row in rows]
        order = sorted(range(len(rows)), key=streams.__getitem__)
        logits = self._decode([
            StreamRow(streams[i], rows[i].position, rows[i].token_ids, rows[i].num_sampled_from) for i in order
        ])
        tokens: list[tuple[SampledToken, ...]] = [()] * len(rows)
        for i, chosen in zip(order, self._sampler.sample(logits, [rows[i] for i in order]), strict=True):
            tokens[i] = chosen
            self._streams.grew(rows[i].slot, rows[i].position + len(rows[i].token_ids))
            self._streams.keep(rows[i].slot, rows[i].num_tokens_after(len(chosen)))
        return tokens

    def _decode(self, rows: list[StreamRow]) -> NDArray[np.float32]:
        num_tokens = sum(len(row.token_ids) for row in rows)
        context = self._streams.context
        context.use_threads(self._thread_counts.choose(num_tokens))
        started_s = time.perf_counter()
        logits = context.decode(rows)
        self._thread_counts.learn(num_tokens, time.perf_counter() - started_s)
        return logits

    # -- at load -------------------------------------------------------------------------------------------------------

    def _load_draft(self) -> DraftModel | None:
        """None where it does not fit this model: the setting may be another's, and answers are the same without."""
        config = self._config
        if config.draft is None or not self._can_speculate:
            return None
        try:
            return DraftModel(
                config.draft, self._tokenizer,
                max_num_seqs=config.max_num_seqs, max_model_len=config.max_model_len, num_threads=config.num_threads,
            )
        except ModelLoadError as error:
            logger.warning("draft_model_left_out", model=config.path.name, reason=str(error))
            return None

    @property
    def _can_speculate(self) -> bool:
        return self._streams.layout is not None and self._config.speculate

    def _learn_layout(self, context: Context) -> StateLayout | None:
        """The layout of this model's state, if a sample survives a round trip through our hands. Also warms up."""
        num_tokens = min(_SAMPLE_TOKENS, self._num_batch_tokens)
        context.decode([StreamRow(0, 0, [0] * num_tokens, num_logits=1)])
        num_streams = context.shape.num_streams
        before = context.read_stream(0).copy()
        context.clear_stream(0)
        layout = StateLayout.learn(before, num_tokens=num_tokens, num_streams=num_streams)
        if layout is None or self._model.forgets:
            return None
        piece = layout.open(before, num_tokens=num_tokens, num_streams=num_streams, stream=0)
        built: Bytes = np.empty(layout.blob_bytes(num_tokens, num_streams), np.uint8)
        fill(layout.build(built, num_tokens=num_tokens, num_streams=num_streams), list(_single_tokens(piece)))
        context.write_stream(0, built)
        after = context.read_stream(0)
        context.clear_stream(0)
        return layout if np.array_equal(before, after) else None

    def _open_disk(self, identities: tuple[str, ...]) -> DiskBlocks | None:
        """`identities` are those of the files before they were read: a file swapped meanwhile has no cache."""
        config, layout = self._config, self._streams.layout
        if config.disk is None or not config.disk.is_on or layout is None or not self._info.prefix_cache:
            return None
        scope = Scope.of(config.files, (
            f"llama-cpp-python {LIBRARY_VERSION}", repr(config.options), layout.facts, f"blocks of {BLOCK_SIZE}",
            f"KV as {config.kv_type}", f"adapters by {[adapter.scale for adapter in config.adapters]}",
        ))
        if scope.identities != identities:
            return None
        return DiskBlocks(config.disk, scope, block_size=BLOCK_SIZE, token_bytes=layout.token_bytes)

    def _describe(self, limit: ContextShape) -> BackendInfo:
        config, layout = self._config, self._streams.layout
        blocks_a_sequence = -(-config.max_model_len // BLOCK_SIZE)
        prefix_cache = layout is not None and config.cache_bytes > 0
        token_bytes = layout.token_bytes if layout else 0
        num_blocks = config.max_num_seqs * blocks_a_sequence
        if layout is not None and prefix_cache:
            num_blocks = max(1, config.cache_bytes // (token_bytes * BLOCK_SIZE))
        return BackendInfo(
            name="llama.cpp",
            version=LIBRARY_VERSION,
            device="gpu" if config.options.gpu_layers else "cpu",
            block_size=BLOCK_SIZE,
            num_blocks=num_blocks,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=self._num_batch_tokens,
            max_model_len=config.max_model_len,
            vocab_size=self._model.vocab_size,
            prefix_cache=prefix_cache,
            can_speculate=self._can_speculate,
            prefill_tokens_per_s=0.0 if config.options.gpu_layers else config.prefill_tokens_per_s,
            weight_bytes=self._model.weight_bytes + (self._draft.weight_bytes if self._draft else 0),
            kv_bytes=token_bytes * limit.num_streams * limit.num_cells + (self._draft.kv_bytes if self._draft else 0),
            cache_bytes=config.cache_bytes if prefix_cache else 0,
        )


def _single_tokens(piece: Piece) -> Iterator[Piece]:
    for index in range(num_tokens_of(piece)):
        yield cut(piece, index, index + 1)
