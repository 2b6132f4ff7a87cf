"""Draws on the device beside those of one row on the processor: on CUDA, or in Triton's interpreter."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.batch import BatchRow, SamplingInput
from engine.params import SamplingParams
from engine.sampler import sample_row

pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("kernels need CUDA, or Triton's interpreter", allow_module_level=True)

from engine.backends.torch.device_sampler import UNCERTAIN, DeviceSampler

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
VOCAB_SIZE = 5003               # no multiple of anything
WAYS: list[dict[str, Any]] = [
    {"temperature": 0.0},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 1.0, "top_p": 0.95, "min_p": 0.05},
    {"temperature": 1.0, "top_p": 0.9, "min_p": 1e-4},
    {"temperature": 0.7, "top_k": 1},
    {"temperature": 0.7, "top_k": 40, "top_p": 0.9},
    {"temperature": 1.0, "top_k": 100, "min_p": 0.02},
    {"temperature": 1.0, "min_p": 0.02},
    {"temperature": 1e-300, "top_k": 5},
    {"temperature": 1e-300, "top_p": 0.5},
    {"temperature": 1e-300},
    {"temperature": 1.0},
    {"temperature": 1.6},
]


def _row(seed: int, place: int = 2, **params: Any) -> BatchRow:
    sampling = SamplingInput(
        params=SamplingParams(**params), seed=seed, token_ids=[7] * (2 + place), num_prompt_tokens=2
    )
    return BatchRow(slot=0, token_ids=[1], position=3, block_table=[0], sampling=sampling)


def _logits(seed: int, rows: int, spread: float, size: int = VOCAB_SIZE) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(20.0, spread, (rows, size)).astype(np.float32)


def _chosen(logits: NDArray[np.float32], rows: list[BatchRow], most_rows: int = 64) -> list[int]:
    sampler = DeviceSampler(most_rows, logits.shape[1], DEVICE)
    assert all(sampler.takes(row.sampling) for row in rows)
    return sampler.choose(torch.from_numpy(logits).to(DEVICE), rows)


def _alone(logits: NDArray[np.float32], rows: list[BatchRow]) -> list[int]:
    return [sample_row(logits[place : place + 1], row)[0].token_id for place, row in enumerate(rows)]


@pytest.mark.parametrize(("spread", "most_uncertain"), [(0.5, 18), (3.0, 2), (6.0, 0)])
def test_every_row_gets_the_token_that_it_gets_on_the_processor(spread: float, most_uncertain: int) -> None:
    """The same, or none where its nucleus is wide."""
    rows = [_row(seed, seed % 5, **way) for seed, way in enumerate(WAYS * 3)]
    logits = _logits(int(spread * 10), len(rows), spread)
    found, wanted = _chosen(logits, rows), _alone(logits, rows)
    assert [one for one in found if one != UNCERTAIN] == [
        other for one, other in zip(found, wanted, strict=True) if one != UNCERTAIN
    ]
    assert found.count(UNCERTAIN) <= most_uncertain


def test_as_often_as_it_is_likely() -> None:
    """A thousand draws from one distribution, in more rows than there is room for at once."""
    logits = np.repeat(np.log(np.array([[5.0, 1.0, 3.0, 1.0] + [1e-9] * 60], np.float32)), 1000, axis=0)
    ways: list[dict[str, Any]] = [{"temperature": 1.0}, {"temperature": 1.0, "top_p": 0.95}]
    rows = [_row(seed, **ways[seed % 2]) for seed in range(1000)]
    found = np.bincount(_chosen(logits, rows, most_rows=300), minlength=4)
    assert found[:4] == pytest.approx([500, 100, 300, 100], abs=50)
    assert found[4:].sum() == 0


def test_among_equals_the_lowest_id_is_first() -> None:
    logits = np.zeros((3, VOCAB_SIZE), np.float32)
    logits[0, [4000, 17, 900]] = 9.0
    logits[1, [4000, 17, 900]] = -0.0
    logits[2, [5002, 3]] = 9.0
    ways: list[dict[str, Any]] = [{"temperature": 0.0}, {"temperature": 0.0}, {"temperature": 1.0, "top_k": 1}]
    rows = [_row(seed, **way) for seed, way in enumerate(ways)]
    found = _chosen(logits, rows)
    assert found == [17, UNCERTAIN, 3], "thousands of equals are more than are put in order"


def test_rows_without_usable_numbers_are_left_to_the_processor() -> None:
    logits = _logits(3, 5, 4.0)
    logits[0, :] = np.nan
    logits[1, 7] = np.inf
    logits[2, ::2] = np.nan
    logits[3, :] = -np.inf
    ways: list[dict[str, Any]] = [{"temperature": 0.0}, {"temperature": 1.0}, {"temperature": 0.8, "top_p": 0.9}]
    for way in ways:
        rows = [_row(seed, **way) for seed in range(5)]
        found = _chosen(logits, rows)
        assert [found[0], found[1], found[3]] == [UNCERTAIN] * 3
        assert [found[2], found[4]] == _alone(logits[[2, 4]], [rows[2], rows[4]])


def test_a_step_leaves_nothing_to_the_next() -> None:
    rows = [_row(seed, temperature=0.8, top_p=0.9) for seed in range(4)]
    sampler = DeviceSampler(4, VOCAB_SIZE, DEVICE)
    for seed in range(3):
        logits = _logits(seed, 4, 4.0)
        assert sampler.choose(torch.from_numpy(logits).to(DEVICE), rows) == _alone(logits, rows)


def test_penalties_grammars_and_logprobs_are_for_the_processor() -> None:
    sampler = DeviceSampler(4, VOCAB_SIZE, DEVICE)
    for params in (
        {"repetition_penalty": 1.2}, {"presence_penalty": 0.5}, {"logit_bias": {3: 1.0}}, {"logprobs": 2},
        {"top_k": 4000},
    ):
        assert not sampler.takes(_row(0, **params).sampling)
    assert sampler.takes(None)
