import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.batch import SampledToken, SamplingInput
from engine.errors import EngineError
from engine.params import SamplingParams
from engine.sampler import adjusted, sample, weighed

Logits = NDArray[np.float32]
ALMOST = 1e-6        # a token so near to the edge of a filter that rounding decides proves nothing


def row(*, seed: int = 1, prompt: Sequence[int] = (0,), output: Sequence[int] = (), **params: Any) -> SamplingInput:
    return SamplingInput(
        params=SamplingParams(**params), seed=seed, token_ids=[*prompt, *output], num_prompt_tokens=len(prompt)
    )


def logits_of(*values: float) -> Logits:
    return np.array(values, dtype=np.float32)


def distribution(logits: Logits, sampling: SamplingInput) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Token ids, and probabilities that add up to 1."""
    token_ids, weights = weighed(logits, sampling)
    probabilities = weights.astype(np.float64)
    return token_ids, probabilities / probabilities.sum()


# Greedy


def test_at_temperature_0_the_largest_logit_wins() -> None:
    assert sample(logits_of(1, 5, 3), row(temperature=0)) == SampledToken(1)


def test_the_lowest_id_wins_among_equals() -> None:
    assert sample(logits_of(1, 5, 5, 5), row(temperature=0)) == SampledToken(1)


def test_a_bias_moves_the_largest() -> None:
    assert sample(logits_of(1, 5, 3), row(temperature=0, logit_bias={1: -100.0, 0: 3.0})) == SampledToken(0)


# Penalties


def test_the_repetition_penalty_divides_positive_and_multiplies_negative_logits_of_all_seen_tokens() -> None:
    seen_in_both = row(prompt=[0, 0], output=[1], repetition_penalty=2.0)
    assert adjusted(logits_of(4, -4, 4), seen_in_both).tolist() == [2, -8, 4]


def test_a_repetition_penalty_too_small_for_32_bits_warns_nobody_and_still_chooses() -> None:
    tiny = row(prompt=[0, 1, 2], repetition_penalty=1e-300, temperature=0.0)
    assert sample(logits_of(0, -4, 4, 9), tiny).token_id == 2


def test_presence_and_frequency_count_the_output_only() -> None:
    after_output = row(prompt=[0, 0, 0], output=[1, 1, 2], presence_penalty=1.0, frequency_penalty=0.5)
    assert adjusted(logits_of(4, 4, 4), after_output).tolist() == [4, 2, 2.5]


def test_the_logits_that_came_in_are_not_changed() -> None:
    logits = logits_of(1, 2, math.nan)
    sample(logits, row(logit_bias={0: 50.0}, repetition_penalty=1.5, logprobs=2))
    assert logits[:2].tolist() == [1, 2]
    assert math.isnan(logits[2])


# Filters


def test_top_k_keeps_the_lowest_ids_among_equals() -> None:
    token_ids, _ = distribution(logits_of(1, 2, 2, 2), row(top_k=2, temperature=1))
    assert token_ids.tolist() == [1, 2]


def test_top_p_keeps_the_token_that_reaches_it() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    token_ids, probabilities = distribution(logits, row(top_p=0.6, temperature=1))
    assert token_ids.tolist() == [0, 1]
    assert probabilities.tolist() == pytest.approx([0.625, 0.375])


def test_top_p_counts_what_top_k_has_left() -> None:
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1], dtype=np.float32))
    token_ids, _ = distribution(logits, row(top_k=2, top_p=0.5, temperature=1))     # 0.4 of 0.7 is enough
    assert token_ids.tolist() == [0]


def test_min_p_is_a_share_of_the_likeliest() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    assert distribution(logits, row(min_p=0.5, temperature=1))[0].tolist() == [0, 1]


def test_top_p_alone_finds_its_tokens_beyond_the_first_look() -> None:
    flat = np.zeros(5000, dtype=np.float32)
    token_ids, _ = distribution(flat, row(top_p=0.5, temperature=1))
    assert token_ids.tolist() == list(range(2500))


def test_a_tiny_temperature_is_as_good_as_greedy() -> None:
    assert sample(logits_of(1, 1.001, 0), row(temperature=1e-300)) == SampledToken(1)


@given(
    values=st.lists(st.integers(-12, 12).map(lambda n: n / 2), min_size=1, max_size=200),
    temperature=st.sampled_from([0.1, 0.7, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 3, 50, 1000]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 0.99, 1.0]),
    min_p=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    presence_penalty=st.sampled_from([0.0, 0.7]),
    frequency_penalty=st.sampled_from([0.0, -0.4]),
    token_ids=st.lists(st.integers(0, 199), max_size=30),
    bias=st.dictionaries(st.integers(0, 199), st.sampled_from([-100.0, -1.0, 2.5]), max_size=4),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_every_mix_of_parameters_gives_the_distribution_of_the_plain_definition(
    values: list[float], token_ids: list[int], bias: dict[int, float], **params: Any
) -> None:
    known = [token_id for token_id in token_ids if token_id < len(values)]
    params["logit_bias"] = {token_id: value for token_id, value in bias.items() if token_id < len(values)}
    sampling = row(prompt=known[: len(known) // 2], output=known[len(known) // 2 :], **params)
    expected = plain_distribution(values, sampling)
    assume(expected is not None)
    assert expected is not None     # `assume` does not tell types
    ids, probabilities = distribution(logits_of(*values), sampling)
    got = dict(zip(ids.tolist(), probabilities.tolist(), strict=True))
    assert _likely(got) == pytest.approx(_likely(expected), abs=ALMOST)
    assert sample(logits_of(*values), sampling).token_id in expected


def _likely(distribution: dict[int, float]) -> dict[int, float]:
    """Without what is so unlikely that it is 0 as a small float."""
    return {token_id: probability for token_id, probability in distribution.items() if probability > 1e-36}


@given(
    values=st.lists(st.integers(-40, 40), min_size=1, max_size=3000),
    count=st.integers(1, 600),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_top_k_of_many_is_that_of_sorting_them_all(values: list[int], count: int) -> None:
    token_ids, _ = weighed(logits_of(*values), row(top_k=count, temperature=1))
    assert token_ids.tolist() == sorted(range(len(values)), key=lambda token_id: -values[token_id])[:count]


def plain_distribution(values: list[float], sampling: SamplingInput) -> dict[int, float] | None:
    """The definition, word by word, with floats of Python. None where an edge is too near to call."""
    params = sampling.params
    output = sampling.token_ids[sampling.num_prompt_tokens :]
    logits = [value + params.logit_bias.get(token_id, 0.0) for token_id, value in enumerate(values)]
    for token_id in set(sampling.token_ids):
        penalty = params.repetition_penalty
        logits[token_id] = logits[token_id] / penalty if logits[token_id] > 0 else logits[token_id] * penalty
    for token_id in set(output):
        logits[token_id] -= params.presence_penalty + params.frequency_penalty * output.count(token_id)
    scaled = [(logit - max(logits)) / params.temperature for logit in logits]

    ranked = sorted(range(len(values)), key=lambda token_id: (-logits[token_id], token_id))
    if any(0 < logits[a] - logits[b] < ALMOST for a, b in pairwise(ranked)):
        return None
    ranked = ranked[: params.top_k or len(ranked)]

    weights = {token_id: math.exp(scaled[token_id]) for token_id in ranked}
    if params.top_p < 1.0:
        kept, reached, wanted = [], 0.0, params.top_p * sum(weights.values())
        for token_id in ranked:
            if abs(reached - wanted) < ALMOST * wanted:
                return None
            if reached >= wanted:
                break
            kept.append(token_id)
            reached += weights[token_id]
        ranked = kept
    if any(0 < abs(weights[token_id] - params.min_p) < ALMOST for token_id in ranked) and params.min_p:
        return None
    ranked = [token_id for token_id in ranked if weights[token_id] >= params.min_p and weights[token_id] > 0]
    total = sum(weights[token_id] for token_id in ranked)
    return {token_id: weights[token_id] / total for token_id in ranked}


# Chance


def test_the_same_seed_and_place_give_the_same_token() -> None:
    logits = np.zeros(1000, dtype=np.float32)
    a_place = row(seed=7, output=[1, 2, 3], temperature=1)
    other_tokens = row(seed=7, prompt=[9] * 50, output=[4, 5, 6], temperature=1)
    assert sample(logits, a_place) == sample(logits, other_tokens)


def test_seeds_and_places_differ() -> None:
    logits = np.zeros(10_000, dtype=np.float32)
    by_seed = {sample(logits, row(seed=seed, temperature=1)).token_id for seed in (0, 1, 2, 2**64 - 1)}
    by_place = {sample(logits, row(seed=5, output=[0] * place, temperature=1)).token_id for place in range(4)}
    assert len(by_seed) == len(by_place) == 4


def test_of_a_whole_vocabulary_tokens_come_as_often_as_they_are_probable() -> None:
    logits = np.full(50_001, -np.inf, dtype=np.float32)
    logits[[3, 17_000, 17_001, 50_000]] = np.log(np.array([0.5, 0.2, 0.2, 0.1], dtype=np.float32))
    drawn = [sample(logits, row(seed=seed, temperature=1)).token_id for seed in range(3000)]
    shares = [drawn.count(token_id) / 3000 for token_id in (3, 17_000, 17_001, 50_000)]
    assert shares == pytest.approx([0.5, 0.2, 0.2, 0.1], abs=0.03)


def test_tokens_come_as_often_as_they_are_probable() -> None:
    logits = np.log(np.array([0.6, 0.3, 0.1], dtype=np.float32))
    drawn = [sample(logits, row(seed=seed, temperature=1)).token_id for seed in range(3000)]
    shares = [drawn.count(token_id) / 3000 for token_id in range(3)]
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.03)


# Log probabilities


def test_logprobs_are_of_the_raw_logits() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    token = sample(logits, row(temperature=0, logit_bias={2: 50.0}, logprobs=2))
    assert token.token_id == 2
    assert token.logprob == pytest.approx(math.log(0.2))
    assert [token_id for token_id, _ in token.top_logprobs] == [0, 1]
    assert [logprob for _, logprob in token.top_logprobs] == pytest.approx([math.log(0.5), math.log(0.3)])


def test_0_logprobs_are_the_chosen_token_alone() -> None:
    token = sample(logits_of(0, 0), row(temperature=0, logprobs=0))
    assert token.logprob == pytest.approx(math.log(0.5))
    assert token.top_logprobs == ()


def test_impossible_tokens_are_not_among_the_likeliest() -> None:
    token = sample(logits_of(0, -math.inf, math.nan), row(temperature=0, logprobs=3))
    assert token.top_logprobs == ((0, 0.0),)


# Logits that are no numbers


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nan_is_never_chosen(temperature: float) -> None:
    logits = logits_of(math.nan, 1, math.nan, -math.inf)
    assert sample(logits, row(temperature=temperature)).token_id == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_infinite_logit_is_certain(temperature: float) -> None:
    assert sample(logits_of(100, math.inf, 3), row(temperature=temperature)).token_id == 1


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_without_a_number_are_an_error_that_says_what_to_do(value: float, temperature: float) -> None:
    with pytest.raises(EngineError, match=r"no usable number.*Download the model again"):
        sample(logits_of(value, value), row(temperature=temperature))
