"""All rows of a step at once give what each gives alone."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.batch import BatchRow, SampledToken, SamplingInput
from engine.params import SamplingParams
from engine.sampler import sample_row
from engine.step_sampler import StepSampler

Logits = NDArray[np.float32]
VOCAB_SIZE = 5003            # no multiple of anything
WAYS: list[dict[str, Any]] = [
    {"temperature": 0.0},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 1.0, "top_p": 0.95, "min_p": 0.05},
    {"temperature": 1.3, "top_p": 0.999},
    {"temperature": 1.0, "top_p": 0.9, "min_p": 1e-4},
    {"temperature": 0.7, "top_k": 1},
    {"temperature": 0.7, "top_k": 40, "top_p": 0.9},
    {"temperature": 1.0, "top_k": 100, "min_p": 0.02},
    {"temperature": 1e-300, "top_k": 5},
    {"temperature": 1e-300, "top_p": 0.5},
    {"temperature": 1.0},
    {"temperature": 0.8, "top_p": 0.9, "repetition_penalty": 1.2},
    {"temperature": 0.8, "top_p": 0.9, "logprobs": 2},
]


def row(slot: int, seed: int, *, num_proposed: int = 0, **params: Any) -> BatchRow:
    sampling = SamplingInput(params=SamplingParams(**params), seed=seed, token_ids=[3, 1, 4, 1], num_prompt_tokens=2)
    token_ids = [1, *range(num_proposed)]
    return BatchRow(
        slot=slot, token_ids=token_ids, position=3, block_table=[0], sampling=sampling, num_proposed=num_proposed
    )


def prompt_row(slot: int) -> BatchRow:
    return BatchRow(slot=slot, token_ids=[1, 2], position=0, block_table=[0])


def likely_logits(seed: int, num_rows: int, spread: float) -> Logits:
    return np.random.default_rng(seed).normal(20.0, spread, (num_rows, VOCAB_SIZE)).astype(np.float32)


def assert_same_as_alone(logits: Logits, rows: Sequence[BatchRow]) -> None:
    alone, start = [], 0
    for each in rows:
        alone.append(sample_row(logits[start : start + each.num_sampled_from], each))
        start += each.num_sampled_from
    assert StepSampler(logits.shape[1]).sample(logits, rows) == alone


@given(
    seed=st.integers(0, 2**64 - 1),
    spread=st.sampled_from([0.0, 0.3, 1.0, 3.0, 8.0]),
    ways=st.lists(st.sampled_from(WAYS), min_size=1, max_size=12),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_step_gives_what_its_rows_give_alone(seed: int, spread: float, ways: list[dict[str, Any]]) -> None:
    rows = [row(slot, (seed + slot) % 2**64, **way) for slot, way in enumerate(ways)]
    assert_same_as_alone(likely_logits(seed, len(rows), spread), rows)


@given(seed=st.integers(0, 2**64 - 1), num_likely=st.integers(1, 40), share=st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_likely_tokens_before_a_long_tail_are_drawn_as_alone(seed: int, num_likely: int, share: float) -> None:
    ways: list[dict[str, Any]] = [way for way in WAYS if "top_p" in way]
    logits = likely_logits(seed, len(ways), 0.3) - np.float32(20.0)
    others = np.exp(logits.astype(np.float64)).sum(axis=1, keepdims=True)
    logits[:, :num_likely] = np.log(others * share / (1.0 - share) / num_likely)
    assert_same_as_alone(logits, [row(slot, (seed + slot) % 2**64, **way) for slot, way in enumerate(ways)])


def test_a_row_is_looked_at_alone_only_where_none_of_its_likeliest_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tokens its top-p holds: here some 4,000 of which eight weigh as much as all others."""
    alone: list[BatchRow] = []

    def sample_alone(logits: Logits, row: BatchRow) -> tuple[SampledToken, ...]:
        alone.append(row)
        return sample_row(logits, row)

    monkeypatch.setattr("engine.step_sampler.sample_row", sample_alone)
    logits = likely_logits(1, 64, 0.01)
    logits[:, 100:108] += np.float32(np.log((VOCAB_SIZE - 8) / 8))
    rows = [row(slot, slot, temperature=1.0, top_p=0.9) for slot in range(64)]
    drawn = StepSampler(VOCAB_SIZE).sample(logits, rows)
    likely = [each for each, [token] in zip(rows, drawn, strict=True) if 100 <= token.token_id < 108]
    assert 20 < len(likely) < 50 and len(alone) == len(rows) - len(likely)
    assert not any(each in alone for each in likely)


@given(seed=st.integers(0, 1000), steps=st.sampled_from([0.25, 1.0, 4.0]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_equal_logits_are_in_the_order_of_their_ids_at_the_edge_of_what_is_kept(seed: int, steps: float) -> None:
    ways = [way for way in WAYS if way.get("top_k") or "top_p" in way]
    coarse = np.round(likely_logits(seed, len(ways), 3.0) / steps) * np.float32(steps)
    assert_same_as_alone(coarse.astype(np.float32), [row(slot, seed, **way) for slot, way in enumerate(ways)])


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_a_row_with_odd_numbers_does_not_touch_its_neighbours(value: float) -> None:
    logits = likely_logits(7, 4, 3.0)
    logits[1, 17] = logits[2, : VOCAB_SIZE - 3] = value
    assert_same_as_alone(logits, [row(slot, 5, temperature=0.7, top_p=0.9) for slot in range(4)])
    assert_same_as_alone(logits, [row(slot, 5, temperature=0.7, top_k=40) for slot in range(4)])


def test_guesses_and_prompts_stand_among_the_drawn() -> None:
    draws: dict[str, Any] = {"temperature": 0.7, "top_k": 40}
    rows = [row(0, 1, **draws), prompt_row(1), row(2, 1, num_proposed=2, **draws), row(3, 2, **draws), prompt_row(4)]
    assert_same_as_alone(likely_logits(3, 5, 3.0), rows)


def test_a_step_may_be_smaller_or_larger_than_the_last() -> None:
    sampler = StepSampler(VOCAB_SIZE)
    for num_rows in (2, 9, 3):
        rows = [row(slot, slot, temperature=0.7, top_p=0.9) for slot in range(num_rows)]
        logits = likely_logits(num_rows, num_rows, 8.0)
        assert sampler.sample(logits, rows) == [sample_row(logits[i : i + 1], rows[i]) for i in range(num_rows)]


@pytest.mark.parametrize("vocab_size", [1024, 1025, 1039, 8192])
@pytest.mark.parametrize("top_k", [1, 2, 16])
def test_few_tokens_are_found_in_vocabularies_of_any_size(vocab_size: int, top_k: int) -> None:
    logits = np.random.default_rng(top_k).normal(0.0, 3.0, (5, vocab_size)).astype(np.float32)
    logits[0, -1] = logits[1, 0] = logits[2, -16] = 100.0
    assert_same_as_alone(logits, [row(slot, slot, temperature=0.7, top_k=top_k) for slot in range(5)])


def test_a_small_vocabulary_is_looked_at_row_by_row() -> None:
    logits = likely_logits(1, 3, 3.0)[:, :50].copy()
    assert_same_as_alone(logits, [row(slot, slot, temperature=0.7, top_k=40) for slot in range(3)])
