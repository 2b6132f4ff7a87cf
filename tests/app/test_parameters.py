"""What may be set for a chat: ranges, words where a value is out of its own, and what the engine gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.errors import InvalidInput
from app.services.parameters import (
    CHAT_PARAMS,
    PARAMETERS,
    STARTER_AGAIN_PARAMS,
    checked_parameters,
    default_values,
    sampling,
)
from store.tables import Model

LARGE = Model(id="m", name="M", path="", file_format="gguf", size_bytes=1, modified_ns=1)
STARTER = Model(id="s", name="S", path="", file_format="gguf", size_bytes=1, modified_ns=1, is_starter=True)

EACH: dict[str, Any] = {
    "temperature": 0.2, "top_p": 0.5, "top_k": 40, "min_p": 0.1, "repetition_penalty": 1.2, "max_tokens": 100,
    "seed": 7, "stop": ["END", "\n\n"], "reasoning": False,
}


def test_each_parameter_can_be_set() -> None:
    assert checked_parameters(EACH) == EACH
    assert list(EACH) == [parameter.name for parameter in PARAMETERS]


def test_what_is_empty_is_not_set() -> None:
    assert checked_parameters({"temperature": None, "top_p": "", "stop": [], "seed": 0}) == {"seed": 0}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("temperature", 2.1, "from 0 to 2"),
        ("temperature", -0.1, "from 0 to 2"),
        ("temperature", "warm", "from 0 to 2"),
        ("temperature", float("nan"), "from 0 to 2"),
        ("temperature", "0_1", "from 0 to 2"),
        ("temperature", "nan", "from 0 to 2"),
        ("temperature", True, "from 0 to 2"),
        ("top_p", 0, "from 0.01 to 1"),
        ("top_k", 1.5, "whole number"),
        ("max_tokens", 0, "from 1 to 1,000,000"),
        ("seed", 2**53, "from 0 to 9,007,199,254,740,991"),
        ("seed", "9" * 400, "from 0"),
        ("stop", [str(number) for number in range(17)], "at most 16"),
        ("stop", ["x" * 201], "200 characters"),
        ("stop", "END", "lines of text"),
        ("reasoning", "yes", "on or off"),
        ("mirostat", 2, "no parameter named “mirostat”"),
    ],
)
def test_a_value_out_of_its_range_is_refused_in_words(name: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        checked_parameters({name: value})
    assert refused.value.field == name


def test_a_number_may_be_typed_with_a_comma() -> None:
    assert checked_parameters({"temperature": "0,35"}) == {"temperature": 0.35}


def test_a_number_may_be_typed_in_the_digits_of_any_script() -> None:
    assert checked_parameters({"temperature": " ٠٫٣٥ ", "seed": "٥"}) == {"temperature": 0.35, "seed": 5}


def test_what_is_not_set_is_the_models_own() -> None:
    assert sampling(LARGE, {}) == CHAT_PARAMS
    changed = sampling(LARGE, {"temperature": 0.2, "stop": ["END"]})
    assert changed == replace(CHAT_PARAMS, temperature=0.2, stop=("END",))


def test_who_asks_the_starter_again_gets_another_answer_unless_the_chat_says_otherwise() -> None:
    assert sampling(STARTER, {}, is_another=True) == STARTER_AGAIN_PARAMS
    assert sampling(STARTER, {"temperature": 0.0}, is_another=True).is_greedy
    assert sampling(LARGE, {}, is_another=True) == CHAT_PARAMS


def test_all_that_is_set_reaches_the_engine() -> None:
    wanted = {**EACH, "stop": ("END", "\n\n")}
    del wanted["reasoning"]     # goes with the request: see test_setup
    params = sampling(LARGE, EACH)
    assert {name: getattr(params, name) for name in wanted} == wanted


def test_defaults_are_told_for_every_parameter() -> None:
    assert default_values(STARTER)["temperature"] == 0.0
    assert default_values(None)["temperature"] == CHAT_PARAMS.temperature
    assert list(default_values(None)) == list(EACH)
