"""Proposed tokens are only more tokens: what is said is what would have been said without them, in fewer steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.backends.scripted import ScriptedBackend
from engine.batch import BatchRow, SamplingInput
from engine.params import SamplingParams
from engine.proposer import FIRST_CHANCES, MAX_INDEXED_TOKENS, PromptLookup
from engine.request import FinishReason, Sequence
from engine.sampler import sample_row
from engine.speculation import MAX_PROPOSED, Cost, Speculation, StepCosts, num_worthwhile
from tests.engine.conformance import scripted_logits
from tests.engine.driving import Driver, request
from tests.engine.guessing import Guesser, knowing

END = 258


def driver(script: str = "0123456789abcdef", *, says: list[int] | None = None, **limits: int | bool) -> Driver:
    """Of one engine whose proposer knows that `says` follows the prompt "hello"; left out, that the script does."""
    limits = {"block_size": 4, "num_blocks": 64, "max_num_batched_tokens": 40, "can_speculate": True} | limits
    backend = ScriptedBackend(script, **limits)           # type: ignore[arg-type]
    return Driver(backend, proposer=knowing([[*b"hello", *(list(script.encode()) if says is None else says)]]))


def sequence_of(text: str) -> Sequence:
    return Sequence.of(request("r", text))


class TestTheScheduler:
    def test_what_was_guessed_right_comes_in_one_step_and_a_token_more(self) -> None:
        drive = driver()
        assert drive.run(request("r", "hello", max_tokens=16)) == {"r": list(b"0123456789abcdef")}
        assert drive.steps == [(5,), (1,), (14,)]          # a step to compare with; then one token and 13 guesses
        assert drive.scheduler.counters.proposed_tokens == drive.scheduler.counters.accepted_tokens == 13

    def test_what_was_guessed_wrong_does_not_count_nor_what_follows_it(self) -> None:
        drive = driver(says=[*b"012#456789"])
        drive.submit(request("r", "hello", max_tokens=10))
        drive.step()
        drive.step()
        batch = drive.step()
        assert (batch.rows[0].token_ids, batch.rows[0].num_proposed) == (list(b"12#45678"), 7)
        assert drive.output_ids("r") == list(b"0123")
        (sequence,) = drive.scheduler._running
        assert (sequence.num_computed_tokens, len(sequence.token_ids)) == (8, 9)
        assert len(sequence.block_table) == 3              # of 4 tokens: those taken for the guesses are free again
        drive.scheduler.check_integrity()
        drive.run()
        assert drive.output_ids("r") == list(b"0123456789")
        assert drive.scheduler.counters.accepted_tokens == 1

    def test_an_end_among_the_guesses_is_the_end(self) -> None:
        drive = driver("0123", says=[*b"0123", END, *b"more"])
        assert drive.run(request("r", "hello", max_tokens=16)) == {"r": list(b"0123")}
        assert drive.ended == {"r": FinishReason.STOP}
        assert drive.steps == [(5,), (1,), (8,)]

    def test_an_end_that_was_not_guessed_is_the_end(self) -> None:
        drive = driver("0123", says=[*b"01234567"])
        assert drive.run(request("r", "hello", max_tokens=16)) == {"r": list(b"0123")}
        assert drive.ended == {"r": FinishReason.STOP}

    def test_what_came_of_guesses_is_found_by_who_comes_next(self) -> None:
        drive = driver(says=[*b"01234#67"])
        said = drive.run(request("r", "hello", max_tokens=9))["r"]
        drive.run(request("next", [*b"hello", *said, *b"and"], max_tokens=3))
        assert drive.cached["next"] == 13                  # all but the last that was said

    def test_it_has_an_end_at_max_tokens_and_at_the_window(self) -> None:
        drive = driver()
        assert drive.run(request("r", "hello", max_tokens=5)) == {"r": list(b"01234")}
        assert drive.steps == [(5,), (1,), (3,)]
        drive = driver(max_model_len=12)
        assert drive.run(request("r", "hello", max_tokens=99)) == {"r": list(b"0123456")}
        assert drive.ended == {"r": FinishReason.LENGTH}

    def test_a_step_has_no_more_tokens_than_its_budget(self) -> None:
        drive = driver(max_num_batched_tokens=8)
        drive.run(request("r", "hello", max_tokens=16))
        assert drive.steps == [(5,), (1,), (8,), (6,)]

    def test_nobody_is_sent_away_for_a_guess(self) -> None:
        """Two sequences that end with all blocks but one held."""
        drive = driver(num_blocks=9)
        drive.run(request("r", "hello", max_tokens=9), request("s", "other", max_tokens=9))
        assert drive.scheduler.counters.preemptions == 0
        assert drive.scheduler.counters.accepted_tokens > 0

    def test_nobody_waits_for_a_guess(self) -> None:
        """While a prompt is computed nothing is guessed, so it is computed as soon as it would have been."""
        drive = driver(max_num_batched_tokens=16)
        drive.submit(request("r", "hello", max_tokens=16))
        drive.step()
        drive.step()
        drive.submit(request("long", "x" * 40, max_tokens=1))
        drive.run()
        assert drive.steps[2:] == [(1, 15), (1, 15), (1, 10), (11,)]

    def test_a_back_end_that_cannot_drop_kv_is_given_none(self) -> None:
        drive = driver(can_speculate=False)
        drive.run(request("r", "hello", max_tokens=16))
        assert len(drive.steps) == 16

    def test_a_proposer_forgets_who_ends_and_who_is_preempted(self) -> None:
        proposer = Guesser(lambda token_ids: None)
        backend = ScriptedBackend("0123456789abcdef", block_size=4, num_blocks=8, can_speculate=True)
        drive = Driver(backend, proposer=proposer)
        drive.run(*(request(f"r{n}", f"{n} prompt", max_tokens=14) for n in range(3)))
        assert drive.scheduler.counters.preemptions > 0
        assert not proposer.followed


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=0.0, ignore_eos=True, logprobs=3),
        SamplingParams(temperature=0.0, ignore_eos=True, repetition_penalty=1.5),
        SamplingParams(temperature=0.0, ignore_eos=True, frequency_penalty=1.0, presence_penalty=0.5, logprobs=0),
        SamplingParams(temperature=1.2, top_p=0.9, seed=3, ignore_eos=True, logprobs=2),
        SamplingParams(temperature=0.8, top_k=20, seed=4, frequency_penalty=0.7),
    ],
    ids=["greedy", "repetition penalty", "other penalties", "drawn", "drawn with penalties"],
)
@pytest.mark.parametrize("wrong_every", [0, 2, 5])
def test_tokens_and_their_logprobs_are_those_of_a_run_without_guesses(params: SamplingParams, wrong_every: int) -> None:
    asked = request("r", "hello", max_tokens=40, params=params)
    plain = Driver(ScriptedBackend(logits=scripted_logits))
    said = plain.run(asked)["r"]
    proposer = knowing([[*b"hello", *said]], wrong_every=wrong_every)
    guessed = Driver(ScriptedBackend(logits=scripted_logits, can_speculate=True), proposer=proposer)
    guessed.run(asked)
    assert guessed.tokens == plain.tokens
    assert guessed.ended == plain.ended
    assert len(guessed.steps) < len(plain.steps) * (0.2 if wrong_every == 0 else 0.8)


def test_a_text_that_repeats_itself_takes_fewer_steps_by_prompt_lookup_alone() -> None:
    verse = "The sea was deep and the wind never stopped. "
    drive = Driver(ScriptedBackend(verse * 4, can_speculate=True))
    assert drive.run(request("r", f"Say it four times: {verse}", max_tokens=180)) == {"r": list((verse * 4).encode())}
    assert len(drive.steps) < 40


class TestTheSampler:
    LOGITS = np.stack([np.roll(np.array([9.0, 1.0, 0.0, 0.0], np.float32), n) for n in (1, 2, 3)])   # says 1, 2, 3

    @staticmethod
    def row(proposed: list[int], **params: float) -> BatchRow:
        sampling = SamplingInput(
            params=SamplingParams(**({"temperature": 0.0} | params)),            # type: ignore[arg-type]
            seed=0, token_ids=[0], num_prompt_tokens=1,
        )
        return BatchRow(
            slot=0, token_ids=[0, *proposed], position=0, block_table=[0], sampling=sampling, num_proposed=len(proposed)
        )

    @pytest.mark.parametrize(
        ("proposed", "chosen"), [([1, 2], [1, 2, 3]), ([1, 0], [1, 2]), ([3, 2], [1])], ids=["both", "one", "none"]
    )
    def test_takes_the_right_ones_and_one_more(self, proposed: list[int], chosen: list[int]) -> None:
        row = self.row(proposed)
        assert [token.token_id for token in sample_row(self.LOGITS, row)] == chosen
        assert row.sampling is not None
        assert row.sampling.token_ids == [0]               # the sequence's own: left as it was

    def test_a_penalty_sees_the_tokens_before_each(self) -> None:
        logits = np.tile(np.array([0.0, 5.0, 4.0, 0.0], np.float32), (3, 1))
        row = self.row([1, 2], frequency_penalty=2.0)
        assert [token.token_id for token in sample_row(logits, row)] == [1, 2, 1]


class TestPromptLookup:
    def test_guesses_what_followed_the_same_tokens_before(self) -> None:
        lookup, sequence = PromptLookup(), sequence_of("one two three. One two")
        assert lookup.chance(sequence) > 0.5                          # "ne two": 6 tokens agree
        assert lookup.propose({sequence: 6}) == {sequence: list(b" three")}

    def test_the_latest_place_counts(self) -> None:
        lookup, sequence = PromptLookup(), sequence_of("ab1ab2ab")
        assert 0.0 < lookup.chance(sequence) < FIRST_CHANCES[0]       # for "1" did not come again
        assert lookup.propose({sequence: 1}) == {sequence: list(b"2")}

    def test_has_no_guess_where_nothing_repeats(self) -> None:
        assert PromptLookup().chance(sequence_of("abcdefgh")) == 0.0
        assert PromptLookup().chance(sequence_of("a")) == 0.0

    def test_goes_round_where_the_text_goes_round(self) -> None:
        lookup, sequence = PromptLookup(), sequence_of("xabcabc")
        assert lookup.chance(sequence) > 0.0
        assert lookup.propose({sequence: 7}) == {sequence: list(b"abcabca")}

    def test_learns_from_each_token_whether_it_was_proposed_or_not(self) -> None:
        lookup, sequence = PromptLookup(), sequence_of("0123456789 0123")
        before = lookup.chance(sequence)
        sequence.token_ids += b"4567"
        lookup.chance(sequence)
        sequence.token_ids += b"! 0123"
        assert lookup.chance(sequence) > before
        sequence.token_ids += b"x! 0123"
        assert lookup.chance(sequence) < FIRST_CHANCES[2]

    def test_holds_no_more_of_a_long_text_than_it_may(self) -> None:
        lookup, sequence = PromptLookup(), sequence_of("")
        for start in range(0, 4 * MAX_INDEXED_TOKENS, 1000):
            sequence.token_ids += range(start, start + 1000)
            lookup.chance(sequence)
            assert len(lookup._texts[sequence]._behind) <= MAX_INDEXED_TOKENS + 1000
        sequence.token_ids += sequence.token_ids[-2000:-1990]
        assert lookup.chance(sequence) > 0.0
        assert lookup.propose({sequence: 2}) == {sequence: sequence.token_ids[-2000:-1998]}


class TestWhatPays:
    def test_as_many_as_are_likely_to_be_right(self) -> None:
        cost = Cost(surcharge=0.7, per_token=0.6)
        assert num_worthwhile(1.0, cost, 99) == MAX_PROPOSED
        assert num_worthwhile(0.99, cost, 99) == MAX_PROPOSED
        assert num_worthwhile(0.95, cost, 99) == 9
        assert num_worthwhile(0.99, cost, 10) == 10

    @pytest.mark.parametrize("chance", [0.0, 0.3, 0.8])
    def test_none_where_they_would_cost_more_than_they_bring(self, chance: float) -> None:
        assert num_worthwhile(chance, Cost(surcharge=0.7, per_token=0.6), 99) == 0

    def test_none_where_a_token_verified_costs_as_much_as_one_without_a_guess(self) -> None:
        assert num_worthwhile(1.0, Cost(surcharge=0.0, per_token=1.0), 99) == 0
        assert num_worthwhile(1.0, Cost(surcharge=0.7, per_token=0.6), 1) == 0

    def test_the_cost_is_what_the_clock_says(self) -> None:
        costs = StepCosts()
        assert costs.of_proposals(1) is None
        costs.note_plain(1, 0.010)
        for num_proposed in [4, 16, 30] * 40:
            costs.note([num_proposed], 0.015 + 0.002 * num_proposed)
        cost = costs.of_proposals(1)
        assert cost is not None
        assert cost.surcharge == pytest.approx(0.5, abs=0.05)
        assert cost.per_token == pytest.approx(0.2, abs=0.01)

    def test_a_step_that_was_stopped_by_a_neighbour_does_not_end_speculation(self) -> None:
        costs = StepCosts()
        costs.note_plain(1, 0.010)
        for num_proposed in [4, 16, 30] * 10:
            costs.note([num_proposed], 0.010 + 0.004 * num_proposed)
        costs.note([30], 5.0)
        cost = costs.of_proposals(1)
        assert cost is not None
        assert num_worthwhile(0.99, cost, 99) > 0

    def test_what_seemed_too_dear_is_tried_again(self) -> None:
        costs = StepCosts()
        costs.note_plain(1, 0.010)
        for _ in range(30):
            costs.note([10], 0.300)
        tried = []
        for _ in range(1500):
            costs.note_plain(1, 0.010)
            cost = costs.of_proposals(1)
            assert cost is not None
            tried.append(num_worthwhile(0.99, cost, 99) > 0)
        assert not any(tried[:100])
        assert tried[-1]

    def test_where_it_does_not_pay_it_stops(self) -> None:
        """Eight sequences that repeat themselves, on a machine where each token takes as long as any other."""
        speculation = Speculation([Guesser(lambda token_ids: 1)])
        sequences = [sequence_of("x") for _ in range(8)]
        num_proposed = []
        for _ in range(50):
            guesses = speculation.propose(dict.fromkeys(sequences, 99))
            step = [len(guesses.get(sequence, ())) for sequence in sequences]
            speculation.note_step(step, 0.002 * (8 + sum(step)))
            num_proposed.append(sum(step))
        assert not any(num_proposed[20:])

    def test_where_not_even_a_sure_guess_would_pay_nobody_is_asked(self) -> None:
        guesser = Guesser(lambda token_ids: 1)
        speculation = Speculation([guesser])
        for number, asked in ((64, 0), (8, 8)):
            speculation.note_step([0] * number, 0.1)
            speculation.propose({sequence_of("x"): 99 for _ in range(number)})
            assert len(guesser.followed) == asked

    def test_without_a_clock_nothing_is_learned(self) -> None:
        costs = StepCosts()
        costs.note_plain(1, 0.0)
        first = costs.of_proposals(1)
        assert first is not None
        assert math.isclose(first.per_token, 0.5)
        costs.note([5], 0.0)
        assert costs.of_proposals(1) == first
