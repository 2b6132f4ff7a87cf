"""The plan: what fits where, what gives way first, and what a person is told when nothing does."""

from __future__ import annotations

import pytest

from engine.errors import OutOfMemory
from engine.memory import DeviceFacts, LoadLimits, MemoryPlan, ModelFacts, plan

MIB, GIB = 1 << 20, 1 << 30
STARTER = ModelFacts(name="SmolLM2 135M", weight_bytes=92 * MIB, kv_bytes_per_token=23_040, context_length=8192)
EIGHT_B = ModelFacts(name="Llama 8B", weight_bytes=int(4.6 * GIB), kv_bytes_per_token=131_072, context_length=131_072)


def machine(available: float, total: float | None = None) -> DeviceFacts:
    return DeviceFacts(name="cpu", total_bytes=int((total or available) * GIB), available_bytes=int(available * GIB))


def fixed(**limits: int) -> LoadLimits:
    return LoadLimits(**limits)


def test_a_small_model_gets_the_defaults_on_a_large_machine() -> None:
    assert plan(STARTER, machine(24), LoadLimits()) == MemoryPlan(
        max_model_len=8192,
        max_num_seqs=8,
        cache_bytes=8 * 8192 * 23_040,
        weight_bytes=92 * MIB,
        kv_bytes=8 * 8192 * 23_040,
    )


def test_the_window_is_never_longer_than_the_model_was_trained_for() -> None:
    short = ModelFacts(name="Short", weight_bytes=MIB, kv_bytes_per_token=100, context_length=512)
    assert plan(short, machine(8), LoadLimits()).max_model_len == 512
    assert plan(short, machine(8), fixed(context_tokens=4096)).max_model_len == 512


@pytest.mark.parametrize("available_gib, context, num_seqs", [
    (24, 8192, 8), (12, 4096, 8), (9, 4096, 4), (7.5, 4096, 2), (6.5, 2048, 2), (6, 1024, 2), (5.7, 1024, 1),
])
def test_context_gives_way_down_to_4096_then_chats_at_once_then_both(
    available_gib: float, context: int, num_seqs: int
) -> None:
    got = plan(EIGHT_B, machine(available_gib), LoadLimits())
    assert (got.max_model_len, got.max_num_seqs) == (context, num_seqs)


@pytest.mark.parametrize("available_gib", [6, 6.5, 7.5, 9, 12, 24, 200])
def test_all_of_it_fits_with_a_reserve_for_the_system(available_gib: float) -> None:
    got = plan(EIGHT_B, machine(available_gib), LoadLimits())
    reserve = min(available_gib * GIB / 8, 4 * GIB)
    assert got.total_bytes <= available_gib * GIB - reserve


@pytest.mark.parametrize("available_gib", [6, 12, 24])
def test_the_cache_holds_at_least_one_whole_sequence(available_gib: float) -> None:
    got = plan(EIGHT_B, machine(available_gib), LoadLimits())
    assert got.cache_bytes >= got.max_model_len * EIGHT_B.kv_bytes_per_token


def test_what_the_user_fixed_stays() -> None:
    got = plan(EIGHT_B, machine(16), fixed(context_tokens=16_384))
    assert (got.max_model_len, got.max_num_seqs) == (16_384, 2)
    got = plan(STARTER, machine(24), fixed(context_tokens=2000, max_num_seqs=3, cache_bytes=300 * MIB))
    assert (got.max_model_len, got.max_num_seqs, got.cache_bytes) == (2000, 3, 300 * MIB)


def test_no_cache_is_no_cache() -> None:
    assert plan(STARTER, machine(24), fixed(cache_bytes=0)).cache_bytes == 0


def test_a_cache_too_small_for_a_sequence_is_made_large_enough() -> None:
    assert plan(STARTER, machine(24), fixed(context_tokens=1024, cache_bytes=1)).cache_bytes == 1024 * 23_040


def test_a_recurrent_model_needs_no_kv() -> None:
    mamba = ModelFacts(name="Mamba", weight_bytes=GIB, kv_bytes_per_token=0, context_length=1 << 20)
    got = plan(mamba, machine(4), LoadLimits())
    assert (got.max_model_len, got.max_num_seqs, got.kv_bytes, got.cache_bytes) == (8192, 8, 0, 0)


def test_too_large_a_model_is_refused_with_numbers_and_what_would_fit() -> None:
    with pytest.raises(OutOfMemory) as refused:
        plan(EIGHT_B, machine(5, total=8), LoadLimits())
    assert str(refused.value) == (
        "Llama 8B needs 4.9 GiB with 1 x 1024 tokens of context (4.6 GiB of it weights); "
        "4.0 GiB of 8.0 GiB can be used now. "
        "Close other programs, unload another model, or take one whose file has at most 3.7 GiB."
    )


def test_limits_that_ask_too_much_are_named_as_the_cause() -> None:
    with pytest.raises(OutOfMemory, match=r"It fits with 4 x 4096 tokens: lower your limits\."):
        plan(EIGHT_B, machine(9), fixed(context_tokens=131_072, max_num_seqs=1))
