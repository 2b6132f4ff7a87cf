"""Blocks of KV and their names: the prefix cache. The scheduler calls it, on the engine's thread.

A full block is named by a hash of its tokens and of the name before it, so equal names mean equal prefixes. A block
whose last holder left keeps its name and stays findable until it is taken for something else. So does the block at a
sequence's end, though it is not full: it has no name, but is found as a child of the block before it, as any block is
whose first tokens alone agree. What a block id *is* (an address, or a piece of a pool of bytes) is the back end's
affair; it hears of all that matters to it through `Batch`.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

from engine.errors import EngineFailed
from engine.request import Sequence

NAME_BYTES = 16         # of blake2b: two different prefixes never share a name, not even when somebody tries
MAX_CHILDREN_TRIED = 16     # of those that continue one prefix: what is to be gained is less than a block


@dataclass(frozen=True, slots=True)
class Prefix:
    """A cached one. The first tokens of the last block may be all that is wanted of it: then it is only read from."""

    blocks: list[int] = field(default_factory=list)
    num_tokens: int = 0

    def whole(self, block_size: int) -> Prefix:
        """As much of it as fills blocks."""
        num_blocks = self.num_tokens // block_size
        return Prefix(self.blocks[:num_blocks], num_blocks * block_size)


@dataclass(frozen=True, slots=True)
class _Content:
    """What a findable block holds."""

    name: int | None                # None: it is not full
    parent: int                     # name of the block before it, or of the beginning
    token_ids: tuple[int, ...]


class BlockManager:
    """Four verbs: `match` a cached prefix, `take` blocks for a sequence, `publish` what it computed, `release` all."""

    def __init__(self, *, num_blocks: int, block_size: int, prefix_cache: bool = True) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._prefix_cache = prefix_cache
        self._num_holders = [0] * num_blocks
        self._content_of: dict[int, _Content] = {}              # of blocks that can be found
        self._block_named: dict[int, int] = {}
        self._children: dict[int, OrderedDict[int, None]] = {}  # by parent's name: blocks, the latest last
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))   # next to be taken first
        self._lent: list[int] = []                              # read from in the step being planned, held by nobody
        self._evicted: list[int] = []

    @property
    def num_free_blocks(self) -> int:
        """Cached ones included: they can be had."""
        return len(self._free)

    @property
    def num_cached_blocks(self) -> int:
        return len(self._content_of)

    @property
    def cached_blocks(self) -> frozenset[int]:
        return frozenset(self._content_of)

    def match(self, sequence: Sequence) -> Prefix:
        """The longest cached prefix. It ends before the last token: one must be computed, for logits."""
        if not self._prefix_cache:
            return Prefix()
        blocks: list[int] = []
        names = self._names(sequence, self._num_prefix_blocks(sequence))
        for name in names:
            block = self._block_named.get(name)
            if block is None:
                break
            blocks.append(block)
        num_tokens = len(blocks) * self.block_size
        parent = names[len(blocks) - 1] if blocks else _root(sequence)
        block, num_more = self._best_child(parent, sequence.token_ids[num_tokens : num_tokens + self.block_size])
        num_more = min(num_more, len(sequence.token_ids) - 1 - num_tokens)
        return Prefix([*blocks, block], num_tokens + num_more) if num_more > 0 else Prefix(blocks, num_tokens)

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
        sequence.block_table += [self._take_free() for _ in range(num_new)]
        return True

    def trim(self, sequence: Sequence) -> None:
        """Let go of blocks behind its tokens: they were taken for proposals that were wrong."""
        num_blocks = -(-len(sequence.token_ids) // self.block_size)
        for block in reversed(sequence.block_table[num_blocks:]):
            self._let_go(block)
        del sequence.block_table[num_blocks:]

    def publish(self, sequence: Sequence, start: int) -> None:
        """Name the blocks that filled up since `start` tokens were computed. A second equal one stays anonymous."""
        first, end = start // self.block_size, sequence.num_computed_tokens // self.block_size
        if first == end or not self._prefix_cache:
            return
        names = self._names(sequence, end)
        for index in range(first, end):
            name, block = names[index], sequence.block_table[index]
            if name not in self._block_named:
                self._forget_beginnings(sequence, index)
                self._make_findable(block, sequence, index, name)

    def release(self, sequence: Sequence) -> list[tuple[int, int]]:
        """Let go of all blocks. Gives (index, block id) of those that can still be found: their KV must live on."""
        self._publish_end(sequence)
        found = [(index, block) for index, block in enumerate(sequence.block_table) if block in self._content_of]
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

    def check_integrity(self, holders: Iterable[Sequence] = ()) -> None:
        """Recount everything against the sequences that hold blocks; raise EngineFailed at the first difference."""
        held = Counter(block for sequence in holders for block in sequence.block_table)
        num_idle = self.num_blocks - len(held)
        if self._num_holders.count(0) != num_idle or any(self._num_holders[b] != n for b, n in held.items()):
            raise EngineFailed("The KV cache lost count of who holds its blocks.")
        if len(self._free) != num_idle or any(block in self._free for block in held):
            raise EngineFailed("The KV cache lost blocks: some are neither held nor free, or both.")
        names = {content.name: block for block, content in self._content_of.items() if content.name is not None}
        children = {block for blocks in self._children.values() for block in blocks}
        if names != self._block_named or children != set(self._content_of) or not all(self._children.values()):
            raise EngineFailed("The KV cache's names and blocks disagree.")

    # -- blocks that can be found --------------------------------------------------------------------------------------

    def _best_child(self, parent: int, token_ids: list[int]) -> tuple[int, int]:
        """The block after `parent` that begins with the most of these tokens, and how many they are."""
        best, most = -1, 0
        for block in islice(reversed(self._children.get(parent, ())), MAX_CHILDREN_TRIED):
            num_equal = _num_equal(self._content_of[block].token_ids, token_ids)
            if num_equal > most:
                best, most = block, num_equal
        return best, most

    def _publish_end(self, sequence: Sequence) -> None:
        """Make the last tokens findable too, those that fill no block."""
        index, num_tokens = divmod(sequence.num_computed_tokens, self.block_size)
        if not num_tokens or not self._prefix_cache:
            return
        end = sequence.token_ids[index * self.block_size : sequence.num_computed_tokens]
        if self._best_child(self._parent(sequence, index), end)[1] < num_tokens:
            self._forget_beginnings(sequence, index)
            self._make_findable(sequence.block_table[index], sequence, index, None)

    def _make_findable(self, block: int, sequence: Sequence, index: int, name: int | None) -> None:
        start = index * self.block_size
        tokens = tuple(sequence.token_ids[start : min(start + self.block_size, sequence.num_computed_tokens)])
        content = _Content(name, self._parent(sequence, index), tokens)
        self._content_of[block] = content
        self._children.setdefault(content.parent, OrderedDict())[block] = None
        if name is not None:
            self._block_named[name] = block

    def _forget_beginnings(self, sequence: Sequence, index: int) -> None:
        """What holds only the beginning of this block of the sequence is of no more use."""
        parent = self._parent(sequence, index)
        start = index * self.block_size
        tokens = sequence.token_ids[start : min(start + self.block_size, sequence.num_computed_tokens)]
        for block in list(islice(reversed(self._children.get(parent, ())), MAX_CHILDREN_TRIED)):
            content = self._content_of[block]
            is_beginning = _num_equal(content.token_ids, tokens) == len(content.token_ids)
            if content.name is None and is_beginning and self._num_holders[block] == 0:
                self._forget(block)
                self._free.move_to_end(block, last=False)

    def _forget(self, block: int) -> None:
        content = self._content_of.pop(block)
        siblings = self._children[content.parent]
        del siblings[block]
        if not siblings:
            del self._children[content.parent]
        if content.name is not None:
            del self._block_named[content.name]
        self._evicted.append(block)

    # -- blocks that can be had ----------------------------------------------------------------------------------------

    def _take_free(self) -> int:
        block, _ = self._free.popitem(last=False)
        if block in self._content_of:
            self._forget(block)
        self._num_holders[block] = 1
        return block

    def _let_go(self, block: int) -> None:
        self._num_holders[block] -= 1
        if self._num_holders[block] == 0:
            self._free[block] = None
            if block not in self._content_of:
                self._free.move_to_end(block, last=False)   # nothing is lost by taking this one

    # -- names ---------------------------------------------------------------------------------------------------------

    def _num_prefix_blocks(self, sequence: Sequence) -> int:
        return (len(sequence.token_ids) - 1) // self.block_size

    def _parent(self, sequence: Sequence, index: int) -> int:
        return self._names(sequence, index)[-1] if index else _root(sequence)

    def _names(self, sequence: Sequence, num_blocks: int) -> list[int]:
        """Names of the first `num_blocks` full blocks. Each is computed once and kept in the sequence."""
        if not self._prefix_cache:
            return []
        names = sequence.block_hashes
        while len(names) < num_blocks:
            start = len(names) * self.block_size
            parent = names[-1] if names else _root(sequence)
            tokens = array("I", sequence.token_ids[start : start + self.block_size])
            key = parent.to_bytes(NAME_BYTES, "little")
            digest = blake2b(tokens.tobytes(), digest_size=NAME_BYTES, key=key).digest()
            names.append(int.from_bytes(digest, "little"))
        return names[:num_blocks]


def _root(sequence: Sequence) -> int:
    """The name of the beginning of a text: another for each cache key."""
    key = sequence.request.cache_key.encode()
    return int.from_bytes(blake2b(key, digest_size=NAME_BYTES, person=b"kv block chain").digest(), "little")


def _num_equal(one: Iterable[int], other: Iterable[int]) -> int:
    """Length of the common beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
