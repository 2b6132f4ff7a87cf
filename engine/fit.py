"""Tells before a download what the loader would do: the same plan, from the same header. On the event loop.

For lists, where a header for each would be too much to fetch, there is a guess from the number of parameters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.errors import ModelLoadError
from engine.gguf import GgufHeader
from engine.hardware import Machine, cpu_device, inspect_machine
from engine.load import choose_gpu
from engine.load_embedding import plan_embedding
from engine.memory import (
    COMFORTABLE_CONTEXT_TOKENS,
    MIN_CONTEXT_TOKENS,
    WORKING_BYTES,
    DeviceFacts,
    LayerFacts,
    LoadLimits,
    MemoryPlan,
    ModelFacts,
    plan,
)
from engine.model_spec import ModelSpec, facts_of
from engine.speed import bytes_per_token


class Verdict(StrEnum):
    FITS = "fits"
    TIGHT = "tight"             # it runs, for one person at a time or with a short memory
    TOO_BIG = "too big"
    UNKNOWN = "unknown"         # its header could not be read, or nothing here runs it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    verdict: Verdict
    context_tokens: int = 0     # of each chat
    num_users: int = 0          # that can be answered at once
    needed_bytes: int = 0       # of the host's memory, at the most
    gpu_layers: int = 0
    num_layers: int = 0         # those and the rest
    bytes_per_token: int = 0    # of weights, that a token of an answer reads; 0 where that is not known
    reason: str = ""            # why not, with numbers, and what would
    has_bytes: int = 0          # of this machine, its GPU included; where it is TOO_BIG


GUESSED_LAYERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Rough:
    """What is known of a model from a list."""

    name: str
    weight_bytes: int
    num_parameters: int
    context_tokens: int
    bytes_per_token: int = 0    # as of `Fit`

    @property
    def facts(self) -> ModelFacts:
        """Room for a conversation grows slower than the model: 64 KiB a token with 1e9 parameters, 150 with 8e9, 350
        with 70e9, which is what such models of late have, or somewhat more.
        """
        kv_bytes = round(65_536 * max(0.1, self.num_parameters / 1e9) ** 0.4)
        layer = LayerFacts(self.weight_bytes // (GUESSED_LAYERS + 1), kv_bytes // GUESSED_LAYERS)
        return ModelFacts(
            name=self.name, weight_bytes=self.weight_bytes, kv_bytes_per_token=kv_bytes,
            context_length=self.context_tokens, layers=(layer,) * GUESSED_LAYERS, output_bytes=layer.weight_bytes,
        )


async def judge(
    header: GgufHeader, limits: LoadLimits, *, scale: float = 1.0, reclaimable_bytes: int = 0
) -> Fit:
    """`scale`: of the weights, for another quantisation of the same model. `reclaimable_bytes`: of the host's memory,
    that loaded models hold; they would make room.
    """
    machine = await _machine(reclaimable_bytes)
    name = header.name or header.path.stem
    spec = ModelSpec(header.path.stem, name, header.path, "")
    if header.pooling:
        try:
            return _fit(plan_embedding(spec, header, machine, limits), header.context_length, header.block_count, True)
        except ModelLoadError as error:     # OutOfMemory among them
            return Fit(verdict=Verdict.TOO_BIG, reason=error.sentence)
    try:
        _, gpu = await choose_gpu(limits)
        facts = _scaled(facts_of(spec, header, (), limits), scale)
    except ModelLoadError as error:
        return Fit(verdict=Verdict.TOO_BIG, num_layers=header.block_count + 1, reason=error.sentence)
    fit = _judged(facts, machine, limits, gpu, header.block_count)
    return replace(fit, bytes_per_token=round(bytes_per_token(header) * scale))


async def guess(roughs: Sequence[Rough], limits: LoadLimits, *, reclaimable_bytes: int = 0) -> list[Fit]:
    """About as `judge` would say, without a header of any of them."""
    machine = await _machine(reclaimable_bytes)
    try:
        _, gpu = await choose_gpu(limits)
    except ModelLoadError as error:
        return [Fit(verdict=Verdict.UNKNOWN, reason=error.sentence) for _ in roughs]
    return [
        replace(_judged(rough.facts, machine, limits, gpu, GUESSED_LAYERS), bytes_per_token=rough.bytes_per_token)
        for rough in roughs
    ]


async def _machine(reclaimable_bytes: int) -> Machine:
    machine = await asyncio.to_thread(inspect_machine)
    return replace(machine, available_bytes=min(machine.total_bytes, machine.available_bytes + reclaimable_bytes))


def _judged(
    facts: ModelFacts, machine: Machine, limits: LoadLimits, gpu: DeviceFacts | None, block_count: int
) -> Fit:
    try:
        return _fit(plan(facts, cpu_device(machine), limits, gpu), facts.context_length, block_count)
    except ModelLoadError as error:         # OutOfMemory among them
        least_tokens = min(MIN_CONTEXT_TOKENS, facts.context_length)
        gpu_bytes = gpu.total_bytes if gpu is not None and not gpu.is_shared else 0
        return Fit(
            verdict=Verdict.TOO_BIG,
            num_layers=block_count + 1,
            needed_bytes=facts.weight_bytes + 2 * least_tokens * facts.kv_bytes_per_token + WORKING_BYTES,
            has_bytes=machine.total_bytes + gpu_bytes,
            reason=error.sentence,
        )


def _fit(memory_plan: MemoryPlan, context_length: int, block_count: int, embeds: bool = False) -> Fit:
    enough = min(COMFORTABLE_CONTEXT_TOKENS, context_length)
    is_tight = not embeds and (memory_plan.max_num_seqs < 2 or memory_plan.max_model_len < enough)
    return Fit(
        verdict=Verdict.TIGHT if is_tight else Verdict.FITS,
        context_tokens=memory_plan.max_model_len,
        num_users=memory_plan.max_num_seqs,
        needed_bytes=memory_plan.total_bytes,
        gpu_layers=memory_plan.gpu_layers,
        num_layers=block_count + 1,
    )


def _scaled(facts: ModelFacts, scale: float) -> ModelFacts:
    if scale == 1.0:
        return facts
    return replace(
        facts,
        weight_bytes=round(facts.weight_bytes * scale),
        output_bytes=round(facts.output_bytes * scale),
        layers=tuple(replace(layer, weight_bytes=round(layer.weight_bytes * scale)) for layer in facts.layers),
    )
