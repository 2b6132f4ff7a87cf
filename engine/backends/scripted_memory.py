"""Two kinds of KV memory made of lists, which hold the tokens themselves instead of keys and values. `ScriptedBackend`
computes in them, on the engine's thread. They doubt all that they are told: a fault of bookkeeping raises EngineFailed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array

from engine.batch import Batch, BatchRow, Release, SavedBlock
from engine.disk_cache.blocks import DiskBlocks
from engine.errors import EngineFailed


class ScriptedMemory(ABC):
    """Knows which sequence runs in which slot, and how far it is."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.disk: DiskBlocks | None = None
        self._loaded: dict[int, list[int]] = {}    # tokens from disk, by block, for the rows of this step
        self._tables: dict[int, list[int]] = {}    # by running slot
        self._lengths: dict[int, int] = {}         # tokens with KV, by running slot

    def apply(self, batch: Batch) -> None:
        for release in batch.released:
            _expect(release.slot in self._tables, f"Slot {release.slot} was released, but nothing runs there.")
            self._park(release)
            del self._tables[release.slot], self._lengths[release.slot]
        for block in batch.evicted:
            in_use = any(block in table for table in self._tables.values())
            _expect(not in_use, f"Block {block} was evicted while a running sequence holds it.")
            self._forget(block)
        for each in batch.saved:
            self._save(each)
        self._loaded = {each.block: list(each.data.cast("I")) for each in batch.loaded}
        for row in batch.rows:
            self._check(row)
            if row.slot not in self._tables:
                self._restore(row)
        for row in batch.rows:
            self._tables[row.slot] = row.block_table
            self._lengths[row.slot] = row.position + len(row.token_ids)
            self._write(row)
        self._loaded = {}

    def take_back(self, batch: Batch) -> None:
        """The rows were not computed after all."""
        for row in batch.rows:
            self._lengths[row.slot] = row.position
            self._cut(row, row.position)

    def keep(self, row: BatchRow, num_tokens: int) -> None:
        """Drop what was written of a row behind the first so many tokens of its sequence."""
        self._cut(row, num_tokens)
        self._tables[row.slot] = row.block_table[: -(-num_tokens // self.block_size)]
        self._lengths[row.slot] = num_tokens

    def check_idle(self) -> None:
        _expect(not self._tables, f"Slots {sorted(self._tables)} are held, but nothing runs.")

    @abstractmethod
    def read(self, row: BatchRow) -> list[int]:
        """The sequence's tokens, up to the end of the row, as memory holds them."""

    @abstractmethod
    def _park(self, release: Release) -> None: ...
    @abstractmethod
    def _forget(self, block: int) -> None: ...
    @abstractmethod
    def _kv_of(self, block: int) -> list[int]: ...
    @abstractmethod
    def _restore(self, row: BatchRow) -> None: ...
    @abstractmethod
    def _write(self, row: BatchRow) -> None: ...
    @abstractmethod
    def _cut(self, row: BatchRow, num_tokens: int) -> None: ...      # undoes `_write` behind so many

    def _save(self, saved: SavedBlock) -> None:
        _expect(self.disk is not None, "Blocks are to be saved, but there is no disk.")
        token_ids = self._kv_of(saved.block)[: saved.num_tokens]
        _expect(len(token_ids) == saved.num_tokens, f"Block {saved.block} is to be saved, but holds too few tokens.")
        if self.disk is not None:
            self.disk.write(saved.block, [memoryview(array("I", token_ids)).cast("B")])

    def _check(self, row: BatchRow) -> None:
        start, end = row.position, row.position + len(row.token_ids)
        _expect(end > start, f"The row of slot {row.slot} has no tokens.")
        _expect(
            len(row.block_table) * self.block_size >= end and all(0 <= b < self.num_blocks for b in row.block_table),
            f"The block table of slot {row.slot} does not cover its {end} tokens.",
        )
        if row.slot in self._tables:
            length = self._lengths[row.slot]
            _expect(start == length, f"The row of slot {row.slot} begins at {start}, but has KV for {length} tokens.")
            _expect(not row.restored_blocks, f"Slot {row.slot} runs already: nothing can be restored there.")
            return
        num_whole, num_more = divmod(start, self.block_size)
        _expect(
            len(row.restored_blocks) == num_whole + (num_more > 0),
            f"The row of slot {row.slot} begins at {start}, but restores {len(row.restored_blocks)} blocks.",
        )
        _expect(
            row.restored_blocks[:num_whole] == row.block_table[:num_whole],
            f"Slot {row.slot} is to restore whole blocks that are not its own.",
        )


class PagedMemory(ScriptedMemory):
    """A block id is an address, as on a GPU: sequences that share a block read the same cells."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        super().__init__(num_blocks, block_size)
        self._cells: list[list[int | None]] = [[None] * block_size for _ in range(num_blocks)]

    def read(self, row: BatchRow) -> list[int]:
        end = row.position + len(row.token_ids)
        cells = [cell for block in row.block_table for cell in self._cells[block]][:end]
        tokens = [cell for cell in cells if cell is not None]
        _expect(len(tokens) == end, f"Slot {row.slot} reads a block that was never written, or was evicted.")
        return tokens

    def _park(self, release: Release) -> None:
        for index, block in release.kept_blocks:
            num_tokens = min(self._lengths[release.slot] - index * self.block_size, self.block_size)
            _expect(None not in self._cells[block][:num_tokens], f"Block {block} can be found, but was never written.")

    def _forget(self, block: int) -> None:
        self._cells[block] = [None] * self.block_size

    def _restore(self, row: BatchRow) -> None:
        """What is shared lies where it is read; a beginning is copied."""
        for block, token_ids in self._loaded.items():
            if block in row.block_table:
                self._cells[block][: len(token_ids)] = token_ids
        num_whole, num_more = divmod(row.position, self.block_size)
        if num_more:
            beginning = self._cells[row.restored_blocks[num_whole]][:num_more]
            self._cells[row.block_table[num_whole]][:num_more] = beginning

    def _kv_of(self, block: int) -> list[int]:
        return [cell for cell in self._cells[block] if cell is not None]

    def _write(self, row: BatchRow) -> None:
        for position, token_id in enumerate(row.token_ids, start=row.position):
            self._cells[row.block_table[position // self.block_size]][position % self.block_size] = token_id

    def _cut(self, row: BatchRow, num_tokens: int) -> None:
        for position in range(num_tokens, row.position + len(row.token_ids)):
            self._cells[row.block_table[position // self.block_size]][position % self.block_size] = None


class PooledMemory(ScriptedMemory):
    """A block id names a piece of a pool, as over llama.cpp: a slot has its own stream, filled from the pool and parked
    in it. A piece that is wanted while its first holder still runs is copied from that stream.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        super().__init__(num_blocks, block_size)
        self._streams: dict[int, list[int]] = {}   # by running slot
        self._pool: dict[int, list[int]] = {}      # by block id

    @property
    def parked_blocks(self) -> frozenset[int]:
        return frozenset(self._pool)

    def read(self, row: BatchRow) -> list[int]:
        return self._streams[row.slot]

    def _park(self, release: Release) -> None:
        stream = self._streams.pop(release.slot)
        for index, block in release.kept_blocks:
            piece = stream[index * self.block_size : (index + 1) * self.block_size]
            _expect(bool(piece), f"Block {block} can be found, but was never written.")
            self._pool.setdefault(block, piece)

    def _forget(self, block: int) -> None:
        self._pool.pop(block, None)                # absent where its holders never left their slots

    def _restore(self, row: BatchRow) -> None:
        stream: list[int] = []
        for index, block in enumerate(row.restored_blocks):
            if block in self._loaded:
                stream += self._loaded[block]
                continue
            piece = self._pool.get(block) or self._piece_of_a_running_stream(index, block)
            if len(piece) == self.block_size:          # else it will grow
                self._pool[block] = piece
            stream += piece
        _expect(len(stream) >= row.position, f"The blocks that slot {row.slot} restores hold too few tokens.")
        self._streams[row.slot] = stream[: row.position]

    def _kv_of(self, block: int) -> list[int]:
        return self._pool.get(block, [])

    def _piece_of_a_running_stream(self, index: int, block: int) -> list[int]:
        start = index * self.block_size
        for slot, table in self._tables.items():
            if table[index : index + 1] == [block] and self._lengths[slot] > start:
                return self._streams[slot][start : start + self.block_size]
        raise EngineFailed(f"Block {block} is to be restored, but is neither in the pool nor in a running stream.")

    def _write(self, row: BatchRow) -> None:
        self._streams[row.slot] += row.token_ids

    def _cut(self, row: BatchRow, num_tokens: int) -> None:
        del self._streams[row.slot][num_tokens:]


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise EngineFailed(otherwise)
