"""Names of a sequence's blocks: who can find them. `BlockManager` calls it, on the engine's thread.

People have cache keys of their own, and find nothing of each other's but the first blocks of a prompt, those of a
system prompt that many chats have in common; and of these only whole ones. Else a guess at what somebody else wrote
could be tried a token at a time, by what is told of the cache or by the clock.
"""

from __future__ import annotations

from engine.prefix_index import kept_apart, names_of, root_name
from engine.request import Request, Sequence


def names(sequence: Sequence, num_blocks: int, block_size: int) -> list[int]:
    """Of the first `num_blocks` full blocks. Each is computed once and kept in the sequence."""
    known = sequence.block_hashes
    num_shared = _num_shared(sequence.request, block_size) or 0
    while (first := len(known)) < num_blocks:
        end = num_shared if first < num_shared < num_blocks else num_blocks     # there its names begin anew
        tokens = sequence.token_ids[first * block_size : end * block_size]
        known += names_of(parent(sequence, first, block_size), tokens, block_size)
    return known[:num_blocks]


def parent(sequence: Sequence, index: int, block_size: int) -> int:
    """What the block at `index` goes on from. The names before it are known."""
    before = sequence.block_hashes[index - 1] if index else root_name()
    request = sequence.request
    return kept_apart(before, request.cache_key) if index == _num_shared(request, block_size) else before


def parent_of_part(sequence: Sequence, index: int, block_size: int) -> int | None:
    """The same, for a block of which a part will do; None where that must not be."""
    num_shared = _num_shared(sequence.request, block_size)
    return None if num_shared is not None and index < num_shared else parent(sequence, index, block_size)


def _num_shared(request: Request, block_size: int) -> int | None:
    """Blocks that everybody may share. None: all of them."""
    return request.num_shared_tokens // block_size if request.cache_key else None
