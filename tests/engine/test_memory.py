"""The plan: what fits where, what gives way first, and what a person is told when nothing does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import OutOfMemory
from engine.memory import DeviceFacts, LayerFacts, LoadLimits, MemoryPlan, ModelFacts, OwnLimits, plan

MIB, GIB = 1 << 20, 1 << 30
STARTER = ModelFacts(name="SmolLM2 135M", weight_bytes=92 * MIB, kv_bytes_per_token=23_040, context_length=8192)
EIGHT_B = ModelFacts(name="Llama 8B", weight_bytes=int(4.6 * GIB), kv_bytes_per_token=131_072, context_length=131_072)


def machine(available: float, total: float | None = None) -> DeviceFacts:
    return DeviceFacts(name="cpu", total_bytes=int((total or available) * GIB), available_bytes=int(available * GIB))


def fixed(**limits: Any) -> LoadLimits:
    return LoadLimits(**limits)


def test_a_small_model_gets_the_defaults_on_a_large_machine() -> None:
    assert plan(STARTER, machine(24), LoadLimits()) == MemoryPlan(
        max_model_len=8192,
        max_num_seqs=8,
        cache_bytes=8 * 8192 * 23_040,
        weight_bytes=92 * MIB,
        kv_bytes=8 * 8192 * 23_040,
        kv_type="f16",
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


# -- with a GPU --------------------------------------------------------------------------------------------------------

LAYERED = ModelFacts(
    name="Llama 8B",
    weight_bytes=32 * 130 * MIB + 2 * 270 * MIB,
    kv_bytes_per_token=131_072,
    context_length=131_072,
    layers=32 * (LayerFacts(130 * MIB, 4096),),
    output_bytes=270 * MIB,
)


def gpu(available: float, total: float | None = None, *, is_shared: bool = False) -> DeviceFacts:
    return DeviceFacts(
        name="CUDA0", total_bytes=int((total or available) * GIB), available_bytes=int(available * GIB),
        is_shared=is_shared,
    )


def test_all_layers_and_the_output_go_to_a_gpu_that_holds_them() -> None:
    got = plan(LAYERED, machine(24), LoadLimits(), gpu(24))
    assert got.gpu is not None
    assert (got.gpu.name, got.gpu_layers, got.gpu_note) == ("CUDA0", 33, None)
    assert (got.max_model_len, got.max_num_seqs) == (8192, 8)
    assert got.gpu.weight_bytes == 32 * 130 * MIB + 270 * MIB
    assert got.gpu.kv_bytes == got.kv_bytes == 8 * 8192 * 131_072
    assert got.total_bytes == 270 * MIB + got.cache_bytes + 64 * MIB      # the input's table, idle prefixes, a step


def test_a_shorter_context_is_taken_before_layers_stay_behind() -> None:
    got = plan(LAYERED, machine(24), LoadLimits(), gpu(8))
    assert (got.gpu_layers, got.max_model_len, got.max_num_seqs) == (33, 4096, 2)


def test_layers_stay_behind_before_the_context_is_uncomfortable() -> None:
    got = plan(LAYERED, machine(24), LoadLimits(), gpu(5))
    assert got.gpu is not None
    assert (got.gpu_layers, got.max_model_len, got.max_num_seqs) == (22, 4096, 2)
    assert got.gpu.weight_bytes == 21 * 130 * MIB + 270 * MIB
    assert got.gpu.kv_bytes == 21 * 4096 * 2 * 4096     # the other 11 keep theirs in the host's memory
    assert got.total_bytes == got.cache_bytes + 64 * MIB + 11 * 130 * MIB + 270 * MIB + 11 * 4096 * 2 * 4096


@pytest.mark.parametrize(("facts", "note"), [
    (gpu(1), "Not even one layer fits on CUDA0: that needs 1.0 GiB, and 0.8 GiB of 1.0 GiB can be used now."),
    (gpu(0, 24), "Not even one layer fits on CUDA0: that needs 1.0 GiB, and 0 MiB of 24.0 GiB can be used now."),
    (None, None),
])
def test_a_gpu_without_room_is_left_alone(facts: DeviceFacts | None, note: str | None) -> None:
    got = plan(LAYERED, machine(24), LoadLimits(), facts)
    assert got.gpu_note == note
    assert replace(got, gpu_note=None) == plan(LAYERED, machine(24), LoadLimits())


def test_what_the_user_fixed_stays_with_a_gpu_too() -> None:
    assert plan(LAYERED, machine(24), fixed(gpu_layers=0), gpu(24)) == plan(LAYERED, machine(24), LoadLimits())
    got = plan(LAYERED, machine(24), fixed(gpu_layers=10), gpu(24))
    assert (got.gpu_layers, got.max_model_len, got.max_num_seqs) == (10, 8192, 8)
    assert plan(LAYERED, machine(24), fixed(gpu_layers=999), gpu(24)).gpu_layers == 33
    assert plan(LAYERED, machine(24), fixed(gpu_layers=33), gpu(6)).max_model_len == 1024


def test_more_layers_than_fit_are_refused_with_numbers() -> None:
    with pytest.raises(OutOfMemory) as refused:
        plan(LAYERED, machine(24), fixed(gpu_layers=33), gpu(4, 8))
    assert str(refused.value) == (
        "Llama 8B needs 5.2 GiB of CUDA0 for 33 layers with 1 x 1024 tokens of context; 3.0 GiB of 8.0 GiB can be used "
        "now. Set fewer gpu_layers, or leave them out: then as many are taken as fit."
    )


def test_a_model_may_fit_because_the_gpu_takes_some_of_it() -> None:
    with pytest.raises(OutOfMemory):
        plan(LAYERED, machine(4), LoadLimits())
    assert plan(LAYERED, machine(4), LoadLimits(), gpu(16)).gpu_layers == 33
    with pytest.raises(OutOfMemory, match="It fits with 8 x 8192 tokens and 33 layers on CUDA0: leave your"):
        plan(LAYERED, machine(4), fixed(gpu_layers=0), gpu(24))


def test_memory_that_a_gpu_shares_with_the_host_is_spent_once() -> None:
    own, shared = gpu(12), gpu(12, is_shared=True)
    assert plan(LAYERED, machine(16), LoadLimits(), own).max_num_seqs == 8
    got = plan(LAYERED, machine(16), LoadLimits(), shared)
    assert got.gpu_layers == 33
    assert got.total_bytes >= got.weight_bytes + got.kv_bytes + got.cache_bytes + 64 * MIB
    assert got.total_bytes <= 14 * GIB


def test_an_output_that_is_the_inputs_table_lies_in_both_memories() -> None:
    tied = ModelFacts(
        name="Tied", weight_bytes=24 * 8 * MIB + 100 * MIB, kv_bytes_per_token=24 * 1024, context_length=8192,
        layers=24 * (LayerFacts(8 * MIB, 1024),), output_bytes=100 * MIB, shares_output=True,
    )
    got = plan(tied, machine(24), fixed(cache_bytes=0), gpu(24))
    assert got.gpu is not None
    assert got.gpu.weight_bytes == tied.weight_bytes
    assert got.total_bytes == 100 * MIB + 64 * MIB


LAYER = st.builds(LayerFacts, st.integers(1, 600).map(lambda n: n * MIB), st.sampled_from((0, 256, 4096, 65_536)))
ROOM = st.integers(0, 200 * 64).map(lambda n: n / 64)                       # GiB
LIMITS = st.builds(
    LoadLimits,
    context_tokens=st.none() | st.integers(256, 100_000),
    max_num_seqs=st.none() | st.integers(1, 64),
    cache_bytes=st.none() | st.sampled_from((0, 1, GIB)),
    gpu_layers=st.none() | st.integers(0, 100),
)


@st.composite
def models(draw: st.DrawFn) -> ModelFacts:
    layers = tuple(draw(st.lists(LAYER, min_size=1, max_size=80)))
    table_bytes = draw(st.integers(1, 2000)) * MIB
    shares_output = draw(st.booleans())
    return ModelFacts(
        name="Any",
        weight_bytes=sum(layer.weight_bytes for layer in layers) + table_bytes * (1 if shares_output else 2),
        kv_bytes_per_token=sum(layer.kv_bytes_per_token for layer in layers),
        context_length=draw(st.sampled_from((512, 4096, 8192, 131_072))),
        layers=layers,
        output_bytes=table_bytes,
        shares_output=shares_output,
    )


def plan_or_none(
    model: ModelFacts, host: DeviceFacts, limits: LoadLimits, device: DeviceFacts | None
) -> MemoryPlan | None:
    try:
        return plan(model, host, limits, device)
    except OutOfMemory:
        return None


@settings(deadline=None, max_examples=100)
@given(models(), ROOM, ROOM, ROOM, st.booleans(), LIMITS)
def test_neither_memory_is_promised_beyond_what_it_has(
    model: ModelFacts, host_gib: float, gpu_gib: float, taken_gib: float, is_shared: bool, limits: LoadLimits
) -> None:
    device = gpu(gpu_gib, gpu_gib + taken_gib, is_shared=is_shared)
    got = plan_or_none(model, machine(host_gib), limits, device)
    if got is None:
        return
    assert got.total_bytes <= host_gib * GIB
    assert 0 <= got.gpu_layers <= len(model.layers) + 1
    if got.gpu is None:
        return
    on_gpu = model.layers[len(model.layers) + 1 - got.gpu_layers:]
    num_tokens = got.max_model_len * got.max_num_seqs
    assert got.gpu.weight_bytes == model.output_bytes + sum(layer.weight_bytes for layer in on_gpu)
    assert got.gpu.kv_bytes == num_tokens * sum(layer.kv_bytes_per_token for layer in on_gpu)
    assert got.gpu.weight_bytes + got.gpu.kv_bytes < device.available_bytes
    in_both = model.weight_bytes + got.kv_bytes + (model.output_bytes if model.shares_output else 0)
    on_host = got.total_bytes - got.cache_bytes - 64 * MIB - (got.gpu.total_bytes if is_shared else 0)
    assert on_host + got.gpu.weight_bytes + got.gpu.kv_bytes == in_both


@settings(deadline=None, max_examples=100)
@given(models(), ROOM, ROOM, ROOM, LIMITS)
def test_more_memory_on_the_gpu_never_means_fewer_layers(
    model: ModelFacts, host_gib: float, gpu_gib: float, more_gib: float, limits: LoadLimits
) -> None:
    less = plan_or_none(model, machine(host_gib), limits, gpu(gpu_gib))
    more = plan_or_none(model, machine(host_gib), limits, gpu(gpu_gib + more_gib))
    if less is not None:
        assert more is not None
        assert more.gpu_layers >= less.gpu_layers


@settings(deadline=None, max_examples=100)
@given(models(), ROOM, ROOM, ROOM, LIMITS)
def test_more_memory_of_the_host_means_the_same_layers_and_no_less_context(
    model: ModelFacts, host_gib: float, more_gib: float, gpu_gib: float, limits: LoadLimits
) -> None:
    less = plan_or_none(model, machine(host_gib, 300), limits, gpu(gpu_gib))
    more = plan_or_none(model, machine(host_gib + more_gib, 300), limits, gpu(gpu_gib))
    if less is not None:
        assert more is not None
        assert more.gpu_layers == less.gpu_layers
        assert more.kv_bytes >= less.kv_bytes


@settings(deadline=None, max_examples=100)
@given(models(), LIMITS)
def test_a_gpu_of_any_size_takes_the_whole_model_or_what_was_asked(model: ModelFacts, limits: LoadLimits) -> None:
    got = plan(model, machine(100_000), limits, gpu(100_000))
    whole = len(model.layers) + 1
    assert got.gpu_layers == (whole if limits.gpu_layers is None else min(limits.gpu_layers, whole))


class TestABudget:
    """Of host and GPU together, whatever the machine has."""

    def test_bounds_the_plan_as_a_smaller_machine_would(self) -> None:
        got = plan(EIGHT_B, machine(200), LoadLimits(budget_bytes=8 * GIB))
        assert got.everywhere_bytes <= 8 * GIB
        assert (got.max_model_len, got.max_num_seqs) == (4096, 4)

    def test_leaves_alone_what_fits(self) -> None:
        assert plan(STARTER, machine(24), LoadLimits(budget_bytes=8 * GIB)) == plan(STARTER, machine(24), LoadLimits())

    def test_that_is_too_small_is_told_with_numbers_and_what_would_fit(self) -> None:
        with pytest.raises(OutOfMemory) as refused:
            plan(EIGHT_B, machine(200), LoadLimits(budget_bytes=2 * GIB))
        assert str(refused.value) == (
            "Llama 8B needs 4.8 GiB with 1 x 1024 tokens of context (4.6 GiB of it weights); 2.0 GiB of the memory "
            "budget are left. Unload another model, raise the budget, or take a model whose file has at most 2.0 GiB."
        )

    def test_that_its_own_limits_break_says_so(self) -> None:
        with pytest.raises(OutOfMemory, match=r"2 x 32768 tokens.*6\.0 GiB of the memory.*Lower its own limits"):
            plan(EIGHT_B, machine(200), LoadLimits(budget_bytes=6 * GIB, context_tokens=32_768, max_num_seqs=2))

    def test_that_is_used_up_leaves_nothing(self) -> None:
        with pytest.raises(OutOfMemory, match=r"0 MiB of the memory budget"):
            plan(STARTER, machine(24), LoadLimits(budget_bytes=-5))


def test_a_context_below_the_least_is_no_plan() -> None:
    assert plan(EIGHT_B, machine(6), LoadLimits()).max_model_len == 1024
    with pytest.raises(OutOfMemory):
        plan(EIGHT_B, machine(6), LoadLimits(least_context_tokens=4096))


def test_limits_of_one_model_stand_over_those_for_all() -> None:
    own = OwnLimits(context_tokens=512, kv_type="q8_0")
    got = own.over(LoadLimits(context_tokens=4096, threads=3, promised_bytes=7))
    assert (got.context_tokens, got.kv_type, got.threads, got.promised_bytes) == (512, "q8_0", 3, 7)
