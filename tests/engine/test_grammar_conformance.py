"""What every back end owes a grammar: no text that it forbids, whoever shares a step, and the same text alone.

The scripted back end's model, and the tiny one's, know no JSON: whatever comes out right is the grammar's doing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import grammar
from engine.backends.base import Backend
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.batch import SampledToken, SamplingInput
from engine.grammar import GrammarSpec
from engine.grammar_matcher import Grammar
from engine.params import SamplingParams
from engine.parsers import hermes
from engine.request import FinishReason, Request
from engine.sampler import sample
from engine.tool_grammar import ToolCalls, tool_calls
from tests.engine.conformance import Shape, scripted_logits
from tests.engine.conftest import Make
from tests.engine.driving import Driver, request
from tests.engine.grammars import PERSON, compiled, regex
from tests.engine.guessing import knowing

DATE = r"\d{4}-\d{2}-\d{2}"
ALTERNATIVES = {"type": "array", "items": {"enum": ["red", "green", 7]}, "minItems": 1, "maxItems": 3}
SPECS = (
    grammar.json_schema(PERSON),
    regex(DATE),
    grammar.json_schema(ALTERNATIVES),
    grammar.choice(["yes", "no"], "choice"),
)
BYTES = ByteTokenizer()


def ask(
    request_id: str, asked: Grammar | None, prompt: str = "Hello", *, max_tokens: int = 150, **params: Any
) -> Request:
    sampling = SamplingParams(**({"temperature": 0.0} | params))
    return replace(request(request_id, prompt, max_tokens=max_tokens, params=sampling), grammar=asked)


def text_of(drive: Driver, request_id: str) -> str:
    return b"".join(map(drive.backend.tokenizer.token_bytes, drive.output_ids(request_id))).decode()


def check(index: int, text: str) -> None:
    """Against what the grammar was made of, by other means."""
    match index:
        case 0:
            person = json.loads(text)
            assert (person["name"] in ("Anna", "Ben"), 0 <= person["age"] <= 99, len(person)) == (True, True, 2)
        case 1:
            assert re.fullmatch(DATE, text)
        case 2:
            assert 1 <= len([{"red": 0, "green": 0, 7: 0}[each] for each in json.loads(text)]) <= 3
        case 3:
            assert text in ("yes", "no")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_eight_with_different_grammars_share_steps_and_all_come_out_right(make: Make, temperature: float) -> None:
    drive = Driver(make(Shape(max_num_batched_tokens=256)))
    grammars = [compiled(spec, drive.backend.tokenizer) for spec in SPECS]
    asked = [
        ask(f"r{n}", grammars[n % 4], f"Question {n}", temperature=temperature, seed=n) for n in range(8)
    ]
    drive.run(*asked)
    for n in range(8):
        assert drive.ended[f"r{n}"] is FinishReason.STOP
        check(n % 4, text_of(drive, f"r{n}"))
    longest = max(len(drive.tokens[f"r{n}"]) for n in range(8))
    assert len(drive.steps) == longest                       # and no step to find out that nothing may follow


def test_a_call_that_must_be_made_is_made(make: Make) -> None:
    drive = Driver(make(Shape()))
    tokenizer = drive.backend.tokenizer
    functions = [{"name": "register", "parameters": PERSON}]
    spec = tool_calls(ToolCalls(functions=functions, notation=hermes.NOTATION, tokenizer=tokenizer, parallel=False))
    drive.run(ask("bound", compiled(spec, tokenizer), max_tokens=250), ask("free", None, max_tokens=20))
    called = re.fullmatch(r"<tool_call>\n(.*)\n</tool_call>", text_of(drive, "bound"), re.DOTALL)
    assert called
    call = json.loads(called[1])
    assert call["name"] == "register"
    check(0, json.dumps(call["arguments"]))
    assert drive.ended["bound"] is FinishReason.STOP


@pytest.mark.parametrize("wrong_every", [0, 3])
@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_guesses_change_nothing(make: Make, index: int, temperature: float, wrong_every: int) -> None:
    plain = Driver(make(Shape()))
    asked = ask("r", compiled(SPECS[index], plain.backend.tokenizer), temperature=temperature, seed=5)
    said = plain.run(asked)["r"]
    proposer = knowing([[*b"Hello", *said, ord("x")]], wrong_every=wrong_every)
    guessed = Driver(make(Shape(can_speculate=True)), proposer=proposer)
    assert guessed.run(asked) == {"r": said}
    assert guessed.ended == plain.ended == {"r": FinishReason.STOP}
    assert guessed.scheduler.counters.accepted_tokens > 0
    assert len(guessed.steps) < len(plain.steps)


def test_one_of_eight_says_what_it_says_alone(make: Make) -> None:
    def asked(backend: Backend, n: int) -> Request:
        return ask(f"r{n}", compiled(SPECS[n % 4], backend.tokenizer), f"Question {n}", temperature=0.8, seed=n)

    together = Driver(make(Shape()))
    together.run(*(asked(together.backend, n) for n in range(8)))
    for n in (0, 1, 5):
        alone = Driver(make(Shape()))
        alone.run(asked(alone.backend, n))
        assert alone.output_ids(f"r{n}") == together.output_ids(f"r{n}")


def test_the_preempted_go_on_where_they_were(make: Make) -> None:
    digits = regex("([0-9]{3} ){20}")
    drive = Driver(make(Shape(num_blocks=18, max_num_seqs=4, max_model_len=256)))
    endless = compiled(digits, drive.backend.tokenizer)
    drive.run(*(ask(f"r{n}", endless, f"{n} " + "x" * 40, max_tokens=60) for n in range(4)))
    assert drive.scheduler.counters.preemptions > 0
    for n in range(4):
        assert re.fullmatch(r"([0-9]{3} ){15}", text_of(drive, f"r{n}"))


def test_its_neighbours_are_free(make: Make) -> None:
    free = ask("free", None, max_tokens=20, ignore_eos=True)
    drive = Driver(make(Shape()))
    drive.run(free, ask("bound", compiled(SPECS[1], drive.backend.tokenizer)))
    alone = Driver(make(Shape()))
    alone.run(free)
    assert drive.output_ids("free") == alone.output_ids("free")


# The end of a sequence


def scripted(script: str | Sequence[int], spec: GrammarSpec, **params: Any) -> tuple[str, FinishReason]:
    drive = Driver(ScriptedBackend(script))
    drive.run(ask("r", compiled(spec), **params))
    return text_of(drive, "r"), drive.ended["r"]


def test_a_model_that_keeps_to_its_grammar_is_not_disturbed() -> None:
    text = '{"name": "Anna", "age": 41}'
    assert scripted(text, SPECS[0]) == (text, FinishReason.STOP)


def test_a_complete_answer_ends_at_once_whatever_the_model_would_add() -> None:
    assert scripted("yes, and more", SPECS[3]) == ("yes", FinishReason.STOP)
    assert scripted("yes, and more", SPECS[3], max_tokens=3) == ("yes", FinishReason.STOP)
    assert scripted("yes, and more", SPECS[3], ignore_eos=True) == ("yes", FinishReason.STOP)


def test_a_model_that_would_end_too_early_goes_on() -> None:
    assert scripted([ord("n"), BYTES.end_of_turn_id, ord("x")], SPECS[3]) == ("no", FinishReason.STOP)


def test_a_model_may_end_where_the_grammar_may() -> None:
    assert scripted("aaa", regex("a+")) == ("aaa", FinishReason.STOP)


def test_the_window_cuts_an_answer_and_says_so() -> None:
    assert scripted("2026-01-02", SPECS[1], max_tokens=5) == ("2026-", FinishReason.LENGTH)


def test_a_back_end_that_breaks_its_grammar_fails_the_request_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.sampler.sample", lambda logits, row: SampledToken(int(logits.argmax())))
    drive = Driver(ScriptedBackend("nope"))
    failed = ask("bound", compiled(SPECS[3]))
    drive.run(failed, ask("free", None))
    assert (text_of(drive, "bound"), drive.ended["bound"]) == ("no", FinishReason.STOP)
    drive.run(ask("other", compiled(regex("na"))), ask("later", None))
    assert (text_of(drive, "other"), drive.ended["other"]) == ("n", FinishReason.ERROR)
    assert (text_of(drive, "later"), drive.ended["later"]) == ("nope", FinishReason.STOP)


# The sampler


@settings(max_examples=150, deadline=None)
@given(
    which=st.integers(0, 3),
    seed=st.integers(0, 2**31 - 1),
    params=st.fixed_dictionaries({
        "temperature": st.sampled_from([0.0, 0.3, 1.0, 5.0]),
        "top_k": st.sampled_from([0, 1, 5]),
        "top_p": st.sampled_from([0.1, 0.9, 1.0]),
        "min_p": st.sampled_from([0.0, 0.5]),
        "repetition_penalty": st.sampled_from([0.5, 1.0, 2.0]),
        "presence_penalty": st.sampled_from([0.0, 2.0, -2.0]),
        "logit_bias": st.sampled_from([{}, {ord("!"): 100.0}, {ord("y"): -100.0, ord("{"): -100.0}]),
        "logprobs": st.sampled_from([None, 2]),
    }),
)
def test_no_token_is_sampled_that_the_grammar_forbids(which: int, seed: int, params: dict[str, Any]) -> None:
    matcher, output = COMPILED[which].matcher(), [0]
    row = SamplingInput(
        params=SamplingParams(**params), seed=seed, token_ids=output, num_prompt_tokens=1, grammar=matcher
    )
    while not matcher.is_complete and len(output) < 40:
        logits = scripted_logits([*output, seed])
        token_id = sample(logits, row).token_id
        assert matcher.mask(logits.size)[token_id]
        matcher.accept(token_id)
        assert matcher.failure is None
        output.append(token_id)


COMPILED = [compiled(spec) for spec in SPECS]


def yes_or_no(temperature: float) -> SamplingInput:
    params = SamplingParams(temperature=temperature)
    return SamplingInput(params=params, seed=0, token_ids=[0], num_prompt_tokens=1, grammar=COMPILED[3].matcher())


def test_at_temperature_0_the_likeliest_of_the_allowed_wins() -> None:
    row = yes_or_no(0.0)
    logits = scripted_logits([5])
    assert sample(logits, row).token_id == max((ord("y"), ord("n")), key=lambda token_id: float(logits[token_id]))


def test_a_draw_is_that_of_the_allowed_alone() -> None:
    row = yes_or_no(1.0)
    logits = np.zeros(259, dtype=np.float32)
    logits[[ord("y"), ord("n"), ord("x")]] = np.log([3.0, 1.0, 1000.0])
    drawn = [sample(logits, replace(row, seed=seed)).token_id for seed in range(400)]
    assert set(drawn) == {ord("y"), ord("n")}
    assert 260 < drawn.count(ord("y")) < 340


def test_a_model_that_holds_all_that_is_allowed_for_impossible_fails_its_request_alone() -> None:
    def logits_of(token_ids: Sequence[int]) -> np.ndarray[Any, np.dtype[np.float32]]:
        logits = np.full(259, -np.inf, dtype=np.float32)
        logits[ord("x")] = 0.0
        return logits

    drive = Driver(ScriptedBackend(logits=logits_of))
    drive.run(ask("bound", COMPILED[3]), ask("free", None, max_tokens=3))
    assert drive.ended == {"bound": FinishReason.ERROR, "free": FinishReason.LENGTH}
    assert text_of(drive, "free") == "xxx"
