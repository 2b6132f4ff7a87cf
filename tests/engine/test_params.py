import math
from typing import Any

import pytest

from engine.errors import InvalidRequest
from engine.params import MAX_SEED, SamplingParams


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 5.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("min_p", -0.01),
        ("min_p", 1.01),
        ("repetition_penalty", 0.0),
        ("presence_penalty", 2.1),
        ("frequency_penalty", -2.1),
        ("max_tokens", 0),
        ("max_tokens", -5),
        ("seed", MAX_SEED + 1),
        ("seed", -(2**63) - 1),
    ],
)
def test_a_value_out_of_range_is_refused_by_its_name(name: str, value: float) -> None:
    values: dict[str, Any] = {name: value}
    with pytest.raises(InvalidRequest) as caught:
        SamplingParams(**values)
    assert caught.value.param == name
    assert name in str(caught.value)
    assert str(value) in str(caught.value)


def test_the_ends_of_each_range_are_allowed() -> None:
    SamplingParams(temperature=0.0, top_k=0, top_p=1.0, min_p=0.0, presence_penalty=-2.0, frequency_penalty=-2.0)
    SamplingParams(temperature=5.0, top_k=2**31, top_p=1e-9, min_p=1.0, presence_penalty=2.0, frequency_penalty=2.0)
    SamplingParams(max_tokens=1, seed=MAX_SEED, logprobs=20)
    SamplingParams(seed=-(2**63), logprobs=0)


def test_more_than_20_logprobs_are_refused_under_openais_name() -> None:
    with pytest.raises(InvalidRequest, match="top_logprobs is 21; it must be at least 0 and at most 20") as caught:
        SamplingParams(logprobs=21)
    assert caught.value.param == "top_logprobs"


@pytest.mark.parametrize("stop", [("",), ("a", ""), tuple("abcdefghijklmnopq")])
def test_empty_or_too_many_stop_strings_are_refused(stop: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        SamplingParams(stop=stop)
    assert caught.value.param == "stop"


@pytest.mark.parametrize("bias", [{-1: 1.0}, {5: 100.5}, {5: -101.0}, {5: math.nan}])
def test_a_logit_bias_out_of_range_is_refused(bias: dict[int, float]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        SamplingParams(logit_bias=bias)
    assert caught.value.param == "logit_bias"


def test_only_temperature_0_is_greedy() -> None:
    assert SamplingParams(temperature=0.0).is_greedy
    assert not SamplingParams(temperature=1e-6).is_greedy
