"""Tells before a download what the loader would do: the same plan, from the same header. On the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.errors import ModelLoadError
from engine.gguf import GgufHeader
from engine.hardware import cpu_device, inspect_machine
from engine.load import choose_gpu
from engine.load_embedding import plan_embedding
from engine.memory import COMFORTABLE_CONTEXT_TOKENS, LoadLimits, MemoryPlan, ModelFacts, plan
from engine.model_spec import ModelSpec, facts_of


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
    reason: str = ""            # why not, with numbers, and what would


async def judge(
    header: GgufHeader, limits: LoadLimits, *, scale: float = 1.0, reclaimable_bytes: int = 0
) -> Fit:
    """`scale`: of the weights, for another quantisation of the same model. `reclaimable_bytes`: of the host's memory,
    that loaded models hold; they would make room.
    """
    machine = await asyncio.to_thread(inspect_machine)
    machine = replace(machine, available_bytes=min(machine.total_bytes, machine.available_bytes + reclaimable_bytes))
    name = header.name or header.path.stem
    spec = ModelSpec(header.path.stem, name, header.path, "")
    try:
        if header.pooling:
            return _fit(plan_embedding(spec, header, machine, limits), header)
        _, gpu = await choose_gpu(limits)
        facts = _scaled(facts_of(spec, header, (), limits), scale)
        return _fit(plan(facts, cpu_device(machine), limits, gpu), header)
    except ModelLoadError as error:         # OutOfMemory among them
        return Fit(verdict=Verdict.TOO_BIG, num_layers=header.block_count + 1, reason=str(error))


def _fit(memory_plan: MemoryPlan, header: GgufHeader) -> Fit:
    enough = min(COMFORTABLE_CONTEXT_TOKENS, header.context_length)
    is_tight = not header.pooling and (memory_plan.max_num_seqs < 2 or memory_plan.max_model_len < enough)
    return Fit(
        verdict=Verdict.TIGHT if is_tight else Verdict.FITS,
        context_tokens=memory_plan.max_model_len,
        num_users=memory_plan.max_num_seqs,
        needed_bytes=memory_plan.total_bytes,
        gpu_layers=memory_plan.gpu_layers,
        num_layers=header.block_count + 1,
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
