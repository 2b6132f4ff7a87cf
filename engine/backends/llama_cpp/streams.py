"""Where KV lies: a stream of the context for each running sequence, idle prefixes in host memory. Engine's thread.

A slot is the scheduler's name of a running sequence, a stream is where its KV lies now. Running sequences hold the
streams 0 .. n-1, for the library runs a graph of its own after each hole. What a sequence that ended left above them
stays there until the stream is wanted: who comes back first finds it in place. The context starts small and is made
again in a larger shape when more or longer sequences run, up to a limit; their KV moves along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.backends.llama_cpp.context import Context, ContextShape
from engine.backends.llama_cpp.kv_pool import KvPool
from engine.backends.llama_cpp.kv_state import Piece, StateLayout, cut, fill, num_tokens_of
from engine.batch import BatchRow, Release
from engine.errors import EngineFailed

BLOCK_SIZE = 16

DEEP_PART = 4                       # of a stream's cells, one part in so many: then copying all of them is cheaper

_NOWHERE = -1                       # in the table of a sequence that ended: nobody looks for this block any more


@dataclass(slots=True, eq=False)
class _Sequence:
    """One that runs, or one that ended and whose KV was left where it is."""

    stream: int
    num_tokens: int                 # that have KV in the stream
    block_table: list[int]


class Streams:
    """Owner of the context and the pool. Without a `layout` states move as a whole, and no prefix can be restored."""

    def __init__(
        self, new_context: Callable[[ContextShape], Context], start: ContextShape, limit: ContextShape
    ) -> None:
        self._new_context = new_context
        self._limit = limit
        self.context = new_context(start)
        self.layout: StateLayout | None = None
        self._pool = KvPool()
        self._brought: dict[int, Piece] = {}                # by block id, from disk or lent, in this step alone
        self._running: dict[int, _Sequence] = {}            # by slot
        self._left: dict[int, _Sequence] = {}               # by stream

    @property
    def slots(self) -> list[int]:
        return sorted(self._running)

    @property
    def num_parked_blocks(self) -> int:
        return len(self._pool)

    @property
    def held_bytes(self) -> int:
        if self.layout is None:
            return 0
        shape = self.context.shape
        return self.layout.token_bytes * (shape.num_streams * shape.num_cells + len(self._pool) * BLOCK_SIZE)

    def stream_of(self, slot: int) -> int:
        return self._running[slot].stream

    def leave(self, release: Release) -> None:
        sequence = self._running.pop(release.slot)
        if not release.kept_blocks:
            self.context.clear_stream(sequence.stream)
            return
        sequence.block_table = [_NOWHERE] * len(sequence.block_table)
        for index, block in release.kept_blocks:
            sequence.block_table[index] = block
        self._left[sequence.stream] = sequence

    def forget(self, block_ids: Iterable[int]) -> None:
        gone = set(block_ids)
        self._pool.forget(gone)
        for sequence in self._left.values():
            if not gone.isdisjoint(sequence.block_table):
                sequence.block_table = [_NOWHERE if block in gone else block for block in sequence.block_table]

    def enter(self, rows: Iterable[BatchRow], loaded: Mapping[int, Piece] = MappingProxyType({})) -> None:
        """Make room for all rows, bring in those that are new, and close the holes. `loaded` blocks are from disk."""
        rows = list(rows)
        self._brought = dict(loaded)
        self._make_room(rows)
        for row in rows:
            if row.slot in self._running:
                self._running[row.slot].block_table = row.block_table
        self._admit([row for row in rows if row.slot not in self._running])
        self._brought = {}
        self._pack()

    def parked(self, block_ids: Iterable[int]) -> dict[int, Piece]:
        """KV of those that are in the pool, where it never changes. If nothing runs, all that was left is parked first.

        Then it is there twice for a while, which the pool has room for; and who comes back still finds it in place.
        """
        wanted = set(block_ids)
        if not self._running:
            for left in self._left.values():
                if not wanted.isdisjoint(left.block_table):
                    self._park_missing(left)
        return {block: self._pool.get(block) for block in wanted if block in self._pool}

    def grew(self, slot: int, num_tokens: int) -> None:
        """So many tokens of the sequence have KV now."""
        self._running[slot].num_tokens = num_tokens

    def keep(self, slot: int, num_tokens: int) -> None:
        """Of the sequence, the first so many tokens; what lies behind them is dropped."""
        sequence = self._running[slot]
        if num_tokens < sequence.num_tokens:
            self.context.cut_stream(sequence.stream, num_tokens)
            sequence.num_tokens = num_tokens

    def take_back(self, rows: Iterable[BatchRow]) -> None:
        """What a step that was cut short computed of these rows, if anything."""
        for row in rows:
            self.context.cut_stream(self.stream_of(row.slot), row.position)

    def reshape(self, shape: ContextShape) -> None:
        """A new context with everybody's KV. The old one goes first: there is memory planned for one."""
        for stream in list(self._left):
            self._clear(stream)
        restores = [self._take_out(sequence) for sequence in self._running.values() if sequence.num_tokens]
        self.context.close()
        self.context = self._new_context(shape)
        for restore in restores:
            restore()

    def close(self) -> None:
        self.context.close()
        self._pool.clear()

    # -- streams -------------------------------------------------------------------------------------------------------

    def _make_room(self, rows: list[BatchRow]) -> None:
        """Grow the context where these rows need more of it. A block table covers a prompt from its first chunk on."""
        slots = self._running.keys() | {row.slot for row in rows}
        num_cells = max(len(row.block_table) * BLOCK_SIZE for row in rows)
        shape = self.context.shape.grown_to(len(slots), num_cells, self._limit)
        if shape != self.context.shape:
            self.reshape(shape)

    def _admit(self, rows: list[BatchRow]) -> None:
        """Into the lowest free streams: those first whose prefix was left in one of these."""
        taken = {sequence.stream for sequence in self._running.values()}
        free = [stream for stream in range(self._limit.num_streams) if stream not in taken][: len(rows)]
        for row in list(rows):
            stream = next((stream for stream in free if self._goes_on(stream, row)), None)
            if stream is not None:
                self._running[row.slot] = _Sequence(stream, row.position, row.block_table)
                free.remove(stream)
                rows.remove(row)
        for stream, row in zip(free, rows, strict=True):
            pieces = self._find_blocks(row.restored_blocks)
            self._clear(stream)
            if pieces:
                self._restore(stream, pieces, num_tokens=row.position)
            self._running[row.slot] = _Sequence(stream, row.position, row.block_table)

    def _goes_on(self, stream: int, row: BatchRow) -> bool:
        """Where the row's prefix was left in this very stream: park what lies behind it there, and drop that."""
        left = self._left.get(stream)
        num_blocks = len(row.restored_blocks)
        if left is None or not num_blocks or left.block_table[:num_blocks] != row.restored_blocks:
            return False
        self._park_left(stream, first=row.position // BLOCK_SIZE)      # what is before it is the row's own now
        self.context.cut_stream(stream, row.position)
        return True

    def _clear(self, stream: int) -> None:
        if stream in self._left:
            self._park_left(stream)
            self.context.clear_stream(stream)

    def _pack(self) -> None:
        """Move the sequence in the highest stream into the lowest hole, until there is none."""
        by_stream = sorted(self._running.values(), key=lambda sequence: sequence.stream)
        holes = iter(sorted(set(range(len(by_stream))) - {sequence.stream for sequence in by_stream}))
        for hole in holes:
            sequence = by_stream.pop()
            self._clear(hole)
            if sequence.num_tokens:
                self._move(sequence, hole)
            sequence.stream = hole

    def _move(self, sequence: _Sequence, target: int) -> None:
        """A deep sequence by the library's own copy of all cells; a short one by its state, which is less."""
        if self.layout is not None and sequence.num_tokens > self.context.shape.num_cells // DEEP_PART:
            self.context.copy_stream(sequence.stream, target)
        else:
            self.context.write_stream(target, self.context.read_stream(sequence.stream))
        self.context.clear_stream(sequence.stream)

    # -- KV in and out of streams --------------------------------------------------------------------------------------

    def _find_blocks(self, block_ids: list[int]) -> list[Piece]:
        """KV of findable blocks: from the pool, or from the stream of the sequence that computed them."""
        missing = {block for block in block_ids if block not in self._brought and block not in self._pool}
        for sequence in (*self._running.values(), *self._left.values()):
            if not missing:
                break
            here = [(index, block) for index, block in enumerate(sequence.block_table) if block in missing]
            if here:
                self._park(sequence, here)
                missing -= {block for _, block in here}
        if missing:
            raise EngineFailed(f"The KV of cached blocks {sorted(missing)} is gone. Load the model again.")
        return [self._brought[block] if block in self._brought else self._pool.get(block) for block in block_ids]

    def _park_left(self, stream: int, *, first: int = 0) -> None:
        """Copy into the pool what others may still look for of a sequence that ended, from its block `first` on."""
        self._park_missing(self._left.pop(stream), first=first)

    def _park_missing(self, left: _Sequence, *, first: int = 0) -> None:
        blocks = [
            (index, block) for index, block in enumerate(left.block_table)
            if index >= first and block != _NOWHERE and block not in self._pool
        ]
        if blocks:
            self._park(left, blocks)

    def _park(self, sequence: _Sequence, blocks: list[tuple[int, int]]) -> None:
        """Copy (index, block id) of a sequence into the pool; what will grow, as it is now, for this step alone."""
        piece = self._read(sequence)
        for index, block in blocks:
            copy = cut(piece, index * BLOCK_SIZE, (index + 1) * BLOCK_SIZE)
            if num_tokens_of(copy) < BLOCK_SIZE and sequence in self._running.values():
                self._brought[block] = copy
            else:
                self._pool.put(block, copy)

    def _read(self, sequence: _Sequence) -> Piece:
        """Views of scratch memory: good until the context is used again."""
        blob = self.context.read_stream(sequence.stream)
        return self._plain_layout.open(
            blob, num_tokens=sequence.num_tokens, num_streams=self.context.shape.num_streams, stream=sequence.stream
        )

    def _restore(self, stream: int, pieces: list[Piece], *, num_tokens: int) -> None:
        """Make a stream hold the first `num_tokens` tokens of the pieces."""
        layout, num_streams = self._plain_layout, self.context.shape.num_streams
        blob = self.context.scratch(layout.blob_bytes(num_tokens, num_streams))
        fill(layout.build(blob, num_tokens=num_tokens, num_streams=num_streams), pieces)
        self.context.write_stream(stream, blob)
        if self.context.num_tokens(stream) != num_tokens:
            raise EngineFailed("llama.cpp took the state of a sequence back in part. Load the model again.")

    def _take_out(self, sequence: _Sequence) -> Callable[[], None]:
        """Copy a sequence's KV; the result puts it into the context of then."""
        stream, num_tokens = sequence.stream, sequence.num_tokens
        if self.layout is None:
            blob = self.context.read_stream(stream).copy()
            return lambda: self.context.write_stream(stream, blob)
        piece = cut(self._read(sequence), 0, num_tokens)
        return lambda: self._restore(stream, [piece], num_tokens=num_tokens)

    @property
    def _plain_layout(self) -> StateLayout:
        if self.layout is None:
            raise EngineFailed("This model's KV cannot be cut into blocks, yet a block was asked for.")
        return self.layout
