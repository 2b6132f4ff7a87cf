"""From a file to an engine: check the header, choose a back end, plan memory, try the model in a child process,
load it on the engine's thread. Called on the event loop by the registry of engines; whatever blocks runs elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from engine.core import EngineCore
from engine.engine import Engine
from engine.errors import ModelLoadError, OutOfMemory
from engine.gguf import GgufHeader, read_header
from engine.hardware import Machine, cpu_device, find_gpus, gpu_device, inspect_machine
from engine.load_embedding import plan_embedding, start_embedding
from engine.load_local import DEFAULT_SYSTEM_PROMPT as DEFAULT_SYSTEM_PROMPT
from engine.load_local import OnShareLoaded as OnShareLoaded
from engine.load_local import info_of, local_engine, unheard
from engine.load_torch import gguf_by_torch, plan_torch, start_torch
from engine.local import LocalEngine
from engine.lora import AdapterHeader, read_adapters
from engine.memory import DeviceFacts, MemoryPlan, plan
from engine.memory import LoadLimits as LoadLimits
from engine.model_spec import ModelSpec as ModelSpec
from engine.model_spec import facts_of, with_draft
from engine.select import select_backend
from engine.step_budget import ATTENTION_TILE_TOKENS
from engine.thread_counts import threads_for
from engine.told import Told

if TYPE_CHECKING:
    from engine.backends.llama_cpp.draft import DraftConfig
    from engine.backends.llama_cpp.trial import Candidate, TrialResult

MAX_CHUNK_TOKENS = 8 * ATTENTION_TILE_TOKENS   # of prompts in a step; more gain nothing

logger = structlog.get_logger(__name__)


async def load_engine(spec: ModelSpec, limits: LoadLimits, on_share: OnShareLoaded = unheard) -> Engine:
    """One that embeds where the file's header names a pooling, else one that writes.

    Raises ModelLoadError, OutOfMemory among them, that says what to do. May be cancelled.
    """
    try:
        return await _load(spec, spec.own_limits.over(limits), on_share)
    except OSError as error:            # a file that went away meanwhile, or no process to be had for the trial
        raise ModelLoadError(Told("load-failed", model=spec.name, detail=str(error))) from error


async def plan_load(spec: ModelSpec, limits: LoadLimits) -> MemoryPlan:
    """What loading it now would take and give, without trying it. Raises ModelLoadError, OutOfMemory with numbers."""
    limits = spec.own_limits.over(limits)
    machine = await asyncio.to_thread(inspect_machine)
    if await asyncio.to_thread(select_backend, spec.path) == "torch":
        return await plan_torch(spec, machine, limits)
    header = await asyncio.to_thread(read_header, spec.path)
    if header.pooling:
        return plan_embedding(spec, header, machine, limits)
    if not spec.adapters and (folder := await gguf_by_torch(header, machine, limits)):
        with suppress(OutOfMemory):
            return await plan_torch(spec, machine, limits, folder)
    adapters = await asyncio.to_thread(read_adapters, spec.adapters, header)
    draft = await asyncio.to_thread(_read_draft, spec, limits)
    _, gpu = await choose_gpu(limits)
    facts = with_draft(facts_of(spec, header, adapters, limits), draft)
    return plan(facts, cpu_device(machine, limits.promised_bytes), limits, gpu)


async def _load(spec: ModelSpec, limits: LoadLimits, on_share: OnShareLoaded) -> Engine:
    if await asyncio.to_thread(select_backend, spec.path) == "torch":
        if spec.adapters:
            raise ModelLoadError(Told("adapter-safetensors", model=spec.name))
        return await start_torch(spec, await asyncio.to_thread(inspect_machine), limits, on_share)
    header = await asyncio.to_thread(read_header, spec.path)
    if not header.has_tokenizer:
        raise ModelLoadError(Told("file-no-tokenizer", file=spec.path.name))
    adapters = await asyncio.to_thread(read_adapters, spec.adapters, header)
    machine = await asyncio.to_thread(inspect_machine)
    if header.pooling:
        if adapters:
            raise ModelLoadError(Told("adapter-embedding", model=spec.name))
        return await start_embedding(spec, header, machine, limits)
    if not adapters and (folder := await gguf_by_torch(header, machine, limits)):
        try:
            return await start_torch(spec, machine, limits, on_share, folder)
        except OutOfMemory as error:
            logger.warning("it does not fit the GPU; llama.cpp runs it", model=spec.model_id, reason=str(error))
    return await _start_llama_cpp(spec, header, adapters, machine, limits, on_share)


async def _start_llama_cpp(
    spec: ModelSpec, header: GgufHeader, adapters: Sequence[AdapterHeader], machine: Machine, limits: LoadLimits,
    on_share: OnShareLoaded,
) -> LocalEngine:
    # Each back end's corner is entered when a model of its kind is loaded: starting stays short.
    from engine.backends.llama_cpp.trial import Candidate, try_model  # noqa: PLC0415

    draft_header = await asyncio.to_thread(_read_draft, spec, limits)
    main_gpu, gpu = await choose_gpu(limits)
    facts = with_draft(facts_of(spec, header, adapters, limits), draft_header)
    host = cpu_device(machine, limits.promised_bytes)
    memory_plan = plan(facts, host, limits, gpu)
    candidate = Candidate(
        paths=header.part_paths,
        adapters=spec.adapters,
        kv_type=limits.kv_type,
        gpu_layers=memory_plan.gpu_layers,
        main_gpu=main_gpu,
        num_threads=limits.threads or threads_for(machine.num_cores),
    )
    trial = await try_model(candidate, processor=machine.processor, state_dir=limits.state_dir)
    if memory_plan.gpu_layers and not trial.options.gpu_layers:
        logger.warning("layers do not run on the GPU; the processor has them all", model=spec.model_id)
        note = Told("gpu-trial-failed", gpu=gpu.name) if gpu else None
        memory_plan = replace(plan(facts, host, limits), gpu_note=note)
    draft = await _try_draft(spec, draft_header, candidate.num_threads, machine, limits) if draft_header else None
    core = await _start_core(spec, candidate, trial, memory_plan, limits, draft, on_share)
    info = replace(
        info_of(spec, core, quantisation=header.quantisation, kv_bytes=memory_plan.kv_bytes),
        cache_bytes=core.info.cache_bytes,
        kv_type=limits.kv_type,
        device=gpu.name if gpu and memory_plan.gpu_layers else core.info.device,
        gpu_layers=memory_plan.gpu_layers,
        gpu_note=memory_plan.gpu_note,
        gpu_kv_bytes=memory_plan.gpu.kv_bytes if memory_plan.gpu else 0,
        num_threads=candidate.num_threads,
    )
    return await local_engine(spec, core, info)


async def choose_gpu(limits: LoadLimits) -> tuple[int, DeviceFacts | None]:
    """The one for the layers, and its place among all. None where this build has none, or it is not wanted."""
    if limits.gpu_layers == 0:
        return 0, None
    gpus = await find_gpus()
    if not gpus and limits.gpu_layers:
        raise ModelLoadError(Told("no-gpu", layers=limits.gpu_layers))
    if limits.main_gpu is not None and limits.main_gpu >= len(gpus) > 0:
        known = ", ".join(f"{index} is {gpu.name} ({gpu.description})" for index, gpu in enumerate(gpus))
        raise ModelLoadError(Told("no-such-gpu", number=limits.main_gpu, known=known))
    if not gpus:
        return 0, None
    freest = max(range(len(gpus)), key=lambda index: gpus[index].free_bytes)
    chosen = freest if limits.main_gpu is None else limits.main_gpu
    return chosen, gpu_device(gpus[chosen], limits.promised_gpu_bytes)


async def _start_core(
    spec: ModelSpec, candidate: Candidate, trial: TrialResult, memory_plan: MemoryPlan, limits: LoadLimits,
    draft: DraftConfig | None, on_share: OnShareLoaded,
) -> EngineCore:
    from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig  # noqa: PLC0415

    config = LlamaCppConfig(
        path=spec.path,
        parts=tuple(candidate.paths),
        disk=limits.disk,
        options=trial.options,
        adapters=spec.adapters,
        max_model_len=memory_plan.max_model_len,
        max_num_seqs=memory_plan.max_num_seqs,
        cache_bytes=memory_plan.cache_bytes,
        num_threads=candidate.num_threads,
        choose_threads=limits.threads is None and not trial.options.gpu_layers,
        max_num_batched_tokens=MAX_CHUNK_TOKENS + 1 + memory_plan.max_num_seqs,
        prefill_tokens_per_s=trial.prefill_tokens_per_s,
        kv_type=limits.kv_type,
        draft=draft,
    )
    return await EngineCore.start(spec.model_id, lambda: LlamaCppBackend(config, on_share), max_queue=limits.max_queue)


# -- a draft model -----------------------------------------------------------------------------------------------------


def _read_draft(spec: ModelSpec, limits: LoadLimits) -> GgufHeader | None:
    """None where none is set, or none can be read: answers come without, if slower.

    A model does not draft for itself: then the setting is another's.
    """
    if limits.draft_model is None or limits.draft_model == spec.path:
        return None
    try:
        return read_header(limits.draft_model)
    except (ModelLoadError, OSError) as error:
        logger.warning("draft_model_left_out", model=spec.model_id, reason=str(error))
        return None


async def _try_draft(
    spec: ModelSpec, header: GgufHeader, num_threads: int, machine: Machine, limits: LoadLimits
) -> DraftConfig | None:
    from engine.backends.llama_cpp.draft import DraftConfig  # noqa: PLC0415
    from engine.backends.llama_cpp.trial import Candidate, try_model  # noqa: PLC0415

    candidate = Candidate(paths=header.part_paths, num_threads=num_threads)
    try:
        trial = await try_model(candidate, processor=machine.processor, state_dir=limits.state_dir)
    except ModelLoadError as error:
        logger.warning("draft_model_left_out", model=spec.model_id, reason=str(error))
        return None
    return DraftConfig(
        path=header.part_paths[0], options=trial.options, kv_bytes_per_token=header.kv_bytes_per_token()
    )
