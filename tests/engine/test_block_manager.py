"""The prefix cache alone: what is found, what is kept, what goes first."""

from __future__ import annotations

import struct
from hashlib import blake2b

import pytest

from engine.block_manager import BlockManager, Prefix
from engine.block_names import names
from engine.errors import EngineFailed
from engine.request import Sequence
from tests.engine.driving import request


def manager(num_blocks: int = 8, block_size: int = 4, *, prefix_cache: bool = True) -> BlockManager:
    return BlockManager(num_blocks=num_blocks, block_size=block_size, prefix_cache=prefix_cache)


def computed(blocks: BlockManager, text: str, *, cache_key: str = "", num_shared_tokens: int = 0) -> Sequence:
    """A sequence whose tokens have all been computed, with what was cached taken from the cache."""
    sequence = Sequence.of(request("r", text, cache_key=cache_key, num_shared_tokens=num_shared_tokens))
    assert blocks.take(sequence, len(text), blocks.match(sequence))
    sequence.num_computed_tokens = len(text)
    blocks.publish(sequence, 0)
    return sequence


def matched(blocks: BlockManager, text: str, *, cache_key: str = "") -> list[int]:
    """The whole blocks."""
    return found(blocks, text, cache_key=cache_key).whole(blocks.block_size).blocks


def found(blocks: BlockManager, text: str, *, cache_key: str = "", num_shared_tokens: int = 0) -> Prefix:
    return blocks.match(Sequence.of(request("m", text, cache_key=cache_key, num_shared_tokens=num_shared_tokens)))


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
    assert found(blocks, "aaaabbbb") == Prefix(table, 7)
    assert matched(blocks, "aaaabbbb_") == table


def test_of_a_block_as_many_tokens_are_found_as_agree() -> None:
    blocks = manager()
    table = computed(blocks, "aaaabbbbcc").block_table
    assert found(blocks, "aaaabb__") == Prefix(table[:2], 6)
    assert found(blocks, "a_") == Prefix(table[:1], 1)
    assert found(blocks, "_") == Prefix()


def test_the_end_of_a_prompt_is_found_as_soon_as_it_is_computed_and_still_when_it_has_grown() -> None:
    blocks = manager()
    sequence = Sequence.of(request("r", "aaaabb"))
    assert blocks.take(sequence, 6)
    sequence.num_computed_tokens = 5
    blocks.publish(sequence, 0)
    assert found(blocks, "aaaabbb") == Prefix(sequence.block_table[:1], 4)
    sequence.num_computed_tokens = 6
    blocks.publish(sequence, 5)
    assert found(blocks, "aaaabbb") == Prefix(sequence.block_table, 6)
    for token_id in (98, 99):                                        # it says "bc"
        sequence.token_ids.append(token_id)
        start, sequence.num_computed_tokens = sequence.num_computed_tokens, len(sequence.token_ids)
        blocks.publish(sequence, start)
    assert found(blocks, "aaaabbb__") == Prefix(sequence.block_table, 7)
    assert blocks.num_cached_blocks == 2
    blocks.check_integrity([sequence])


def test_the_end_of_a_released_sequence_is_found_too_though_it_fills_no_block() -> None:
    blocks = manager()
    sequence = computed(blocks, "aaaabb")
    table = sequence.block_table
    assert blocks.release(sequence) == [(0, table[0]), (1, table[1])]
    assert found(blocks, "aaaabbb") == Prefix(table, 6)
    assert found(blocks, "aaaab") == Prefix(table[:1], 4)            # the last token is computed
    blocks.check_integrity()


def test_the_best_of_several_blocks_that_go_on_from_a_prefix_is_found() -> None:
    blocks = manager()
    tables = [computed(blocks, text).block_table for text in ("aaaabccc", "aaaabbcc", "aaaacccc")]
    assert found(blocks, "aaaabbb_") == Prefix([tables[0][0], tables[1][1]], 6)


def test_an_end_that_was_written_on_is_forgotten() -> None:
    blocks = manager()
    end = computed(blocks, "aaaabb")
    blocks.release(end)
    assert blocks.num_cached_blocks == 2
    goes_on = Sequence.of(request("r", "aaaabbbb"))
    assert blocks.take(goes_on, 8, blocks.match(goes_on))
    assert blocks.collect_evicted() == []
    goes_on.num_computed_tokens = 8
    blocks.publish(goes_on, 6)
    assert blocks.num_cached_blocks == 2
    blocks.release(goes_on)
    assert len(blocks.collect_evicted()) == 1
    blocks.check_integrity()


def test_a_block_that_is_only_read_from_is_not_taken_and_keeps_its_content_in_this_step() -> None:
    blocks = manager(num_blocks=4)
    blocks.release(computed(blocks, "aaaabbbb"))
    sequence = Sequence.of(request("r", "aaaabb__"))
    prefix = blocks.match(sequence)
    assert blocks.take(sequence, 8, prefix)
    assert sequence.block_table[0] == prefix.blocks[0]
    assert sequence.block_table[1] != prefix.blocks[1]
    assert not blocks.take(Sequence.of(request("o", "x" * 8)), 8)    # of four blocks one is free
    assert blocks.collect_evicted() == []
    assert blocks.take(Sequence.of(request("o", "x" * 8)), 8)
    assert blocks.collect_evicted() == [prefix.blocks[1]]


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


def test_whole_blocks_of_what_all_may_share_are_found_with_any_key_and_no_more() -> None:
    blocks = manager()
    table = computed(blocks, "aaaabbbbsscc", cache_key="ann", num_shared_tokens=10).block_table
    for text, num_tokens in (("aaaabbbbsscc_", 8), ("aaaabbbb", 4), ("aaaabbbx", 4), ("aaax", 0)):
        theirs = found(blocks, text, cache_key="ben", num_shared_tokens=10)
        assert (theirs.blocks, theirs.num_tokens) == (table[: num_tokens // 4], num_tokens)
    assert found(blocks, "aaaabbbbsscc_", cache_key="ann", num_shared_tokens=10).num_tokens == 12
    assert found(blocks, "aaaabbbbssc", cache_key="ann", num_shared_tokens=10).num_tokens == 10
    assert found(blocks, "aaaabbbbsscc_", cache_key="ben").num_tokens == 0


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
    table = first.block_table
    assert blocks.release(second) == []                  # its back end need not keep anything
    assert blocks.release(first) == [(0, table[0]), (1, table[1])]


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
    assert (len(prefix.blocks), prefix.num_tokens) == (2, 8)
    assert not blocks.take(sequence, 13, prefix)
    assert blocks.take(sequence, 12, prefix)
    assert blocks.collect_evicted() == []


def test_spare_blocks_are_left_to_others() -> None:
    blocks = manager(num_blocks=3)
    assert not blocks.take(Sequence.of(request("r", "a" * 8)), 8, spare=2)
    assert blocks.take(Sequence.of(request("r", "a" * 8)), 8, spare=1)


def test_nameless_blocks_are_retaken_before_cached_ones_and_ends_before_beginnings() -> None:
    blocks = manager(num_blocks=4)
    sequence = computed(blocks, "aaaabbbbcccc")
    assert blocks.take(sequence, 13)             # room for more, never written
    blocks.release(sequence)
    other = Sequence.of(request("o", "x" * 4))
    assert blocks.take(other, 4)
    assert blocks.collect_evicted() == []        # the empty block went first
    assert blocks.take(other, 8)
    assert len(matched(blocks, "aaaabbbbcccc_")) == 2
    assert len(blocks.collect_evicted()) == 1
    assert blocks.collect_evicted() == []        # each is told once


def test_the_least_recently_used_prefix_goes_first() -> None:
    blocks = manager(num_blocks=3)
    blocks.release(computed(blocks, "aaaa"))
    blocks.release(computed(blocks, "bbbb"))
    blocks.release(computed(blocks, "aaaac"))    # uses the older one again; its own block is the third
    assert blocks.take(Sequence.of(request("o", "x" * 4)), 4)
    assert matched(blocks, "bbbb_") == []
    assert len(matched(blocks, "aaaa_")) == 1


def test_a_running_sequence_tells_which_names_are_coming() -> None:
    blocks = manager()
    running, waiting = Sequence.of(request("1", "aaaabbbbc")), Sequence.of(request("2", "aaaabbbbd"))
    assert blocks.take(running, 9)
    assert blocks.next_name(waiting, Prefix()) in blocks.coming_names(running)
    running.num_computed_tokens = 4
    blocks.publish(running, 0)
    assert blocks.next_name(waiting, Prefix()) not in blocks.coming_names(running)
    prefix = blocks.match(waiting)
    assert prefix.num_tokens == 4
    assert blocks.next_name(waiting, prefix) in blocks.coming_names(running)
    running.num_computed_tokens = 9
    blocks.publish(running, 4)
    assert blocks.next_name(waiting, blocks.match(waiting)) is None


def test_a_lost_block_is_noticed() -> None:
    blocks = manager()
    sequence = computed(blocks, "aaaabbbb")
    with pytest.raises(EngineFailed, match="lost count"):
        blocks.check_integrity()
    sequence.block_table.pop()
    with pytest.raises(EngineFailed, match="lost count"):
        blocks.check_integrity([sequence])


@pytest.mark.parametrize("num_shared_tokens", [0, 5, 8, 40])
def test_blocks_have_the_same_names_whether_they_are_named_together_or_one_by_one(num_shared_tokens: int) -> None:
    together, single = (
        Sequence.of(request("r", "aaaabbbbccccdddde", cache_key="ann", num_shared_tokens=num_shared_tokens))
        for _ in range(2)
    )
    one_by_one = [names(single, number, 4)[-1] for number in range(1, 5)]
    assert names(together, 4, 4) == one_by_one
    assert len(set(one_by_one)) == 4
