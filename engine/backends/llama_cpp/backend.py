"""llama.cpp as a `Backend`: a stream of a context for each running sequence, idle prefixes in host memory.

All of it runs on the engine's thread.

Streams are kept packed: running sequences hold 0 .. n-1, for the library runs a graph of its own after each hole. A
slot is the scheduler's name of a running sequence, a stream is where its KV lies now. The context starts small and
is made again in a larger shape when more or longer sequences run, up to the limit of the memory plan; their KV
moves along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.backends.base import BackendInfo
from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow, whole_cells
from engine.backends.llama_cpp.kv_pool import KvPool
from engine.backends.llama_cpp.kv_state import Bytes, Piece, StateLayout, cut, fill, num_tokens_of
from engine.backends.llama_cpp.library import LIBRARY_VERSION
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.backends.llama_cpp.tokenizer import LlamaTokenizer
from engine.batch import Batch, BatchRow, Release, SampledToken, StepOutput
from engine.errors import EngineFailed
from engine.lora import Adapter
from engine.sampler import sample

BLOCK_SIZE = 16
START_SHAPE = ContextShape(num_streams=1, num_cells=1024)

_SAMPLE_TOKENS = 3                  # enough of a sequence to learn the layout of its state


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCppConfig:
    """What the memory plan and the trial decided."""

    path: Path
    max_model_len: int
    max_num_seqs: int
    cache_bytes: int                # 0: no prefix cache
    num_threads: int
    max_num_batched_tokens: int
    options: RunOptions = field(default_factory=RunOptions)
    adapters: tuple[Adapter, ...] = ()
    kv_type: str = "f16"            # "f32" where texts must not depend on who shares a step


@dataclass(slots=True)
class _Occupant:
    """A running sequence, as far as this back end knows it."""

    stream: int
    num_tokens: int                 # that have KV in the stream
    block_table: list[int]


class LlamaCppBackend:
    """Raises ModelLoadError when it cannot be made, EngineFailed when a step fails."""

    def __init__(self, config: LlamaCppConfig) -> None:
        self._config = config
        self._limit = ContextShape(config.max_num_seqs, whole_cells(config.max_model_len))
        start = START_SHAPE.grown_to(1, 1, self._limit)
        # A batch that holds fewer tokens than there are sequences ends the process inside llama.cpp.
        self._num_batch_tokens = max(min(config.max_num_batched_tokens, start.num_cells), config.max_num_seqs)
        self._occupants: dict[int, _Occupant] = {}          # by slot
        self._pool = KvPool()
        with ExitStack() as undo:
            self._model = NativeModel(config.path, config.options, config.adapters)
            undo.callback(self._model.close)
            self._tokenizer = LlamaTokenizer(self._model)
            self._context = self._new_context(start)
            undo.callback(self._close_context)
            self._layout = self._learn_layout()
            if self._layout is None:          # states move as a whole then, between contexts of as many streams only
                self._reshape(ContextShape(self._limit.num_streams, start.num_cells))
            undo.pop_all()
        self._info = self._describe()

    @property
    def info(self) -> BackendInfo:
        return self._info

    @property
    def tokenizer(self) -> LlamaTokenizer:
        return self._tokenizer

    @property
    def held_bytes(self) -> int:
        if self._layout is None:
            return 0
        shape = self._context.shape
        return self._layout.token_bytes * (shape.num_streams * shape.num_cells + len(self._pool) * BLOCK_SIZE)

    def execute(self, batch: Batch) -> StepOutput:
        for release in batch.released:
            self._leave(release)
        self._pool.forget(batch.evicted)
        if not batch.rows:
            return StepOutput([])
        self._make_room(batch.rows)
        for row in batch.rows:
            self._enter(row)
        self._pack()
        return StepOutput(self._forward(batch.rows))

    def check_integrity(self) -> None:
        if self._occupants:
            raise EngineFailed(f"Slots {sorted(self._occupants)} are held though nothing runs. Load the model again.")
        if len(self._pool) > self._info.num_blocks:
            raise EngineFailed(f"{len(self._pool)} of {self._info.num_blocks} blocks are parked. Load the model again.")

    def close(self) -> None:
        self._tokenizer.close()
        self._close_context()
        self._model.close()
        self._pool.clear()

    def _close_context(self) -> None:
        self._context.close()

    # -- a step --------------------------------------------------------------------------------------------------------

    def _leave(self, release: Release) -> None:
        """Park what others may still look for, and empty the stream."""
        occupant = self._occupants.pop(release.slot)
        missing = [(index, block) for index, block in release.named_blocks if block not in self._pool]
        if missing:
            self._park(occupant, missing)
        self._context.clear_stream(occupant.stream)

    def _make_room(self, rows: list[BatchRow]) -> None:
        """Grow the context where these rows need more of it. A block table covers a prompt from its first chunk on."""
        slots = self._occupants.keys() | {row.slot for row in rows}
        num_cells = max(len(row.block_table) * BLOCK_SIZE for row in rows)
        shape = self._context.shape.grown_to(len(slots), num_cells, self._limit)
        if shape != self._context.shape:
            self._reshape(shape)

    def _enter(self, row: BatchRow) -> None:
        occupant = self._occupants.get(row.slot)
        if occupant is not None:
            occupant.block_table = row.block_table
            return
        taken = {other.stream for other in self._occupants.values()}
        stream = next(stream for stream in range(self._limit.num_streams) if stream not in taken)
        if row.num_restored_blocks:
            pieces = self._find_blocks(row.block_table[:row.num_restored_blocks])
            self._restore(stream, pieces, num_tokens=row.position)
        self._occupants[row.slot] = _Occupant(stream, row.position, row.block_table)

    def _pack(self) -> None:
        """Move the sequence in the highest stream into the lowest hole, until there is none."""
        by_stream = sorted(self._occupants.values(), key=lambda occupant: occupant.stream)
        holes = iter(sorted(set(range(len(by_stream))) - {occupant.stream for occupant in by_stream}))
        for hole in holes:
            occupant = by_stream.pop()
            if occupant.num_tokens:
                self._context.write_stream(hole, self._context.read_stream(occupant.stream))
                self._context.clear_stream(occupant.stream)
            occupant.stream = hole

    def _forward(self, rows: list[BatchRow]) -> list[tuple[SampledToken, ...]]:
        order = sorted(range(len(rows)), key=lambda i: self._occupants[rows[i].slot].stream)
        logits = self._context.decode([
            StreamRow(self._occupants[row.slot].stream, row.position, row.token_ids, row.sampling is not None)
            for row in (rows[i] for i in order)
        ])
        tokens: list[tuple[SampledToken, ...]] = [()] * len(rows)
        row_logits = iter(logits)
        for i in order:
            row = rows[i]
            self._occupants[row.slot].num_tokens = row.position + len(row.token_ids)
            if row.sampling is not None:
                tokens[i] = (sample(next(row_logits), row.sampling),)
        return tokens

    # -- KV in and out of streams --------------------------------------------------------------------------------------

    def _find_blocks(self, block_ids: list[int]) -> list[Piece]:
        """KV of published blocks: from the pool, or from the stream of the running sequence that computed them."""
        missing = {block for block in block_ids if block not in self._pool}
        for occupant in self._occupants.values():
            if not missing:
                break
            num_whole = occupant.num_tokens // BLOCK_SIZE
            here = [(index, block) for index, block in enumerate(occupant.block_table[:num_whole]) if block in missing]
            if here:
                self._park(occupant, here)
                missing -= {block for _, block in here}
        if missing:
            raise EngineFailed(f"The KV of cached blocks {sorted(missing)} is gone. Load the model again.")
        return [self._pool.get(block) for block in block_ids]

    def _park(self, occupant: _Occupant, blocks: list[tuple[int, int]]) -> None:
        """Copy (index, block id) of a running sequence into the pool."""
        piece = self._read(occupant)
        for index, block in blocks:
            self._pool.put(block, cut(piece, index * BLOCK_SIZE, (index + 1) * BLOCK_SIZE))

    def _read(self, occupant: _Occupant) -> Piece:
        """Views of scratch memory: good until the context is used again."""
        blob = self._context.read_stream(occupant.stream)
        return self._plain_layout.open(
            blob, num_tokens=occupant.num_tokens, num_streams=self._context.shape.num_streams, stream=occupant.stream
        )

    def _restore(self, stream: int, pieces: list[Piece], *, num_tokens: int) -> None:
        """Make a stream hold the first `num_tokens` tokens of the pieces."""
        layout, num_streams = self._plain_layout, self._context.shape.num_streams
        blob = self._context.scratch(layout.blob_bytes(num_tokens, num_streams))
        fill(layout.build(blob, num_tokens=num_tokens, num_streams=num_streams), pieces)
        self._context.write_stream(stream, blob)
        if self._context.num_tokens(stream) != num_tokens:
            raise EngineFailed("llama.cpp took the state of a sequence back in part. Load the model again.")

    def _reshape(self, shape: ContextShape) -> None:
        """A new context with everybody's KV. The old one goes first: there is memory planned for one."""
        restores = [self._take_out(occupant) for occupant in self._occupants.values() if occupant.num_tokens]
        self._context.close()
        self._context = self._new_context(shape)
        for restore in restores:
            restore()

    def _take_out(self, occupant: _Occupant) -> Callable[[], None]:
        """Copy a sequence's KV; the result puts it into the context of then."""
        stream, num_tokens = occupant.stream, occupant.num_tokens
        if self._layout is None:
            blob = self._context.read_stream(stream).copy()
            return lambda: self._context.write_stream(stream, blob)
        piece = cut(self._read(occupant), 0, num_tokens)
        return lambda: self._restore(stream, [piece], num_tokens=num_tokens)

    @property
    def _plain_layout(self) -> StateLayout:
        if self._layout is None:
            raise EngineFailed("This model's KV cannot be cut into blocks, yet a block was asked for.")
        return self._layout

    # -- at load -------------------------------------------------------------------------------------------------------

    def _new_context(self, shape: ContextShape) -> Context:
        return Context(
            self._model, shape, num_batch_tokens=self._num_batch_tokens, num_threads=self._config.num_threads,
            kv_type=self._config.kv_type,
        )

    def _learn_layout(self) -> StateLayout | None:
        """The layout of this model's state, if a sample survives a round trip through our hands. Also warms up."""
        num_tokens = min(_SAMPLE_TOKENS, self._num_batch_tokens)
        self._context.decode([StreamRow(0, 0, [0] * num_tokens, wants_logits=True)])
        num_streams = self._context.shape.num_streams
        before = self._context.read_stream(0).copy()
        self._context.clear_stream(0)
        layout = StateLayout.learn(before, num_tokens=num_tokens, num_streams=num_streams)
        if layout is None or self._model.forgets:
            return None
        piece = layout.open(before, num_tokens=num_tokens, num_streams=num_streams, stream=0)
        built: Bytes = np.empty(layout.blob_bytes(num_tokens, num_streams), np.uint8)
        fill(layout.build(built, num_tokens=num_tokens, num_streams=num_streams), list(_single_tokens(piece)))
        self._context.write_stream(0, built)
        after = self._context.read_stream(0)
        self._context.clear_stream(0)
        return layout if np.array_equal(before, after) else None

    def _describe(self) -> BackendInfo:
        config, layout = self._config, self._layout
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
            weight_bytes=self._model.weight_bytes,
            kv_bytes=token_bytes * self._limit.num_streams * self._limit.num_cells,
            cache_bytes=config.cache_bytes if prefix_cache else 0,
        )


def _single_tokens(piece: Piece) -> Iterator[Piece]:
    for index in range(num_tokens_of(piece)):
        yield cut(piece, index, index + 1)
