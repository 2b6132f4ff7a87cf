"""Which blocks can be found, by name and by what they continue. The block manager has one of those in memory, and
`DiskBlocks` one of those on disk; both on the engine's thread.

A block is named by a hash of its tokens and of the name before it, so equal names mean equal prefixes. One that is not
full, the end of a text, is not found by its name, but as a child of the block before it; so is any block whose first
tokens alone agree.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from engine.errors import EngineFailed

NAME_BYTES = 16         # of blake2b: two different prefixes never share a name, not even when somebody tries
MAX_CHILDREN_TRIED = 16     # of those that continue one prefix: what is to be gained is less than a block


class BlockContent(NamedTuple):
    """What a block holds. The tokens may be fewer than fill it. A tuple, since a step of prompts makes hundreds."""

    name: int
    parent: int                     # name of the block before it, or of the beginning
    token_ids: tuple[int, ...]

    @classmethod
    def of(cls, parent: int, token_ids: Iterable[int]) -> BlockContent:
        token_ids = tuple(token_ids)
        return cls(name_of(parent, token_ids), parent, token_ids)


class PrefixIndex:
    """Contents by an id: of a block in memory, or the name itself on disk."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._content_of: dict[int, BlockContent] = {}
        self._named: dict[int, int] = {}                        # ids of full blocks, by name
        self._children: dict[int, OrderedDict[int, None]] = {}  # by parent's name: ids, the latest last

    def __contains__(self, block: int) -> bool:
        return block in self._content_of

    def __len__(self) -> int:
        return len(self._content_of)

    def __iter__(self) -> Iterator[int]:
        return iter(self._content_of)

    def __getitem__(self, block: int) -> BlockContent:
        return self._content_of[block]

    def named(self, name: int) -> int | None:
        return self._named.get(name)

    def add(self, block: int, content: BlockContent) -> None:
        self._content_of[block] = content
        siblings = self._children.get(content.parent)
        if siblings is None:
            self._children[content.parent] = siblings = OrderedDict()
        siblings[block] = None
        if len(content.token_ids) == self._block_size:
            self._named[content.name] = block

    def remove(self, block: int) -> None:
        content = self._content_of.pop(block)
        siblings = self._children[content.parent]
        del siblings[block]
        if not siblings:
            del self._children[content.parent]
        if len(content.token_ids) == self._block_size:
            del self._named[content.name]

    def best_child(self, parent: int | None, token_ids: Sequence[int]) -> tuple[int, int]:
        """The block after `parent` that begins with the most of these tokens, and how many they are; of None, none."""
        best, most = -1, 0
        for block in () if parent is None else self._latest_children(parent):
            num_equal = num_in_common(self._content_of[block].token_ids, token_ids)
            if num_equal > most:
                best, most = block, num_equal
        return best, most

    def beginnings_of(self, content: BlockContent) -> list[int]:
        """Ends of texts that this block goes on with: they are of no more use."""
        return [
            block for block in self._latest_children(content.parent)
            if len(each := self._content_of[block].token_ids) < self._block_size
            and num_in_common(each, content.token_ids) == len(each) < len(content.token_ids)
        ]

    def check_integrity(self) -> None:
        full = {c.name: block for block, c in self._content_of.items() if len(c.token_ids) == self._block_size}
        children = {block for blocks in self._children.values() for block in blocks}
        if full != self._named or children != set(self._content_of) or not all(self._children.values()):
            raise EngineFailed("The KV cache's names and blocks disagree.")

    def _latest_children(self, parent: int) -> list[int]:
        children = self._children.get(parent)       # most have none
        return [] if children is None else list(islice(reversed(children), MAX_CHILDREN_TRIED))


def name_of(parent: int, token_ids: Iterable[int]) -> int:
    key = parent.to_bytes(NAME_BYTES, "little")
    digest = blake2b(array("I", [*token_ids]).tobytes(), digest_size=NAME_BYTES, key=key).digest()
    return int.from_bytes(digest, "little")


def names_of(parent: int, token_ids: list[int], block_size: int) -> list[int]:
    """`name_of` each of the blocks of this size that these tokens fill, the first of them behind `parent`.

    All in one go: a step of prompts has a thousand, and a GPU waits for them.
    """
    tokens = array("I", token_ids)
    content, width = tokens.tobytes(), block_size * tokens.itemsize
    name, names = parent.to_bytes(NAME_BYTES, "little"), []
    for end in range(width, len(content) + 1, width):
        name = blake2b(content[end - width : end], digest_size=NAME_BYTES, key=name).digest()
        names.append(int.from_bytes(name, "little"))
    return names


def root_name() -> int:
    """The name of the beginning of a text."""
    return int.from_bytes(blake2b(digest_size=NAME_BYTES, person=b"kv block chain").digest(), "little")


def kept_apart(parent: int, cache_key: str) -> int:
    """What goes on here is found by who has the key, and by nobody else."""
    key = parent.to_bytes(NAME_BYTES, "little")
    digest = blake2b(cache_key.encode(), digest_size=NAME_BYTES, key=key, person=b"kv cache key").digest()
    return int.from_bytes(digest, "little")


def num_in_common(one: Iterable[int], other: Iterable[int]) -> int:
    """Length of the common beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
