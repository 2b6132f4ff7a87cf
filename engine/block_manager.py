"""Blocks of KV and their names: the prefix cache. The scheduler calls it, on the engine's thread.

A full block is named by a hash of its tokens and of the name before it, so equal names mean equal prefixes. A block
whose last holder left keeps its name and stays findable until it is taken for something else. What a block id *is* (an
address, or a piece of a pool of bytes) is the back end's affair; it hears of all that matters to it through `Batch`.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable
from hashlib import blake2b

from engine.errors import EngineFailed
from engine.request import Sequence

NAME_BYTES = 16   # of blake2b: two different prefixes never share a name, not even when somebody tries


class BlockManager:
    """Four verbs: `match` a cached prefix, `take` blocks for a sequence, `publish` what it computed, `release` all."""

    def __init__(self, *, num_blocks: int, block_size: int, prefix_cache: bool = True) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._prefix_cache = prefix_cache
        self._num_holders = [0] * num_blocks
        self._name_of: list[int | None] = [None] * num_blocks
        self._block_named: dict[int, int] = {}
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))   # next to be taken first
        self._evicted: list[int] = []

    @property
    def num_free_blocks(self) -> int:
        """Cached ones included: they can be had."""
        return len(self._free)

    @property
    def num_cached_blocks(self) -> int:
        return len(self._block_named)

    @property
    def named_blocks(self) -> frozenset[int]:
        return frozenset(self._block_named.values())

    def match(self, sequence: Sequence) -> list[int]:
        """Block ids of the longest cached prefix. It ends before the last token: one must be computed, for logits."""
        blocks: list[int] = []
        for name in self._names(sequence, self._num_prefix_blocks(sequence)):
            block = self._block_named.get(name)
            if block is None:
                break
            blocks.append(block)
        return blocks

    def take(self, sequence: Sequence, num_tokens: int, prefix: Iterable[int] = (), *, spare: int = 0) -> bool:
        """Grow the table to `num_tokens` tokens, beginning with a matched `prefix`, and leave `spare` blocks free.

        All or nothing: False, and nothing taken, if too few are free.
        """
        prefix = list(prefix)
        num_new = -(-num_tokens // self.block_size) - len(sequence.block_table) - len(prefix)
        if num_new <= 0 and not prefix:
            return True
        num_idle_in_prefix = sum(self._num_holders[block] == 0 for block in prefix)
        if num_new > len(self._free) - num_idle_in_prefix - spare:
            return False
        for block in prefix:
            if self._num_holders[block] == 0:
                del self._free[block]
            self._num_holders[block] += 1
        sequence.block_table += prefix
        sequence.block_table += [self._take_free() for _ in range(num_new)]
        return True

    def publish(self, sequence: Sequence, start: int) -> None:
        """Name the blocks that filled up since `start` tokens were computed. A second equal one stays anonymous."""
        first, end = start // self.block_size, sequence.num_computed_tokens // self.block_size
        if first == end or not self._prefix_cache:
            return
        names = self._names(sequence, end)
        for index in range(first, end):
            name, block = names[index], sequence.block_table[index]
            if name not in self._block_named:
                self._block_named[name] = block
                self._name_of[block] = name

    def release(self, sequence: Sequence) -> list[tuple[int, int]]:
        """Let go of all blocks. Gives (index, block id) of those that can still be found: their KV must live on."""
        named = [(index, block) for index, block in enumerate(sequence.block_table) if self._name_of[block] is not None]
        for block in reversed(sequence.block_table):   # the end of a chat goes before its beginning, which others share
            self._num_holders[block] -= 1
            if self._num_holders[block] == 0:
                self._free[block] = None
                if self._name_of[block] is None:
                    self._free.move_to_end(block, last=False)   # nothing is lost by taking this one
        sequence.block_table = []
        return named

    def coming_names(self, sequence: Sequence) -> list[int]:
        """Names that a running sequence is going to publish once its computed tokens have caught up."""
        names = self._names(sequence, len(sequence.token_ids) // self.block_size)
        return names[sequence.num_computed_tokens // self.block_size :]

    def next_name(self, sequence: Sequence, num_matched: int) -> int | None:
        """Name of the first full prompt block after a match; None where the rest of the prompt is less than that."""
        names = self._names(sequence, self._num_prefix_blocks(sequence))
        return names[num_matched] if num_matched < len(names) else None

    def collect_evicted(self) -> list[int]:
        """Blocks that lost their name since the last call."""
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
        num_named = self.num_blocks - self._name_of.count(None)
        if len(self._block_named) != num_named or any(self._name_of[b] != n for n, b in self._block_named.items()):
            raise EngineFailed("The KV cache's names and blocks disagree.")

    def _take_free(self) -> int:
        block, _ = self._free.popitem(last=False)
        name = self._name_of[block]
        if name is not None:
            del self._block_named[name]
            self._name_of[block] = None
            self._evicted.append(block)
        self._num_holders[block] = 1
        return block

    def _num_prefix_blocks(self, sequence: Sequence) -> int:
        return (len(sequence.token_ids) - 1) // self.block_size

    def _names(self, sequence: Sequence, num_blocks: int) -> list[int]:
        """Names of the first `num_blocks` full blocks. Each is computed once and kept in the sequence."""
        if not self._prefix_cache:
            return []
        names = sequence.block_hashes
        while len(names) < num_blocks:
            start = len(names) * self.block_size
            parent = names[-1].to_bytes(NAME_BYTES, "little") if names else _root(sequence.request.cache_key)
            tokens = array("I", sequence.token_ids[start : start + self.block_size])
            digest = blake2b(tokens.tobytes(), digest_size=NAME_BYTES, key=parent).digest()
            names.append(int.from_bytes(digest, "little"))
        return names[:num_blocks]


def _root(cache_key: str) -> bytes:
    return blake2b(cache_key.encode(), digest_size=NAME_BYTES, person=b"kv block chain").digest()
