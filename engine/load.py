"""From a file to an engine: check the header, choose a back end, plan memory, try the model in a child process,
load it on the engine's thread. Called on the event loop by the registry of engines; whatever blocks runs elsewhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from engine.core import EngineCore
from engine.engine import EngineInfo
from engine.errors import ModelLoadError
from engine.gguf import GgufHeader, read_header
from engine.hardware import Machine, cpu_device, inspect_machine
from engine.local import LocalEngine
from engine.memory import LoadLimits as LoadLimits
from engine.memory import MemoryPlan, ModelFacts, plan
from engine.scheduler import max_sequence_tokens
from engine.select import BackendName, select_backend
from engine.step_budget import ATTENTION_TILE_TOKENS

DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant."
MAX_CHUNK_TOKENS = 8 * ATTENTION_TILE_TOKENS   # of prompts in a step; more gain nothing


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model on disk. `version` tells one content from another."""

    model_id: str
    name: str
    path: Path
    version: str


async def load_engine(spec: ModelSpec, limits: LoadLimits) -> LocalEngine:
    """Raises ModelLoadError, OutOfMemory among them, that says what to do. May be cancelled."""
    try:
        return await _load(spec, limits)
    except OSError as error:            # a file that went away meanwhile, or no process to be had for the trial
        raise ModelLoadError(f"{spec.name} could not be loaded: {error}. Try again.") from error


async def _load(spec: ModelSpec, limits: LoadLimits) -> LocalEngine:
    backend_name = await asyncio.to_thread(select_backend, spec.path)
    header = await asyncio.to_thread(read_header, spec.path)
    if not header.has_tokenizer:
        raise ModelLoadError(f"{spec.path.name} holds no tokenizer, so text cannot be fed to it. Take another file.")
    machine = await asyncio.to_thread(inspect_machine)
    memory_plan = plan(_facts(spec, header), cpu_device(machine, limits.promised_bytes), limits)
    core = await _start_core(backend_name, spec, header, machine, memory_plan, limits)
    try:
        return LocalEngine(core, _info(spec, header, memory_plan, core), default_system_prompt=DEFAULT_SYSTEM_PROMPT)
    except BaseException:
        await core.close()
        raise


async def _start_core(
    backend_name: BackendName, spec: ModelSpec, header: GgufHeader, machine: Machine, memory_plan: MemoryPlan,
    limits: LoadLimits,
) -> EngineCore:
    # Each back end's corner is entered when a model of its kind is loaded: starting stays short.
    from engine.backends.llama_cpp.backend import LlamaCppBackend, LlamaCppConfig  # noqa: PLC0415
    from engine.backends.llama_cpp.trial import try_model  # noqa: PLC0415

    num_threads = limits.threads or machine.num_cores
    trial = await try_model(
        header.part_paths, num_threads=num_threads, processor=machine.processor, state_dir=limits.state_dir
    )
    config = LlamaCppConfig(
        path=spec.path,
        options=trial.options,
        max_model_len=memory_plan.max_model_len,
        max_num_seqs=memory_plan.max_num_seqs,
        cache_bytes=memory_plan.cache_bytes,
        num_threads=num_threads,
        max_num_batched_tokens=MAX_CHUNK_TOKENS + 1 + memory_plan.max_num_seqs,
        prefill_tokens_per_s=trial.prefill_tokens_per_s,
    )
    return await EngineCore.start(spec.model_id, lambda: LlamaCppBackend(config), max_queue=limits.max_queue)


def _facts(spec: ModelSpec, header: GgufHeader) -> ModelFacts:
    return ModelFacts(
        name=spec.name,
        weight_bytes=header.weight_bytes,
        kv_bytes_per_token=header.kv_bytes_per_token(),
        context_length=header.context_length,
    )


def _info(spec: ModelSpec, header: GgufHeader, memory_plan: MemoryPlan, core: EngineCore) -> EngineInfo:
    backend = core.info
    return EngineInfo(
        model_id=spec.model_id,
        name=spec.name,
        version=spec.version,
        backend=f"{backend.name} {backend.version}",
        device=backend.device,
        quantisation=header.quantisation,
        max_model_len=max_sequence_tokens(backend),
        max_num_seqs=backend.max_num_seqs,
        has_chat_template=core.tokenizer.chat_template is not None,
        weight_bytes=backend.weight_bytes,
        kv_bytes=memory_plan.kv_bytes,
        cache_bytes=backend.cache_bytes,
    )
