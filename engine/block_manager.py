"""Blocks of KV and who holds them: the prefix cache. The scheduler calls it, on the engine's thread.

A block whose last holder left keeps its content and stays findable until it is taken for something else; so does the
block at a sequence's end, though it is not full. What a block id *is* (an address, or a piece of a pool of bytes) is
the back end's affair; it hears of all that matters to it through `Batch`.

Behind memory there may be a disk. What is found there is read while its request waits, and fills blocks that the
request takes in any case: a prefix from disk costs no more room than one that is computed.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine import block_names
from engine.batch import LoadedBlock, SavedBlock
from engine.disk_cache.blocks import DiskBlocks, StoredBlock
from engine.errors import EngineFailed
from engine.prefix_index import BlockContent, PrefixIndex, name_of
from engine.request import Sequence


@dataclass(frozen=True, slots=True)
class Prefix:
    """A cached one. The first tokens of the last block may be all that is wanted of it: then it is only read from."""

    blocks: list[int] = field(default_factory=list)         # in memory,
    num_tokens: int = 0
    stored: tuple[StoredBlock, ...] = ()                    # and behind those, from disk
    is_coming: bool = False                                 # more of it is being read from disk: ask again

    def whole(self, block_size: int) -> Prefix:
        """As much of it as fills blocks."""
        num_blocks = self.num_tokens // block_size
        num_stored = max(0, num_blocks - len(self.blocks))
        return Prefix(self.blocks[:num_blocks], num_blocks * block_size, self.stored[:num_stored])


class BlockManager:
    """Four verbs: `match` a cached prefix, `take` blocks for a sequence, `publish` what it computed, `release` all."""

    def __init__(
        self, *, num_blocks: int, block_size: int, prefix_cache: bool = True, disk: DiskBlocks | None = None
    ) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._prefix_cache = prefix_cache
        self._num_holders = [0] * num_blocks
        self._cached = PrefixIndex(block_size)
        self._disk = disk if prefix_cache else None
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))   # next to be taken first
        self._lent: list[int] = []                              # read from in the step being planned, held by nobody
        self._evicted: list[int] = []
        self._loaded: list[LoadedBlock] = []

    @property
    def num_free_blocks(self) -> int:
        """Cached ones included: they can be had."""
        return len(self._free)

    @property
    def num_cached_blocks(self) -> int:
        return len(self._cached)

    @property
    def cached_blocks(self) -> frozenset[int]:
        return frozenset(self._cached)

    def match(self, sequence: Sequence) -> Prefix:
        """The longest cached prefix. It ends before the last token: one must be computed, for logits."""
        if not self._prefix_cache:
            return Prefix()
        blocks: list[int] = []
        names = self._names(sequence, self._num_prefix_blocks(sequence))
        for name in names:
            block = self._cached.named(name)
            if block is None:
                break
            blocks.append(block)
        num_tokens = len(blocks) * self.block_size

        def parent_of(index: int) -> int | None:
            return block_names.parent_of_part(sequence, index, self.block_size)

        last = len(sequence.token_ids) - 1
        rest = sequence.token_ids[num_tokens : min(num_tokens + self.block_size, last)]
        block, num_more = self._cached.best_child(parent_of(len(blocks)), rest)
        if self._disk is not None:
            stored = self._disk.match(
                names[len(blocks) :], parent_of, sequence.token_ids, num_tokens, more_than=num_more
            )
            if stored is None:
                return Prefix(is_coming=True)
            if stored:
                return Prefix(blocks, num_tokens + sum(each.num_tokens for each in stored), stored)
        return Prefix([*blocks, block], num_tokens + num_more) if num_more else Prefix(blocks, num_tokens)

    def reach(self, sequence: Sequence) -> int:
        """For how many tokens it has blocks."""
        return len(sequence.block_table) * self.block_size

    def take(self, sequence: Sequence, num_tokens: int, prefix: Prefix | None = None, *, spare: int = 0) -> bool:
        """Grow the table to `num_tokens` tokens, beginning with a matched prefix, and leave `spare` blocks free.

        All or nothing: False, and nothing taken, if too few are free. A block of which the prefix is only a part is
        not among those taken; it keeps its content until `collect_evicted`.
        """
        prefix = prefix or Prefix()
        whole = prefix.whole(self.block_size).blocks
        read = prefix.blocks[len(whole) :]
        num_new = -(-num_tokens // self.block_size) - len(sequence.block_table) - len(whole)
        if num_new <= 0 and not whole:
            return True
        num_idle = sum(self._num_holders[block] == 0 for block in prefix.blocks)
        if num_new > len(self._free) - num_idle - spare:
            return False
        for block in (*whole, *read):
            if self._num_holders[block] == 0:
                del self._free[block]
            self._num_holders[block] += 1
        self._lent += read
        sequence.block_table += whole
        new = [self._take_free() for _ in range(num_new)]
        sequence.block_table += new
        for block, stored in zip(new, prefix.stored, strict=False):
            self._load(block, stored)
        return True

    def trim(self, sequence: Sequence) -> None:
        """Let go of blocks behind its tokens: they were taken for proposals that were wrong."""
        num_blocks = -(-len(sequence.token_ids) // self.block_size)
        for block in reversed(sequence.block_table[num_blocks:]):
            self._let_go(block)
        del sequence.block_table[num_blocks:]

    def restored_blocks(self, sequence: Sequence, prefix: Prefix) -> list[int]:
        """Where the tokens of a prefix lie, once it has been taken."""
        num_whole, num_more = divmod(prefix.num_tokens, self.block_size)
        if num_more and not prefix.stored:
            return [*sequence.block_table[:num_whole], prefix.blocks[num_whole]]
        return sequence.block_table[: num_whole + (num_more > 0)]

    def publish(self, sequence: Sequence, start: int) -> None:
        """Name the blocks that filled up since `start` tokens were computed; and the end of the prompt, where that is
        done: others may wait for the very same.

        A second equal one takes the name over if nobody holds the first: so a text that comes again is found where it
        ran last. Else it stays anonymous.
        """
        first, end = start // self.block_size, sequence.num_computed_tokens // self.block_size
        if not self._prefix_cache:
            return
        names = self._names(sequence, end) if end > first else []
        for index in range(first, end):
            known = self._cached.named(names[index])
            if known is not None and self._num_holders[known] == 0:
                self._forget_idle(known)
                known = None
            if known is None:
                self._make_findable(sequence.block_table[index], self._content(sequence, index))
        if start < sequence.num_prompt_tokens <= sequence.num_computed_tokens:
            self._publish_end(sequence)

    def release(self, sequence: Sequence) -> list[tuple[int, int]]:
        """Let go of all blocks. Gives (index, block id) of those that can still be found: their KV must live on."""
        self._publish_end(sequence)
        found = [(index, block) for index, block in enumerate(sequence.block_table) if block in self._cached]
        if self._disk is not None and not sequence.request.is_private:
            self._disk.offer([(index, block, self._cached[block]) for index, block in found])
        for block in reversed(sequence.block_table):   # the end of a chat goes before its beginning, which others share
            self._let_go(block)
        sequence.block_table = []
        return found

    def coming_names(self, sequence: Sequence) -> list[int]:
        """Names that a running sequence is going to publish once its computed tokens have caught up."""
        names = self._names(sequence, len(sequence.token_ids) // self.block_size)
        return names[sequence.num_computed_tokens // self.block_size :]

    def next_name(self, sequence: Sequence, prefix: Prefix) -> int | None:
        """Name of the first full prompt block after a match; None where the rest of the prompt is less than that."""
        names = self._names(sequence, self._num_prefix_blocks(sequence))
        num_matched = prefix.num_tokens // self.block_size
        return names[num_matched] if num_matched < len(names) else None

    def collect_evicted(self) -> list[int]:
        """Blocks that cannot be found any more, since the last call. Ends the planning of a step."""
        for block in self._lent:
            self._let_go(block)
        self._lent = []
        evicted, self._evicted = self._evicted, []
        return evicted

    def collect_loaded(self) -> list[LoadedBlock]:
        """Blocks to be filled from disk, since the last call."""
        loaded, self._loaded = self._loaded, []
        return loaded

    def save_due_in_s(self) -> float | None:
        """0: now. None: all that can be found is on disk, or there is none."""
        return None if self._disk is None else self._disk.save_due_in_s()

    def collect_saved(self, *, everything: bool = False) -> list[SavedBlock]:
        """Blocks to be put on disk: those that are due, or all. Each is named again later if that came to nothing."""
        return [] if self._disk is None else self._disk.collect_saves(everything=everything)

    def wait_for_disk(self) -> bool:
        """Whether something is being read there. Then wait for it, a tenth of a second at the most."""
        return self._disk is not None and self._disk.wait()

    def check_integrity(self, holders: Iterable[Sequence] = ()) -> None:
        """Recount everything against the sequences that hold blocks; raise EngineFailed at the first difference."""
        held = Counter(block for sequence in holders for block in sequence.block_table)
        num_idle = self.num_blocks - len(held)
        if self._num_holders.count(0) != num_idle or any(self._num_holders[b] != n for b, n in held.items()):
            raise EngineFailed("The KV cache lost count of who holds its blocks.")
        if len(self._free) != num_idle or any(block in self._free for block in held):
            raise EngineFailed("The KV cache lost blocks: some are neither held nor free, or both.")
        self._cached.check_integrity()
        if self._disk is not None:
            self._disk.check_integrity(self._cached)

    # -- blocks that can be found --------------------------------------------------------------------------------------

    def _publish_end(self, sequence: Sequence) -> None:
        """Make the last tokens findable too, those that fill no block."""
        index, num_tokens = divmod(sequence.num_computed_tokens, self.block_size)
        if not num_tokens or not self._prefix_cache:
            return
        content = self._content(sequence, index)
        if self._cached.best_child(content.parent, content.token_ids)[1] < num_tokens:
            self._make_findable(sequence.block_table[index], content)

    def _load(self, block: int, stored: StoredBlock) -> None:
        """Fill a block that was just taken. Of one of which not all is wanted, the rest will be written over."""
        self._loaded.append(LoadedBlock(block, stored.data, len(stored.content.token_ids)))
        if stored.num_tokens == self.block_size and self._cached.named(stored.content.name) is None:
            self._make_findable(block, stored.content)

    def _make_findable(self, block: int, content: BlockContent) -> None:
        for beginning in self._cached.beginnings_of(content):
            if self._num_holders[beginning] == 0:
                self._forget_idle(beginning)
        self._cached.add(block, content)

    def _content(self, sequence: Sequence, index: int) -> BlockContent:
        start = index * self.block_size
        token_ids = sequence.token_ids[start : min(start + self.block_size, sequence.num_computed_tokens)]
        names = self._names(sequence, index + (len(token_ids) == self.block_size))
        parent = block_names.parent(sequence, index, self.block_size)
        name = names[index] if index < len(names) else name_of(parent, token_ids)
        return BlockContent(name, parent, tuple(token_ids))

    def _forget_idle(self, block: int) -> None:
        self._forget(block)
        self._free.move_to_end(block, last=False)

    def _forget(self, block: int) -> None:
        self._cached.remove(block)
        self._evicted.append(block)
        if self._disk is not None:
            self._disk.withdraw(block)

    # -- blocks that can be had ----------------------------------------------------------------------------------------

    def _take_free(self) -> int:
        block, _ = self._free.popitem(last=False)
        if block in self._cached:
            self._forget(block)
        self._num_holders[block] = 1
        return block

    def _let_go(self, block: int) -> None:
        self._num_holders[block] -= 1
        if self._num_holders[block] == 0:
            self._free[block] = None
            if block not in self._cached:
                self._free.move_to_end(block, last=False)   # nothing is lost by taking this one

    # -- names ---------------------------------------------------------------------------------------------------------

    def _num_prefix_blocks(self, sequence: Sequence) -> int:
        return (len(sequence.token_ids) - 1) // self.block_size

    def _names(self, sequence: Sequence, num_blocks: int) -> list[int]:
        """Names of the first `num_blocks` full blocks. Each is computed once and kept in the sequence."""
        if not self._prefix_cache:
            return []
        return block_names.names(sequence, num_blocks, self.block_size)
