"""The prefix cache alone: what is found, what is kept, what goes first."""

from __future__ import annotations

import struct
from hashlib import blake2b

import pytest

from engine.block_manager import BlockManager
from engine.errors import EngineFailed
from engine.request import Sequence
from tests.engine.driving import request


def manager(num_blocks: int = 8, block_size: int = 4, *, prefix_cache: bool = True) -> BlockManager:
    return BlockManager(num_blocks=num_blocks, block_size=block_size, prefix_cache=prefix_cache)


def computed(blocks: BlockManager, text: str, *, cache_key: str = "") -> Sequence:
    """A sequence whose tokens have all been computed, with what was cached taken from the cache."""
    sequence = Sequence.of(request("r", text, cache_key=cache_key))
    assert blocks.take(sequence, len(text), blocks.match(sequence))
    sequence.num_computed_tokens = len(text)
    blocks.publish(sequence, 0)
    return sequence


def matched(blocks: BlockManager, text: str, *, cache_key: str = "") -> list[int]:
    return blocks.match(Sequence.of(request("m", text, cache_key=cache_key)))


def test_nothing_is_found_in_an_empty_cache() -> None:
    assert matched(manager(), "aaaabbbbc") == []


def test_full_blocks_of_a_released_sequence_are_found_in_order() -> None:
    blocks = manager()
    table = computed(blocks, "aaaabbbbcc").block_table
    assert matched(blocks, "aaaabbbbxx") == table[:2]
    assert matched(blocks, "aaaaxxxx_") == table[:1]
    assert matched(blocks, "xxxxbbbb_") == []


def test_the_last_token_is_never_matched_so_that_there_are_logits() -> None:
    blocks = manager()
    table = computed(blocks, "aaaabbbb").block_table
    assert matched(blocks, "aaaabbbb") == table[:1]
    assert matched(blocks, "aaaabbbb_") == table


def test_equal_tokens_behind_another_beginning_are_another_block() -> None:
    blocks = manager()
    computed(blocks, "aaaabbbb")
    assert matched(blocks, "xxxxbbbb_") == []
    assert matched(blocks, "bbbb_") == []


def test_a_cache_key_keeps_prefixes_apart() -> None:
    blocks = manager()
    table = computed(blocks, "aaaabbbb", cache_key="ann").block_table
    assert matched(blocks, "aaaabbbb_", cache_key="ben") == []
    assert matched(blocks, "aaaabbbb_") == []
    assert matched(blocks, "aaaabbbb_", cache_key="ann") == table


def test_names_are_the_same_in_every_process() -> None:
    root = blake2b(b"", digest_size=16, person=b"kv block chain").digest()
    first = blake2b(struct.pack("<4I", *b"aaaa"), digest_size=16, key=root).digest()
    second = blake2b(struct.pack("<4I", *b"bbbb"), digest_size=16, key=first).digest()
    names = computed(manager(), "aaaabbbb").block_hashes
    assert names == [int.from_bytes(first, "little"), int.from_bytes(second, "little")]


def test_without_a_prefix_cache_nothing_has_a_name() -> None:
    blocks = manager(prefix_cache=False)
    sequence = computed(blocks, "aaaabbbb")
    assert blocks.release(sequence) == []
    assert matched(blocks, "aaaabbbb_") == []
    assert blocks.num_cached_blocks == 0
    assert blocks.num_free_blocks == 8


def test_a_running_and_a_matching_sequence_share_blocks() -> None:
    blocks = manager()
    first = computed(blocks, "aaaabbbbc")
    second = computed(blocks, "aaaabbbbd")
    assert second.block_table[:2] == first.block_table[:2]
    assert second.block_table[2] != first.block_table[2]
    assert blocks.num_free_blocks == 4
    blocks.check_integrity([first, second])
    blocks.release(first)
    assert blocks.num_free_blocks == 5           # its own last block
    blocks.check_integrity([second])


def test_a_block_computed_twice_keeps_its_first_name_and_the_second_is_anonymous() -> None:
    blocks = manager()
    first, second = Sequence.of(request("1", "aaaab")), Sequence.of(request("2", "aaaab"))
    for sequence in (first, second):             # both admitted before either was computed
        assert blocks.take(sequence, 5)
    for sequence in (first, second):
        sequence.num_computed_tokens = 5
        blocks.publish(sequence, 0)
    assert matched(blocks, "aaaa_") == first.block_table[:1]
    assert blocks.release(second) == []          # its back end need not keep anything
    assert blocks.release(first) == [(0, matched(blocks, "aaaa_")[0])]


def test_taking_is_all_or_nothing() -> None:
    blocks = manager(num_blocks=3)
    sequence = Sequence.of(request("r", "a" * 16))
    assert not blocks.take(sequence, 16)
    assert sequence.block_table == []
    assert blocks.num_free_blocks == 3
    assert blocks.take(sequence, 12)
    assert blocks.take(sequence, 12)             # nothing lacks: nothing is taken
    assert len(sequence.block_table) == 3
    assert not blocks.take(sequence, 13)


def test_idle_blocks_of_the_prefix_do_not_count_as_free_for_the_rest() -> None:
    blocks = manager(num_blocks=3)
    blocks.release(computed(blocks, "aaaabbbb"))
    sequence = Sequence.of(request("r", "aaaabbbbccccd"))
    prefix = blocks.match(sequence)
    assert len(prefix) == 2
    assert not blocks.take(sequence, 13, prefix)
    assert blocks.take(sequence, 12, prefix)
    assert blocks.collect_evicted() == []


def test_spare_blocks_are_left_to_others() -> None:
    blocks = manager(num_blocks=3)
    assert not blocks.take(Sequence.of(request("r", "a" * 8)), 8, spare=2)
    assert blocks.take(Sequence.of(request("r", "a" * 8)), 8, spare=1)


def test_nameless_blocks_are_retaken_before_cached_ones_and_ends_before_beginnings() -> None:
    blocks = manager(num_blocks=4)
    blocks.release(computed(blocks, "aaaabbbbccccd"))
    other = Sequence.of(request("o", "x" * 4))
    assert blocks.take(other, 4)
    assert blocks.collect_evicted() == []        # the half-full block went first
    assert blocks.take(other, 8)
    assert len(matched(blocks, "aaaabbbbcccc_")) == 2
    assert len(blocks.collect_evicted()) == 1
    assert blocks.collect_evicted() == []        # each is told once


def test_the_least_recently_used_prefix_goes_first() -> None:
    blocks = manager(num_blocks=3)
    blocks.release(computed(blocks, "aaaa"))
    blocks.release(computed(blocks, "bbbb"))
    blocks.release(computed(blocks, "aaaac"))    # uses the older one again; its own block is the third
    assert blocks.take(Sequence.of(request("o", "x" * 8)), 8)
    assert matched(blocks, "bbbb_") == []
    assert len(matched(blocks, "aaaa_")) == 1


def test_a_running_sequence_tells_which_names_are_coming() -> None:
    blocks = manager()
    running, waiting = Sequence.of(request("1", "aaaabbbbc")), Sequence.of(request("2", "aaaabbbbd"))
    assert blocks.take(running, 9)
    assert blocks.next_name(waiting, 0) in blocks.coming_names(running)
    running.num_computed_tokens = 4
    blocks.publish(running, 0)
    assert blocks.next_name(waiting, 0) not in blocks.coming_names(running)
    assert blocks.next_name(waiting, 1) in blocks.coming_names(running)
    assert blocks.next_name(waiting, 2) is None


def test_a_lost_block_is_noticed() -> None:
    blocks = manager()
    sequence = computed(blocks, "aaaabbbb")
    with pytest.raises(EngineFailed, match="lost count"):
        blocks.check_integrity()
    sequence.block_table.pop()
    with pytest.raises(EngineFailed, match="lost count"):
        blocks.check_integrity([sequence])
