"""How far apart two models' next tokens are: against sums written out, and at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.divergence import DivergenceMeter, kl_divergence


def rows(*values: list[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def written_out(p_logits: list[float], q_logits: list[float]) -> float:
    def softmax(logits: list[float]) -> list[float]:
        total = math.fsum(math.exp(logit) for logit in logits)
        return [math.exp(logit) / total for logit in logits]

    p, q = softmax(p_logits), softmax(q_logits)
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_it_is_the_sum_of_p_times_the_difference_of_logarithms() -> None:
    random = np.random.default_rng(7)
    p, q = (random.normal(0, 4, (20, 300)).astype(np.float32) for _ in range(2))
    expected = [written_out(a, b) for a, b in zip(p.tolist(), q.tolist(), strict=True)]
    assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-9)


def test_of_a_coin_that_is_biased() -> None:
    fair, biased = rows([0.0, 0.0]), rows([math.log(3), 0.0])
    assert kl_divergence(fair, biased)[0] == pytest.approx(0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25))
    assert kl_divergence(biased, fair)[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_it_is_nothing_between_equals_and_where_all_logits_are_shifted() -> None:
    logits = np.random.default_rng(1).normal(0, 30, (9, 50)).astype(np.float32)
    assert kl_divergence(logits, logits).tolist() == [0.0] * 9
    assert kl_divergence(rows([1.0, 2.0, 4.0]), rows([33.0, 34.0, 36.0]))[0] == pytest.approx(0.0, abs=1e-12)


def test_large_logits_do_not_overflow_and_a_token_that_cannot_be_adds_nothing() -> None:
    assert kl_divergence(rows([90_000.0, 0.0]), rows([90_000.0, 0.0]))[0] == 0.0
    never = rows([0.0, 0.0, -math.inf])
    assert kl_divergence(never, never)[0] == 0.0
    assert kl_divergence(rows([0.0, 0.0]), rows([0.0, -math.inf]))[0] == math.inf


def test_the_meter_gives_mean_percentile_and_share_whatever_the_pieces() -> None:
    random = np.random.default_rng(3)
    p = random.normal(0, 2, (100, 40)).astype(np.float32)
    q = p + random.normal(0, 0.5, p.shape).astype(np.float32)
    meter = DivergenceMeter()
    for start, end in ((0, 1), (1, 34), (34, 100)):
        meter.add(p[start:end], q[start:end])
    nats, result = kl_divergence(p, q), meter.result()
    assert result.num_tokens == 100
    assert result.mean_nats == pytest.approx(nats.mean())
    assert np.sum(nats < result.p99_nats) == 99
    assert result.same_top_share == sum(a.argmax() == b.argmax() for a, b in zip(p, q, strict=True)) / 100
    assert 0.5 < result.same_top_share < 1.0
