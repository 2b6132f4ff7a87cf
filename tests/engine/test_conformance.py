"""What every back end owes the scheduler: whoever shares a step, whatever was cached or preempted, a text is the same.

"The same" is that of `sameness`: it leaves room for rounding. A block of KV in the wrong place is off by whole units.
"""

from __future__ import annotations

import random

import pytest

from engine.batch import Batch
from engine.params import SamplingParams
from engine.request import FinishReason, Request
from tests.engine.conformance import Shape
from tests.engine.conftest import Make
from tests.engine.driving import Driver, request
from tests.engine.sameness import Said, assert_same

ENDLESS = SamplingParams(temperature=0.0, ignore_eos=True, logprobs=4)
STORY = "Once upon a time there was a fire that never went out, and people came to sit by it. "


def ask(request_id: str, prompt: str, *, max_tokens: int = 12, params: SamplingParams = ENDLESS) -> Request:
    return request(request_id, prompt, max_tokens=max_tokens, params=params)


def run(drive: Driver, *requests: Request) -> Said:
    drive.run(*requests)
    return {each.request_id: drive.tokens[each.request_id] for each in requests}


def alone(make: Make, *requests: Request) -> Said:
    """What each says to itself, in an engine that has seen nothing before."""
    said: Said = {}
    for each in requests:
        said |= run(Driver(make(Shape())), each)
    return said


def test_it_has_the_shape_that_was_asked_for(make: Make) -> None:
    shape = Shape(num_blocks=20, max_num_seqs=3, max_num_batched_tokens=48, max_model_len=128)
    backend = make(shape)
    info = backend.info
    assert (info.num_blocks, info.block_size, info.max_num_seqs) == (20, 16, 3)
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
    assert drive.cached["comes"] == 80
    assert_same(drive.tokens, alone(make, runs, comes))


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
            assert len(drive.tokens["runs"]) == num_tokens
            drive.backend.resume()
        drive.step()
    drive.run()
    assert_same(drive.tokens, alone(make, runs, comes))
