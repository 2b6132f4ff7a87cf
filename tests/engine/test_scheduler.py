"""Computed tokens catch up with tokens, and what follows: batching, chunks, prefixes, preemption, abort, fairness."""

from __future__ import annotations

import pytest

from engine.backends.scripted import ScriptedBackend
from engine.batch import Release
from engine.params import SamplingParams
from engine.request import FinishReason
from engine.steps_at_once import StepsAtOnce
from tests.engine.driving import Driver, request


def driver(script: str = "0123456789abcdef", **limits: int | bool) -> Driver:
    limits = {"block_size": 4, "num_blocks": 64, "max_num_batched_tokens": 32} | limits
    return Driver(ScriptedBackend(script, **limits))      # type: ignore[arg-type]


def running_ids(drive: Driver) -> list[str]:
    return [sequence.request.request_id for sequence in drive.scheduler._running]


class TestOneSequence:
    def test_the_prompt_is_computed_in_one_step_and_each_further_token_in_one_more(self) -> None:
        drive = driver()
        assert drive.run(request("r", "hello", max_tokens=4)) == {"r": list(b"0123")}
        assert drive.steps == [(5,), (1,), (1,), (1,)]
        assert drive.ended == {"r": FinishReason.LENGTH}

    def test_a_token_that_ends_a_generation_is_not_part_of_it(self) -> None:
        drive = driver("01")
        assert drive.run(request("r", "hello", max_tokens=9)) == {"r": list(b"01")}
        assert drive.ended == {"r": FinishReason.STOP}

    def test_unless_it_is_to_be_ignored(self) -> None:
        drive = driver("01")
        (end,) = drive.backend.tokenizer.encode("<|im_end|>", add_special=False, parse_special=True)
        params = SamplingParams(temperature=0.0, ignore_eos=True)
        assert drive.run(request("r", "hello", max_tokens=4, params=params)) == {"r": [*b"01", end, end]}
        assert drive.ended == {"r": FinishReason.LENGTH}

    def test_the_window_ends_it(self) -> None:
        drive = driver(max_model_len=8)
        assert drive.run(request("r", "hello", max_tokens=100)) == {"r": list(b"012")}
        assert drive.ended == {"r": FinishReason.LENGTH}

    def test_and_so_do_all_blocks_where_they_hold_less_than_the_window(self) -> None:
        drive = driver(num_blocks=2)
        assert drive.backend.info.max_sequence_tokens == 8
        assert drive.run(request("r", "hello", max_tokens=100)) == {"r": list(b"012")}
        assert drive.ended == {"r": FinishReason.LENGTH}


class TestManySequences:
    def test_eight_at_once_share_steps(self) -> None:
        alone = driver()
        alone.run(request("r", "0 prompt", max_tokens=12))
        drive = driver(max_num_batched_tokens=64)
        texts = drive.run(*(request(f"r{n}", f"{n} prompt", max_tokens=12) for n in range(8)))
        assert set(map(bytes, texts.values())) == {b"0123456789ab"}
        assert len(alone.steps) == len(drive.steps) == 12
        assert drive.steps[1:] == [(1,) * 8] * 11

    def test_the_lowest_free_slot_is_given_first(self) -> None:
        drive = driver()
        drive.submit(*(request(f"r{n}", f"{n} prompt", max_tokens=9) for n in range(4)))
        assert [row.slot for row in drive.step().rows] == [0, 1, 2, 3]
        drive.abort("r2")
        drive.abort("r1")
        drive.submit(request("r4", "4 prompt"))
        batch = drive.step()
        assert [row.slot for row in batch.rows] == [0, 3, 1]
        assert [release.slot for release in batch.released] == [2, 1]

    def test_no_more_run_than_there_are_slots(self) -> None:
        drive = driver(max_num_seqs=2)
        texts = drive.run(*(request(f"r{n}", f"{n} prompt") for n in range(5)))
        assert set(map(bytes, texts.values())) == {b"0123"}
        assert max(map(len, drive.steps)) == 2

    def test_a_step_stays_within_its_budget_even_if_more_run(self) -> None:
        drive = driver(max_num_batched_tokens=3)
        texts = drive.run(*(request(f"r{n}", f"{n}") for n in range(5)))
        assert set(map(bytes, texts.values())) == {b"0123"}
        assert max(map(sum, drive.steps)) == 3


class TestChunkedPrefill:
    def test_a_prompt_longer_than_the_budget_takes_several_steps(self) -> None:
        drive = driver(max_num_batched_tokens=10)
        assert drive.run(request("r", "x" * 25, max_tokens=2)) == {"r": list(b"01")}
        assert drive.steps == [(10,), (10,), (5,), (1,)]

    def test_only_the_last_chunk_wants_a_token(self) -> None:
        drive = driver(max_num_batched_tokens=10)
        drive.submit(request("r", "x" * 15))
        assert drive.step().rows[0].sampling is None
        assert drive.step().rows[0].sampling is not None

    def test_it_never_holds_back_the_next_token_of_others(self) -> None:
        drive = driver(max_num_batched_tokens=16)
        drive.submit(request("a", "aaa", max_tokens=12), request("b", "bbb", max_tokens=12))
        drive.step()
        drive.submit(request("long", "x" * 60))
        for _ in range(4):
            drive.step()
        assert drive.steps[1:] == [(1, 1, 14)] * 4
        assert drive.output_ids("a") == list(b"01234")

    def test_those_admitted_after_it_get_their_tokens_as_well(self) -> None:
        drive = driver(max_num_batched_tokens=16)
        drive.submit(request("long", "x" * 100))
        drive.step()
        drive.submit(request("short", "yy", max_tokens=3))
        for _ in range(3):
            drive.step()
        assert drive.ended == {"short": FinishReason.LENGTH}
        assert drive.steps == [(16,), (14, 2), (1, 15), (1, 15)]

    def test_a_long_prompt_leaves_a_quarter_to_those_behind_it_if_there_are_any(self) -> None:
        drive = driver(max_num_batched_tokens=32)
        drive.submit(request("long", "x" * 120))
        drive.step()
        drive.submit(request("other", "y" * 60))
        drive.step()
        assert drive.steps == [(32,), (24, 8)]


class TestPrefixCache:
    def test_a_second_request_computes_only_what_is_new(self) -> None:
        drive = driver()
        drive.run(request("first", "system prompt, hello"))
        drive.run(request("second", "system prompt, other"))
        assert drive.cached == {"first": 0, "second": 15}     # the last three of them copied out of a block
        assert drive.steps[0] == (20,)
        assert drive.steps[4] == (5,)

    def test_the_first_row_says_which_blocks_are_restored(self) -> None:
        drive = driver()
        drive.run(request("first", "aaaabbbbcccc"))
        drive.submit(request("second", "aaaabbbbxxxx"))
        row = drive.step().rows[0]
        assert (row.restored_blocks, row.position, bytes(row.token_ids)) == (row.block_table[:2], 8, b"xxxx")
        assert drive.step().rows[0].restored_blocks == []

    def test_output_is_cached_like_prompt_so_that_a_chat_goes_on_where_it_was(self) -> None:
        drive = driver()
        drive.run(request("turn 1", "hello ", max_tokens=7))
        drive.run(request("turn 2", "hello 0123456 and on"))
        assert drive.cached["turn 2"] == 12                   # of 13 tokens the last was never computed

    def test_the_same_prompt_again_computes_its_last_token_for_its_logits(self) -> None:
        drive = driver()
        drive.run(request("first", "aaaabbbb"))
        assert drive.run(request("again", "aaaabbbb")) == {"again": list(b"0123")}
        assert drive.cached["again"] == 7

    def test_a_release_names_what_must_outlive_the_slot(self) -> None:
        drive = driver()
        drive.submit(request("r", "aaaabbbbcc", max_tokens=1))
        table = drive.step().rows[0].block_table
        assert drive.step().released == [Release(slot=0, kept_blocks=[(0, table[0]), (1, table[1]), (2, table[2])])]

    def test_a_request_waits_for_a_prefix_that_another_is_computing(self) -> None:
        drive = driver(max_num_batched_tokens=32)
        prefix = "p" * 60
        drive.submit(request("first", prefix + "1"), request("second", prefix + "2"), request("other", "oo"))
        drive.step()
        assert running_ids(drive) == ["first", "other"]       # and others may pass
        drive.run()
        assert drive.cached == {"first": 0, "second": 60, "other": 0}
        assert sum(map(sum, drive.steps)) == 61 + 1 + 2 + 3 * 3

    def test_but_not_for_one_that_was_aborted_meanwhile(self) -> None:
        drive = driver(max_num_batched_tokens=8)
        drive.submit(request("first", "p" * 16 + "1"), request("second", "p" * 16 + "2"))
        drive.step()
        drive.abort("first")
        drive.step()
        assert running_ids(drive) == ["second"]
        drive.run()
        assert drive.cached["second"] == 8                    # what the first had computed by then

    @pytest.mark.parametrize("num_tokens, cached, steps", [
        (15, 14, [(15,), (1, 1, 1)]),        # though its end fills no block
        (16, 15, [(16,), (1, 1, 1)]),
        (3, 0, [(3, 3, 3)]),                 # less than a block: nobody waits, all have it in one step
    ])
    def test_several_answers_to_one_prompt_compute_it_once(
        self, num_tokens: int, cached: int, steps: list[tuple[int, ...]]
    ) -> None:
        drive = driver(max_num_batched_tokens=32)
        drive.run(*(request(f"choice {n}", "p" * num_tokens, max_tokens=2) for n in range(3)))
        assert drive.steps[: len(steps)] == steps
        assert drive.cached == {"choice 0": 0, "choice 1": cached, "choice 2": cached}

    def test_users_with_a_cache_key_share_nothing_and_do_not_wait_for_each_other(self) -> None:
        drive = driver(max_num_batched_tokens=32)
        prompt = "p" * 12
        drive.submit(request("ann", prompt, cache_key="ann"), request("ben", prompt, cache_key="ben"))
        drive.step()
        assert drive.steps == [(12, 12)]
        drive.run(request("ann again", prompt, cache_key="ann"))
        assert drive.cached["ann again"] == 11

    def test_a_back_end_without_one_computes_everything(self) -> None:
        drive = driver(prefix_cache=False)
        for request_id in ("first", "second"):
            drive.run(request(request_id, "aaaabbbbcccc"))
        assert drive.cached == {"first": 0, "second": 0}
        assert drive.steps[4] == (12,)


class TestPreemption:
    def test_the_newest_makes_room_and_goes_on_exactly(self) -> None:
        drive = driver(num_blocks=6, max_num_batched_tokens=16)
        texts = drive.run(*(request(name, name * 6, max_tokens=12) for name in "ab"))
        assert set(map(bytes, texts.values())) == {b"0123456789ab"}
        assert drive.scheduler.counters.preemptions == 1

    def test_what_it_had_computed_is_found_again(self) -> None:
        drive = driver(num_blocks=7, max_num_batched_tokens=16)
        drive.submit(*(request(name, name * 8, max_tokens=12) for name in "ab"))
        while not drive.scheduler.counters.preemptions:
            drive.step()
        computed = sum(map(sum, drive.steps))
        drive.run()
        assert drive.scheduler.counters.preemptions == 1
        lost = sum(map(sum, drive.steps)) - computed
        assert lost < 8 + 12                                  # not its whole text
        assert drive.cached == {"a": 0, "b": 0}               # of the prompt, at first admission

    def test_it_comes_back_before_those_that_never_ran(self) -> None:
        drive = driver(num_blocks=6, max_num_batched_tokens=16, max_num_seqs=2)
        drive.submit(*(request(name, name * 6, max_tokens=12) for name in "ab"), request("c", "c", max_tokens=12))
        drive.run()
        assert list(drive.ended) == ["a", "b", "c"]

    def test_a_prompt_that_fills_all_blocks_but_one_token_is_answered(self) -> None:
        drive = driver(num_blocks=4, max_num_batched_tokens=5)
        assert drive.run(request("r", "x" * 15, max_tokens=100)) == {"r": list(b"0")}

    def test_a_newcomer_that_would_be_preempted_at_once_is_not_admitted(self) -> None:
        drive = driver(num_blocks=5)
        drive.submit(request("a", "a" * 8, max_tokens=4), request("b", "b" * 12, max_tokens=2))
        drive.step()
        assert running_ids(drive) == ["a"]                    # which needs the fifth block for its next token
        drive.run()
        assert drive.scheduler.counters.preemptions == 0

    def test_many_that_fit_only_one_by_one_all_end(self) -> None:
        drive = driver(num_blocks=5, max_num_batched_tokens=16)
        texts = drive.run(*(request(name, name * 7, max_tokens=12) for name in "abcdef"))
        assert set(map(bytes, texts.values())) == {b"0123456789ab"}


class TestStepsAtOnce:
    """Of a back end that gives several tokens of each row where it is asked for them."""

    def test_only_where_nothing_but_next_tokens_is_wanted(self) -> None:
        drive = driver(max_steps=4, num_tokens_ahead=4, max_num_batched_tokens=16)
        drive.submit(request("a", "0123456789" * 2, max_tokens=9), request("b", "abc", max_tokens=6))
        batches = []
        while drive.scheduler.has_work:
            batches.append(drive.step())
        assert [(len(batch.rows), batch.num_steps) for batch in batches if batch.rows] == [
            (2, 1), (2, 1), (2, 1), (2, 4), (1, 3),
        ]
        assert {name: len(tokens) for name, tokens in drive.tokens.items()} == {"a": 9, "b": 6}

    def test_no_more_than_anybody_still_wants(self) -> None:
        drive = driver(max_steps=8, num_tokens_ahead=8)
        drive.submit(request("a", "abc", max_tokens=4), request("b", "abd", max_tokens=6))
        drive.step()
        assert drive.step().num_steps == 1, "what a step takes is not known yet"
        assert drive.step().num_steps == 4
        assert {name: len(tokens) for name, tokens in drive.tokens.items()} == {"a": 4, "b": 6}

    def test_the_end_of_a_text_is_its_end_though_more_was_computed(self) -> None:
        drive = driver("ab", max_steps=8)
        drive.run(request("a", "x", max_tokens=100))
        assert bytes(drive.output_ids("a")) == b"ab"
        assert drive.ended["a"] is FinishReason.STOP

    def test_one_by_one_where_a_guess_may_be_tried(self) -> None:
        drive = driver("abc" * 20, max_steps=4, can_speculate=True)
        drive.submit(request("a", "abc" * 4, max_tokens=50))
        batches = []
        while drive.scheduler.has_work:
            batches.append(drive.step())
        assert {batch.num_steps for batch in batches} == {1}
        assert drive.scheduler.counters.proposed_tokens > 0

    @pytest.mark.parametrize(("step_s", "num_sequences", "num_steps"), [
        (0.009, 64, 1),         # long ones are felt already
        (0.0025, 64, 3), (0.0009, 64, 8), (0.0, 1, 8),
        (0.0009, 1, 1),         # what Python does for one is hidden behind the device
    ])
    def test_as_many_as_are_short(self, step_s: float, num_sequences: int, num_steps: int) -> None:
        steps = StepsAtOnce(8)
        assert steps.num_steps(num_sequences) == 1, "nothing is known yet"
        steps.learn(step_s)
        assert steps.num_steps(num_sequences) == num_steps


class TestAbort:
    def test_in_mid_prefill_slot_and_blocks_are_free_for_the_next_step(self) -> None:
        drive = driver(max_num_batched_tokens=8, max_num_seqs=1)
        drive.submit(request("long", "x" * 60), request("next", "y"))
        drive.step()
        drive.abort("long")
        assert drive.scheduler.blocks.num_free_blocks == 64
        batch = drive.step()
        assert [release.slot for release in batch.released] == [0]
        assert [row.slot for row in batch.rows] == [0]
        drive.run()
        assert drive.ended == {"long": FinishReason.ABORT, "next": FinishReason.LENGTH}

    def test_a_waiting_one_never_starts(self) -> None:
        drive = driver(max_num_seqs=1)
        drive.submit(request("a", "a"), request("b", "b"), request("c", "c"))
        drive.step()
        drive.abort("b")
        drive.run()
        assert drive.output_ids("b") == []
        assert sum(map(sum, drive.steps)) == 2 * 4

    def test_an_unknown_one_is_no_matter(self) -> None:
        drive = driver()
        assert drive.scheduler.abort("nobody") is None
        drive.run(request("r", "a"))
        assert drive.scheduler.abort("r") is None


class TestFairness:
    def test_one_users_hundred_do_not_starve_anothers_one(self) -> None:
        drive = driver(max_num_seqs=2)
        drive.submit(*(request(f"a{n}", f"{n}", user="ann", arrival_s=n) for n in range(100)))
        drive.step()
        drive.submit(request("b", "b", user="ben", arrival_s=100))
        while "b" not in drive.ended:
            drive.step()
        assert len(drive.ended) <= 4

    def test_users_take_turns(self) -> None:
        drive = driver(max_num_seqs=1)
        for user, start in (("ann", 0), ("ben", 10)):
            drive.submit(*(request(f"{user} {n}", f"{n}", user=user, arrival_s=start + n) for n in range(3)))
        drive.run()
        assert list(drive.ended) == ["ann 0", "ben 0", "ann 1", "ben 1", "ann 2", "ben 2"]

    def test_who_has_nothing_running_gets_a_slot_of_whom_has_most_at_once(self) -> None:
        drive = driver(max_num_seqs=3)
        many = [request(f"ann {n}", f"{n}" * 6, user="ann", max_tokens=14) for n in range(5)]
        drive.submit(*many)
        for _ in range(3):
            drive.step()
        drive.submit(request("ben", "ben", user="ben", max_tokens=2))
        drive.step()
        assert running_ids(drive) == ["ann 0", "ann 1", "ben"]
        drive.run()
        assert drive.scheduler.counters.preemptions == 1
        assert drive.steps[4:6] == [(1, 1, 1), (1, 1, 1)]        # the third came back, and computed nothing again
        assert all(drive.output_ids(each.request_id) == list(b"0123456789abcd") for each in many)

    def test_but_not_where_each_has_no_more_than_one_or_the_others_go_first(self) -> None:
        drive = driver(max_num_seqs=2)
        drive.submit(request("ann", "a", user="ann"), request("ben", "b", user="ben"), request("cem", "c", user="cem"))
        drive.run()
        drive.submit(*(request(f"first {n}", "a", user="ann", priority=0) for n in range(2)))
        drive.step()
        drive.submit(request("later", "b", user="ben", priority=1))
        drive.run()
        assert drive.scheduler.counters.preemptions == 0

    def test_nor_where_what_was_computed_would_be_lost(self) -> None:
        drive = driver(max_num_seqs=2, prefix_cache=False)
        drive.submit(request("1", "a", user="ann"), request("2", "a", user="ann"))
        drive.step()
        drive.submit(request("3", "b", user="ben"))
        drive.run()
        assert drive.scheduler.counters.preemptions == 0

    def test_a_lower_priority_number_goes_first(self) -> None:
        drive = driver(max_num_seqs=1)
        drive.submit(request("title", "t", priority=1), request("answer", "a", arrival_s=5))
        drive.run()
        assert list(drive.ended) == ["answer", "title"]

    def test_who_consumed_much_lately_comes_after_who_did_not(self) -> None:
        now = [0.0]
        backend = ScriptedBackend("0123", max_num_seqs=1)
        drive = Driver(backend, clock_s=lambda: now[0])
        drive.run(request("much", "x" * 2000, user="ann"))
        drive.submit(request("a", "a", user="ann"), request("b", "b", user="ben", arrival_s=1))
        drive.run()
        assert list(drive.ended) == ["much", "b", "a"]
        now[0] = 3600.0                                       # an hour later it is forgotten
        drive.submit(request("a2", "a", user="ann"), request("b2", "b", user="ben", arrival_s=1))
        drive.run()
        assert list(drive.ended)[3:] == ["a2", "b2"]

    def test_nobody_passes_a_large_prompt_that_waits_for_blocks(self) -> None:
        drive = driver(num_blocks=8)
        drive.submit(request("a", "a" * 14, max_tokens=6))
        drive.step()
        drive.submit(request("large", "l" * 24, arrival_s=1), request("small", "s", arrival_s=2))
        drive.run()
        assert list(drive.ended) == ["a", "large", "small"]

    def test_places_in_the_queue_are_told_when_they_change(self) -> None:
        drive = driver(max_num_seqs=1)

        def moves() -> dict[str, int | None]:
            drive.step()
            return {move.sequence.request.request_id: move.queue_position for move in drive.scheduler.moves()}

        drive.submit(*(request(name, name, max_tokens=2, arrival_s=n) for n, name in enumerate("abc")))
        assert moves() == {"b": 1, "c": 2}
        assert moves() == {}
        assert moves() == {"b": None, "c": 1}
        drive.submit(request("first", "f", max_tokens=2, priority=-1))
        assert moves() == {"first": 1, "c": 2}
        drive.abort("first")
        assert moves() == {"c": None}


def test_a_batch_and_its_output_must_agree() -> None:
    drive = driver()
    drive.submit(request("r", "hello"))
    batch = drive.scheduler.schedule()
    output = drive.backend.execute(batch)
    output.tokens.append(())
    with pytest.raises(ValueError, match="longer"):
        drive.scheduler.update(batch, output)
