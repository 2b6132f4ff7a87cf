"""Figures of answers whose times are known: what comes out can be said beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.bench_estimate import Pace
from app.services.bench_figures import (
    LEAST_NOISE,
    LONE_NOISE,
    AnswerTimes,
    Figure,
    Level,
    Round,
    default_levels,
    num_answers,
    quantile,
)


def answer(asked_s: float, first_s: float, gap_s: float, num_tokens: int = 5, cached: int = 0) -> AnswerTimes:
    times_s = tuple(asked_s + first_s + gap_s * index for index in range(num_tokens))
    return AnswerTimes(asked_s, times_s, num_tokens, num_prompt_tokens=10, num_cached_tokens=cached)


def test_a_round_tells_speed_waits_and_gaps() -> None:
    measured = Round.of([answer(0, 1.0, 0.1), answer(0, 3.0, 0.2), answer(2, 2.0, 0.2, cached=4)], took_s=5.0)
    assert measured.tokens_per_s == 3 * 5 / 5.0
    assert measured.stream_tokens_per_s == pytest.approx(5.0)       # of 10, 5 and 5
    assert (measured.first_token_p50_s, measured.first_token_p95_s) == (2.0, 3.0)
    assert measured.inter_token_p50_s == pytest.approx(0.2)
    assert (measured.prompt_tokens, measured.num_cached_tokens, measured.num_answers) == (10, 4, 3)


def test_what_was_guessed_ahead_is_a_share_of_all_that_was_written() -> None:
    measured = Round.of([answer(0, 1.0, 0.1)] * 2, 1.0, num_others_tokens=10, num_guessed_tokens=5)
    assert (measured.guessed_share, measured.num_others_tokens) == (0.25, 10)


def test_an_answer_in_one_piece_has_a_speed_and_no_gaps() -> None:
    at_once = AnswerTimes(0.0, (2.0,), num_tokens=8, num_prompt_tokens=1, num_cached_tokens=0)
    measured = Round.of([at_once], took_s=2.0)
    assert (at_once.tokens_per_s, measured.tokens_per_s, measured.inter_token_p95_s) == (4.0, 4.0, 0.0)


def test_repetitions_become_a_median_with_its_spread() -> None:
    rounds = [Round.of([answer(0, wait_s, 0.1)], took_s) for wait_s, took_s in ((1.0, 1.0), (1.2, 2.0), (1.4, 1.25))]
    level = Level.of(4, rounds)
    assert level.tokens_per_s == Figure(median=4.0, low=2.5, high=5.0)
    assert level.first_token_p50_s == Figure(1.2, 1.0, 1.4)
    assert level.noise("tokens_per_s") == pytest.approx(2.5 / 4.0)
    assert level.noise("inter_token_p50_s") == LEAST_NOISE
    assert Level.of(4, rounds[:1]).noise("tokens_per_s") == LONE_NOISE
    assert Level.from_values(level.to_values()) == level


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_quantile_is_one_of_the_values_and_bounds_its_share(values: list[float]) -> None:
    for share in (0.5, 0.95, 1.0):
        found = quantile(values, share)
        assert found in values
        assert sum(each <= found for each in values) >= share * len(values)


def test_levels_double_up_to_what_the_model_answers_at_once() -> None:
    assert default_levels(1) == (1,)
    assert default_levels(8) == (1, 2, 4, 8)
    assert default_levels(12) == (1, 2, 4, 8, 12)


@given(st.integers(1, 300), st.integers(1, 64))
def test_each_client_has_the_same_share_and_each_prompt_is_asked(concurrency: int, num_prompts: int) -> None:
    total = num_answers(concurrency, num_prompts)
    assert total % concurrency == 0
    assert num_prompts <= total < num_prompts + concurrency


def test_a_round_is_foretold_by_a_few_words_alone_and_together() -> None:
    def said(first_s: float, between_s: float) -> AnswerTimes:
        times_s = tuple(first_s + index * between_s for index in range(5))
        return AnswerTimes(0.0, times_s, num_tokens=5, num_prompt_tokens=10, num_cached_tokens=0)

    pace = Pace.of(said(9.0, 0.1), [said(0.5 * number, 0.3) for number in range(1, 5)])
    assert pace.prompt_s == pytest.approx(0.5)              # what came first, just after a load, says nothing of it
    assert pace.round_s(1, 2, 11) == pytest.approx(2 * 0.5 + 2 * 10 * 0.1)
    assert pace.round_s(4, 4, 11) == pytest.approx(4 * 0.5 + 10 * 0.3)
    assert pace.round_s(4, 99, 11) == pytest.approx(99 * 0.5 + 25 * 10 * 0.3)       # 95 of them wait in line
    assert pace.round_s(2, 4, 11) == pytest.approx(4 * 0.5 + 2 * 10 * (0.1 + 0.2 / 3))
    assert pace.round_s(9, 9, 11) == pytest.approx(9 * 0.5 + 10 * 0.3)
    alone = Pace.of(said(9.0, 0.1), [said(0.5, 0.2)])
    assert alone.round_s(1, 1, 11) == pytest.approx(0.5 + 10 * 0.1)
