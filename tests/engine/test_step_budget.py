"""The budget of a step follows what steps took: by a made-up machine's clock, never by this one's."""

from __future__ import annotations

import pytest

from engine.backends.scripted import ScriptedBackend
from engine.batch import Batch, BatchRow
from engine.request import Sequence
from engine.step_budget import StepBudget
from tests.engine.driving import Driver, request

TOKEN_S, DEEP_TOKEN_S = 3e-3, 1.5e-6       # of the starter model on two cores, at depth 0 and for each token before it


def budget(tokens_per_s: float = 1 / TOKEN_S, *, max_tokens: int = 513) -> StepBudget:
    backend = ScriptedBackend("x", max_num_batched_tokens=max_tokens, prefill_tokens_per_s=tokens_per_s)
    return StepBudget(backend.info)


def sequence(num_tokens: int, num_computed: int) -> Sequence:
    made = Sequence.of(request("r", [0] * num_tokens))
    made.num_computed_tokens = num_computed
    return made


def writes(depth: int = 100) -> Sequence:
    return sequence(depth + 1, depth)


def reads(depth: int) -> Sequence:
    return sequence(depth + 10_000, depth)


def machine_s(batch: Batch, slowness: float = 1.0) -> float:
    """What the made-up machine takes: attention costs twice as much in rows that fill no tile."""
    return slowness * sum(
        TOKEN_S + DEEP_TOKEN_S * (row.position + index) * (1 if len(row.token_ids) >= 64 else 2)
        for row in batch.rows
        for index in range(len(row.token_ids))
    )


def step(*rows: tuple[int, int]) -> Batch:
    """Of rows of (position, number of tokens)."""
    return Batch(rows=[
        BatchRow(slot=slot, token_ids=[0] * num_tokens, position=position, block_table=[])
        for slot, (position, num_tokens) in enumerate(rows)
    ])


def read_whole_prompt(steps: StepBudget, *beside: Sequence, slowness: float = 1.0) -> list[tuple[int, float]]:
    """(Tokens, seconds) of each step in which a prompt of 6,000 tokens is read."""
    taken: list[tuple[int, float]] = []
    depth = 0
    while depth < 6000:
        num_tokens = min(steps.num_tokens([*beside, reads(depth)]) - len(beside), 6000 - depth)
        batch = step(*((each.num_computed_tokens, 1) for each in beside), (depth, num_tokens))
        took_s = machine_s(batch, slowness)
        steps.learn(batch, took_s)
        taken.append((num_tokens, took_s))
        depth += num_tokens
    return taken


class TestBesideOthers:
    @pytest.mark.parametrize("tokens_per_s, expected", [
        (30_000, 512 + 1 + 2),   # the bound
        (1300, 192 + 1 + 2),     # whole tiles of 64, one token of the prompt more, and one for each that writes
        (330, 64 + 1 + 2),       # one tile, though it takes a little longer
        (100, 33 + 2),           # a tile would take too long
        (5, 8 + 2),              # fewer would waste the reading of the weights
    ])
    def test_a_step_is_short(self, tokens_per_s: float, expected: int) -> None:
        steps = budget(tokens_per_s, max_tokens=515)
        assert steps.num_tokens([writes(0), writes(0), reads(0)]) == expected

    def test_nobody_waits_half_a_second_however_deep_a_prompt_gets(self) -> None:
        taken = read_whole_prompt(budget(), writes(), writes(), writes())
        assert max(took_s for _, took_s in taken) < 0.45
        num_tokens = [each for each, _ in taken[:-1]]
        assert num_tokens[0] == 65
        assert num_tokens[-1] < 64                         # at the end no tile fits
        assert num_tokens == sorted(num_tokens, reverse=True)

    def test_a_slower_machine_than_was_thought_is_noticed_within_a_few_steps(self) -> None:
        taken = read_whole_prompt(budget(), writes(), slowness=4.0)
        assert taken[0][1] > 0.8
        assert max(took_s for _, took_s in taken[5:100]) < 0.45

    def test_one_step_that_was_held_up_is_no_reason_to_slow_down_for_long(self) -> None:
        steps = budget()
        before = steps.num_tokens([writes(), reads(0)])
        steps.learn(step((0, 65), (100, 1)), 10.0)
        for _ in range(4):
            steps.learn(step((0, 65), (100, 1)), machine_s(step((0, 65), (100, 1))))
        assert steps.num_tokens([writes(), reads(0)]) == before

    def test_many_that_write_leave_less_time(self) -> None:
        few, many = ([writes(500) for _ in range(number)] for number in (2, 40))
        assert budget().num_tokens([*few, reads(1500)]) == 64 + 1 + 2
        assert budget().num_tokens([*many, reads(1500)]) == 23 + 40


class TestAlone:
    def test_a_prompt_is_read_in_larger_pieces(self) -> None:
        taken = read_whole_prompt(budget())
        assert taken[0][0] == 3 * 64 + 1
        assert min(num_tokens for num_tokens, _ in taken[:-1]) >= 64
        assert max(took_s for _, took_s in taken) < 1.0

    def test_newcomers_alone_are_as_many_as_fit(self) -> None:
        steps = budget()
        assert steps.num_first_tokens(0, 1000) == 3 * 64 + 1
        assert steps.num_first_tokens(150, 20) == 2 * 64 + 1            # deeper, and so dearer
        assert steps.num_tokens([]) == 3 * 64 + 1 + 32                  # the most that one of them may get

    def test_the_last_part_of_a_tile_is_read_with_the_tiles_before_it(self) -> None:
        steps = budget()
        assert steps.num_first_tokens(0, 200) == 200
        assert steps.num_first_tokens(0, 240) == 3 * 64 + 1             # half a tile or more is a step of its own
        assert steps.num_tokens([sequence(350, 200)]) == 150

    def test_a_slow_machine_reads_less_at_a_time(self) -> None:
        assert budget(20).num_first_tokens(0, 1000) == 20


class TestLearning:
    def test_steps_that_only_write_tell_nothing_of_prompts(self) -> None:
        steps = budget()
        for _ in range(50):
            steps.learn(step((100, 1)), 0.02)
        assert steps.num_tokens([writes(), reads(0)]) == budget().num_tokens([writes(), reads(0)])

    def test_steps_that_verify_guesses_tell_nothing_of_prompts(self) -> None:
        steps = budget()
        before = steps.num_tokens([reads(0)])
        batch = step((100, 20))
        batch.rows[0].num_proposed = 19
        steps.learn(batch, 10.0)
        assert steps.num_tokens([reads(0)]) == before

    def test_a_step_deep_down_tells_little_of_what_begins(self) -> None:
        steps = budget()
        for _ in range(30):
            steps.learn(step((6000, 64)), 5 * machine_s(step((6000, 64))))
        assert steps.num_tokens([writes(), reads(6000)]) == 8 + 1
        assert steps.num_tokens([writes(), reads(0)]) > 40


class TestPromptsApart:
    def test_a_prompt_that_takes_longer_than_those_that_write_ends_its_step(self) -> None:
        steps = budget()
        steps.num_tokens([writes(), reads(0)])
        assert steps.is_enough(50)
        steps.num_tokens([*(writes() for _ in range(60)), reads(0)])
        assert not steps.is_enough(50)
        assert steps.is_enough(70)

    def test_small_ones_share_the_reading_of_the_weights(self) -> None:
        assert not budget().is_enough(10)
        assert not budget(30_000).is_enough(500)
        assert not budget(0).is_enough(500)

    def test_whoever_came_first_is_answered_first(self) -> None:
        drive = Driver(ScriptedBackend("0123", max_num_batched_tokens=513, prefill_tokens_per_s=1 / TOKEN_S))
        for name in "abc":
            drive.submit(request(name, name * 50))
        drive.step()
        assert drive.steps == [(50,)]
        assert [len(drive.tokens[name]) for name in "abc"] == [1, 0, 0]
        drive.step()
        drive.step()
        assert drive.steps == [(50,), (1, 50), (1, 1, 50)]

    def test_short_ones_come_together(self) -> None:
        drive = Driver(ScriptedBackend("0123", max_num_batched_tokens=513, prefill_tokens_per_s=1 / TOKEN_S))
        for name in "abc":
            drive.submit(request(name, name * 8))
        drive.step()
        assert drive.steps == [(8, 8, 8)]


class TestInTheScheduler:
    def test_without_a_speed_tokens_alone_count(self) -> None:
        drive = Driver(ScriptedBackend("x", max_num_batched_tokens=200))
        drive.submit(request("long", "x" * 500))
        drive.step()
        assert drive.steps == [(200,)]

    def test_a_newcomer_who_goes_on_deep_down_gets_a_small_piece(self) -> None:
        backend = ScriptedBackend("0123", max_num_batched_tokens=513, prefill_tokens_per_s=1 / TOKEN_S)
        drive = Driver(backend)
        drive.run(request("before", "x" * 3900, max_tokens=1))
        drive.submit(request("writes", "hello", max_tokens=9))
        drive.step()
        drive.submit(request("comes back", "x" * 3900 + "y" * 150))
        drive.step()
        assert drive.steps[-1] == (1, 24)


def test_a_long_prompt_that_enters_beside_others_gets_little_at_first() -> None:
    steps = budget()
    steps.num_tokens([writes()])
    assert steps.num_first_tokens(0, 6000) == 8
    assert steps.num_first_tokens(0, 200) == steps.num_prompt_tokens(0) == 65
    steps.num_tokens([])
    assert steps.num_first_tokens(0, 6000) == steps.num_prompt_tokens(0) > 65
