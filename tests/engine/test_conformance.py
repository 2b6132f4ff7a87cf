"""What every back end owes the scheduler: whoever shares a step, whatever was cached or preempted, a text is the same.

"The same" is that of `sameness`: it leaves room for rounding. A block of KV in the wrong place is off by whole units.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from engine.batch import Batch
from engine.params import SamplingParams
from engine.request import FinishReason, Request
from tests.engine.conformance import Shape
from tests.engine.conftest import Make
from tests.engine.driving import Driver, request
from tests.engine.guessing import knowing
from tests.engine.sameness import ENDLESS, STORY, Said, alone, ask, assert_same


def run(drive: Driver, *requests: Request) -> Said:
    drive.run(*requests)
    return {each.request_id: drive.tokens[each.request_id] for each in requests}


def test_it_has_the_shape_that_was_asked_for(make: Make) -> None:
    shape = Shape(num_blocks=20, max_num_seqs=3, max_num_batched_tokens=48, max_model_len=128)
    backend = make(shape)
    info = backend.info
    assert (info.num_blocks * info.block_size, info.max_num_seqs) == (20 * 16, 3)
    assert (info.max_num_batched_tokens, info.max_model_len) == (48, 128)
    assert info.prefix_cache
    assert info.vocab_size == backend.tokenizer.vocab_size


def test_a_batch_without_rows_is_legal(make: Make) -> None:
    assert make(Shape()).execute(Batch()).tokens == []


def test_a_sequence_repeats_itself(make: Make) -> None:
    asked = ask("r", STORY)
    first = alone(make, asked)
    assert first == alone(make, asked)
    assert len(first["r"]) == 12


def test_eight_at_once_take_the_steps_of_one_and_say_what_each_says_alone(make: Make) -> None:
    asked = [ask(f"r{n}", f"{n} times the {'x' * n}") for n in range(8)]
    drive = Driver(make(Shape(max_num_batched_tokens=256)))
    assert_same(run(drive, *asked), alone(make, *asked))
    assert len(drive.steps) == 12


def test_a_prompt_in_chunks_says_the_same_as_in_one(make: Make) -> None:
    asked = ask("r", STORY * 2)
    chunked = Driver(make(Shape(max_num_batched_tokens=24)))
    whole = Driver(make(Shape(max_num_batched_tokens=256)))
    assert_same(run(chunked, asked), run(whole, asked))
    assert len(chunked.steps) - len(whole.steps) == 7      # 170 tokens, 24 a step


def test_a_cached_prefix_says_the_same_as_a_computed_one(make: Make) -> None:
    asked = ask("r", STORY + "And then?")
    drive = Driver(make(Shape()))
    drive.run(ask("before", STORY + "Who came?"))
    assert_same(run(drive, asked), alone(make, asked))
    assert drive.cached["r"] == 85                       # of 94


def test_a_prefix_is_shared_with_a_sequence_that_still_runs(make: Make) -> None:
    drive = Driver(make(Shape()))
    runs, comes = ask("runs", STORY + "Who?", max_tokens=40), ask("comes", STORY + "When?")
    drive.submit(runs)
    for _ in range(5):
        drive.step()
    drive.submit(comes)
    drive.run()
    assert drive.cached["comes"] == 87                   # of 90: as far as the two agree, in a block that still grows
    assert_same(drive.tokens, alone(make, runs, comes))


def test_several_answers_to_one_prompt_share_all_of_it_and_each_is_as_if_alone(make: Make) -> None:
    drive = Driver(make(Shape()))
    choices = [ask(f"choice {n}", STORY + "And who came", max_tokens=30) for n in range(4)]
    drive.run(*choices)
    assert drive.cached == {"choice 0": 0} | {f"choice {n}": 96 for n in (1, 2, 3)}     # of 97
    assert_same(drive.tokens, alone(make, *choices))


def test_a_chat_goes_on_from_what_it_said(make: Make) -> None:
    drive = Driver(make(Shape()))
    said = drive.run(ask("turn 1", STORY, max_tokens=40))["turn 1"]
    turn_2 = request("turn 2", [*STORY.encode(), *said, *b"And then?"], max_tokens=12, params=ENDLESS)
    assert_same(run(drive, turn_2), alone(make, turn_2))
    assert drive.cached["turn 2"] == 124                 # 85 asked and 40 said, the last never computed


def test_the_preempted_go_on_where_they_were(make: Make) -> None:
    asked = [ask(f"r{n}", f"{n} {STORY[:40]}", max_tokens=60) for n in range(4)]
    drive = Driver(make(Shape(num_blocks=18, max_num_seqs=4, max_model_len=256)))
    assert_same(run(drive, *asked), alone(make, *asked))
    assert drive.scheduler.counters.preemptions > 0


def test_what_was_evicted_is_computed_again(make: Make) -> None:
    drive = Driver(make(Shape(num_blocks=12, max_model_len=192)))
    asked = ask("again", STORY)
    drive.run(ask("first", STORY))
    for n in range(4):
        drive.run(ask(f"r{n}", f"{n} {STORY}"))
    assert_same(run(drive, asked), alone(make, asked))
    assert drive.cached["again"] == 0


def test_those_that_leave_do_not_disturb_those_that_stay(make: Make) -> None:
    asked = [ask(f"r{n}", f"{n} of six", max_tokens=3 + 5 * n) for n in (5, 0, 4, 1, 3, 2)]
    assert_same(run(Driver(make(Shape())), *asked), alone(make, *asked))


def test_aborting_in_mid_prefill_leaves_nothing_behind(make: Make) -> None:
    drive = Driver(make(Shape(max_num_batched_tokens=32)))
    asked = ask("r", "Hello")
    drive.submit(ask("gone", STORY * 4))
    drive.step()
    drive.abort("gone")
    assert_same(run(drive, asked), alone(make, asked))
    assert drive.ended["gone"] is FinishReason.ABORT


def test_a_seed_gives_one_text_whoever_shares_the_step(make: Make) -> None:
    params = SamplingParams(temperature=1.0, top_p=0.9, seed=7, ignore_eos=True)
    asked = ask("r", STORY[:30], params=params)
    other = SamplingParams(temperature=1.0, seed=8, ignore_eos=True)
    texts = Driver(make(Shape())).run(asked, ask("other", STORY[:30], params=other), ask("greedy", "Hello"))
    assert texts["r"] == Driver(make(Shape())).run(asked)["r"]
    assert texts["r"] != texts["other"]


def test_logprobs_come_with_the_tokens(make: Make) -> None:
    backend = make(Shape())
    drive = Driver(backend)
    drive.submit(ask("r", "Hello", params=SamplingParams(temperature=0.0, logprobs=3, ignore_eos=True)))
    batch = drive.scheduler.schedule()
    (token,), = backend.execute(batch).tokens
    assert token.top_logprobs[0] == (token.token_id, token.logprob)
    logprobs = [logprob for _, logprob in token.top_logprobs]
    assert len(logprobs) == 3
    assert logprobs == sorted(logprobs, reverse=True)
    assert all(logprob <= 0.0 for logprob in logprobs)


def test_a_bias_of_100_forces_a_token(make: Make) -> None:
    params = SamplingParams(temperature=0.0, logit_bias={ord("!"): 100.0})
    drive = Driver(make(Shape()))
    assert drive.run(request("r", "Hello", max_tokens=3, params=params)) == {"r": list(b"!!!")}


@pytest.mark.parametrize("seed", range(4))
def test_a_random_crowd_says_what_each_says_alone(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    drive = Driver(make(Shape(num_blocks=24, max_num_seqs=4, max_num_batched_tokens=40, max_model_len=256)))
    beginnings = [STORY, STORY[:30], "Other", "S" * 48]
    asked: list[Request] = []
    for n in range(12):
        prompt = rng.choice(beginnings) + "".join(rng.choices("abc ", k=rng.randint(1, 40)))
        asked.append(ask(f"r{n}", prompt, max_tokens=rng.randint(1, 40)))
        drive.submit(asked[-1])
        for _ in range(rng.randint(0, 6)):
            if drive.scheduler.has_work:
                drive.step()
        if rng.random() < 0.2:
            drive.abort(f"r{rng.randint(0, n)}")
    drive.run()
    ended_well = [each for each in asked if drive.ended[each.request_id] is FinishReason.LENGTH]
    assert len(ended_well) >= 6
    assert_same({each.request_id: drive.tokens[each.request_id] for each in ended_well}, alone(make, *ended_well))


class TestSpeculation:
    """What a proposer guesses, right or wrong, changes nothing but the number of steps."""

    @pytest.mark.parametrize("wrong_every", [0, 3])
    def test_guessed_is_as_plain(self, make: Make, wrong_every: int) -> None:
        asked = ask("r", STORY, max_tokens=60)
        plain, guessed = compare_with_guesses(make, [asked], Shape(), wrong_every=wrong_every)
        assert len(guessed.steps) < len(plain.steps) * (0.1 if wrong_every == 0 else 0.7)

    @pytest.mark.parametrize("wrong_every", [0, 7])
    def test_among_others_who_come_and_go(self, make: Make, wrong_every: int) -> None:
        asked = [ask(f"r{n}", f"{n} of four", max_tokens=20 + 15 * n) for n in (3, 0, 2, 1)]
        _, guessed = compare_with_guesses(make, asked, Shape(), wrong_every=wrong_every)
        assert guessed.scheduler.counters.accepted_tokens > 20

    def test_from_a_cached_prefix(self, make: Make) -> None:
        asked = [ask(f"r{n}", STORY + "And then?", max_tokens=40) for n in range(2)]
        _, guessed = compare_with_guesses(make, asked, Shape(max_num_seqs=1), wrong_every=5)
        assert guessed.cached["r1"] == 93
        assert guessed.scheduler.counters.accepted_tokens > 20

    def test_and_its_own_end_is_found_by_the_next_turn(self, make: Make) -> None:
        drive = guessing(make, Shape(), alone(make, ask("r", STORY, max_tokens=40)), {"r": STORY}, wrong_every=5)
        said = drive.run(ask("r", STORY, max_tokens=40))["r"]
        turn_2 = request("turn 2", [*STORY.encode(), *said, *b"And then?"], max_tokens=12, params=ENDLESS)
        assert_same(run(drive, turn_2), alone(make, turn_2))
        assert drive.cached["turn 2"] == 124

    def test_where_blocks_are_scarce(self, make: Make) -> None:
        asked = [ask(f"r{n}", f"{n} {STORY[:40]}", max_tokens=60) for n in range(4)]
        shape = Shape(num_blocks=18, max_num_seqs=4, max_model_len=256)
        plain, guessed = compare_with_guesses(make, asked, shape, wrong_every=6)
        assert plain.scheduler.counters.preemptions > 0
        assert guessed.scheduler.counters.preemptions > 0
        assert guessed.scheduler.counters.accepted_tokens > 0

    @pytest.mark.parametrize("wrong_every", [0, 4])
    def test_drawn_with_a_seed_and_penalties(self, make: Make, wrong_every: int) -> None:
        params = SamplingParams(
            temperature=1.0, top_p=0.9, seed=7, ignore_eos=True, frequency_penalty=0.5, repetition_penalty=1.1
        )
        asked = ask("r", STORY[:30], max_tokens=50, params=params)
        plain = Driver(make(Shape()))
        text = plain.run(asked)
        drive = guessing(make, Shape(), plain.tokens, {"r": STORY[:30]}, wrong_every=wrong_every)
        assert drive.run(asked) == text
        assert len(drive.steps) < len(plain.steps)

    def test_by_prompt_lookup(self, make: Make) -> None:
        """A bias makes every model repeat itself, until a penalty has it change its mind."""
        params = SamplingParams(
            temperature=0.0, logit_bias={ord("a"): 90.0, ord("b"): 50.0}, frequency_penalty=2.0, ignore_eos=True,
            logprobs=4,
        )
        asked = ask("r", STORY, max_tokens=80, params=params)
        plain, looked_up = Driver(make(Shape())), Driver(make(Shape(can_speculate=True)))
        assert_same(run(looked_up, asked), run(plain, asked))
        assert len(looked_up.steps) < len(plain.steps)


def compare_with_guesses(
    make: Make, asked: list[Request], shape: Shape, *, wrong_every: int
) -> tuple[Driver, Driver]:
    """The same requests without and with guesses; both drivers, to see how they fared."""
    plain = Driver(make(shape))
    said = run(plain, *asked)
    prompts = {each.request_id: bytes(each.prompt_token_ids).decode() for each in asked}
    guessed = guessing(make, shape, said, prompts, wrong_every=wrong_every)
    assert_same(run(guessed, *asked), said)
    return plain, guessed


def guessing(make: Make, shape: Shape, said: Said, prompts: dict[str, str], *, wrong_every: int) -> Driver:
    texts = [[*prompts[name].encode(), *(token.token_id for token in tokens)] for name, tokens in said.items()]
    return Driver(make(replace(shape, can_speculate=True)), proposer=knowing(texts, wrong_every=wrong_every))


class TestTokenizer:
    def test_any_text_comes_back(self, make: Make) -> None:
        tokenizer = make(Shape()).tokenizer
        text = "the 漢字 ñ 👨‍👩‍👧‍👦\n\ttabs, and the end"
        token_ids = tokenizer.encode(text, add_special=False, parse_special=False)
        assert b"".join(map(tokenizer.token_bytes, token_ids)).decode() == text

    def test_markers_are_tokens_only_where_they_are_to_be_read(self, make: Make) -> None:
        tokenizer = make(Shape()).tokenizer
        (marker,) = tokenizer.encode("<|im_end|>", add_special=False, parse_special=True)
        assert marker in tokenizer.eog_token_ids
        assert tokenizer.token_bytes(marker) == b""
        as_text = tokenizer.encode("<|im_end|>", add_special=False, parse_special=False)
        assert b"".join(map(tokenizer.token_bytes, as_text)) == b"<|im_end|>"

    def test_its_vocabulary_is_the_bytes_of_all_tokens_and_markers_are_named_and_have_none(self, make: Make) -> None:
        tokenizer = make(Shape()).tokenizer
        vocabulary = tokenizer.vocabulary()
        assert vocabulary == [tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)]
        assert set(tokenizer.special_tokens.values()) == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
        assert all(vocabulary[token_id] == b"" for token_id in tokenizer.special_tokens)

    def test_it_has_a_chat_template(self, make: Make) -> None:
        assert "<|im_start|>" in (make(Shape()).tokenizer.chat_template or "")


def test_a_step_that_was_interrupted_leaves_no_trace(make: Make) -> None:
    runs, comes = ask("runs", STORY, max_tokens=20), ask("comes", STORY + "And then? " * 9)
    drive = Driver(make(Shape()))
    drive.submit(runs)
    for number in range(30):
        if number == 5:
            drive.submit(comes)                            # its prefix is cached: restored, then interrupted
        if number % 2:
            drive.backend.interrupt()
            num_tokens = len(drive.tokens["runs"])
            drive.step()
            num_more = int(drive.backend.info.device.startswith("cuda"))     # a graph of single tokens is not cut short
            assert num_tokens <= len(drive.tokens["runs"]) <= num_tokens + num_more
            drive.backend.resume()
        drive.step()
    drive.run()
    assert_same(drive.tokens, alone(make, runs, comes))
