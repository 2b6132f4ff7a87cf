"""Which format is advised: gain, distance, and nobody made to wait."""

from __future__ import annotations

import pytest

from engine.divergence import Divergence
from engine.format_advice import Comparison, Speeds, Verdict, advised, verdict


def steady(alone: float, together: float, prompt: float) -> Speeds:
    return Speeds(alone=(alone,) * 3, together=(together,) * 3, prompt=(prompt,) * 3)


def comparison(*ratios: float, nats: float) -> Comparison:
    alone, together, prompt = ratios
    return Comparison(
        original=steady(50, 100, 200),
        copy=steady(50 * alone, 100 * together, 200 * prompt),
        divergence=Divergence(mean_nats=nats, p99_nats=10 * nats, same_top_share=0.9, num_tokens=1000),
        copy_bytes=1,
    )


@pytest.mark.parametrize("ratios, nats, expected", [
    ((1.0, 1.6, 2.0), 0.02, Verdict.ADVISED),
    ((0.92, 1.2, 0.95), 0.049, Verdict.ADVISED),
    ((2.0, 1.1, 2.0), 0.001, Verdict.NOT_FASTER),
    ((1.0, 1.1, 1.0), 0.3, Verdict.NOT_FASTER),
    ((1.1, 1.9, 2.5), 0.051, Verdict.TOO_FAR_OFF),
    ((0.8, 1.6, 2.0), 0.02, Verdict.SLOWER_ELSEWHERE),
    ((1.0, 1.6, 0.8), 0.02, Verdict.SLOWER_ELSEWHERE),
])
def test_a_copy_by_itself(ratios: tuple[float, float, float], nats: float, expected: Verdict) -> None:
    assert verdict(comparison(*ratios, nats=nats)) is expected


def test_the_fastest_of_the_good_ones_and_of_nearly_equals_the_nearest() -> None:
    too_far, fast, nearly, slow = (
        comparison(1.0, gain, 2.0, nats=nats) for gain, nats in ((2.0, 0.2), (1.7, 0.04), (1.6, 0.02), (1.3, 0.001))
    )
    assert advised({"too far": too_far, "fast": fast, "slow": slow}) == "fast"
    assert advised({"too far": too_far, "fast": fast, "nearly": nearly, "slow": slow}) == "nearly"
    assert advised({"too far": too_far}) is None
    assert advised({}) is None


def test_speeds_are_the_middle_of_their_turns_and_say_how_they_swung() -> None:
    swinging = Speeds(alone=(10, 10, 10, 10), together=(100, 50, 100, 150), prompt=(7, 7, 7, 7))
    assert swinging.medians() == (10, 100, 7)
    assert swinging.spread() == pytest.approx(0.75)
    assert steady(1, 2, 3).spread() == 0.0
