"""From a folder of safetensors, or a GGUF that torch is to run, to an engine: its memory plan, its device, its start.
Called by `engine.load`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import structlog

from engine.backends.torch.folder import ITEM_BYTES, ModelFolder, read_folder
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.other_config import OtherConfig
from engine.core import EngineCore
from engine.errors import ModelLoadError, OutOfMemory
from engine.gguf import GgufHeader
from engine.hardware import Machine, has_gpu_build, has_gpu_driver
from engine.load_local import OnShareLoaded, info_of, local_engine
from engine.local import LocalEngine
from engine.memory import GPU_WORKING_BYTES, LoadLimits, MemoryPlan, ModelFacts, WeightFormat, plan
from engine.model_spec import ModelSpec
from engine.safetensors import read_safetensors
from engine.select import has_torch
from engine.sizes import size
from engine.told import Told

if TYPE_CHECKING:
    from engine.backends.torch.device import TorchDevice

NUM_SEQS_ON_GPU: Final = 64             # more at once only wait for memory, which the scheduler knows how to share
STEP_TOKENS_ON_GPU: Final = 16384       # of prompts, where there is room: with fewer, small models wait for launches
STEP_TOKENS_ON_CPU: Final = 256
SMALLER_FORMATS: Final[tuple[WeightFormat, ...]] = ("int8", "int4")

logger = structlog.get_logger(__name__)


async def bring_torch(*more: str) -> None:
    """It takes seconds to come: on a thread, so that the event loop does not wait."""
    for name in ("backend", "device", *more):
        await asyncio.to_thread(import_module, f"engine.backends.torch.{name}")


async def gguf_by_torch(header: GgufHeader, machine: Machine, limits: LoadLimits) -> ModelFolder | None:
    """A GGUF as torch runs it, where that has a GPU and llama.cpp was built without; None: llama.cpp runs it.

    On a processor llama.cpp is several times as fast, so there it is never torch.
    """
    if limits.gpu_layers == 0 or not (has_torch() and has_gpu_driver()) or await asyncio.to_thread(has_gpu_build):
        return None
    await bring_torch("gguf_config")
    from engine.backends.torch.device import choose_device  # noqa: PLC0415 - it is there by now
    from engine.backends.torch.gguf_config import read_gguf  # noqa: PLC0415 - as above

    if not (await asyncio.to_thread(choose_device, machine, limits)).is_gpu:
        return None
    try:
        return await asyncio.to_thread(read_gguf, header)
    except ValueError as error:
        logger.info("llama.cpp runs it on the processor, since torch does not read it", reason=str(error))
        return None


async def plan_torch(
    spec: ModelSpec, machine: Machine, limits: LoadLimits, folder: ModelFolder | None = None
) -> MemoryPlan:
    """What loading it now would take and give. Raises as `start_torch`."""
    await bring_torch()
    from engine.backends.torch.device import choose_device  # noqa: PLC0415 - it is there by now

    folder = await asyncio.to_thread(read_folder, spec.path) if folder is None else folder
    device = await asyncio.to_thread(choose_device, machine, limits)
    return _plan(spec, folder, device, limits)


async def start_torch(
    spec: ModelSpec, machine: Machine, limits: LoadLimits, on_share: OnShareLoaded, folder: ModelFolder | None = None
) -> LocalEngine:
    """`folder`: of a GGUF, by `gguf_by_torch`. Raises ModelLoadError, OutOfMemory among them, that says what to do."""
    await bring_torch()
    from engine.backends.torch.device import choose_device  # noqa: PLC0415 - it is there by now

    if folder is None:
        await asyncio.to_thread(read_safetensors, spec.path)    # before any native code sees the files
        folder = await asyncio.to_thread(read_folder, spec.path)
    device = await asyncio.to_thread(choose_device, machine, limits)
    memory_plan = _plan(spec, folder, device, limits)
    _check_way_to(device, spec, folder, machine, limits)
    block_bytes = folder.kv_bytes_per_token(device.dtype, limits.kv_type) * BLOCK_SIZE
    core = await _start_core(spec, folder, device, memory_plan, limits, machine, on_share)
    quantisation = (limits.weight_format or folder.format_name).upper()
    kv_bytes = core.info.num_blocks * block_bytes
    info = replace(info_of(spec, core, quantisation=quantisation, kv_bytes=kv_bytes), kv_type=limits.kv_type)
    return await local_engine(spec, core, info)


async def _start_core(
    spec: ModelSpec, folder: ModelFolder, device: TorchDevice, memory_plan: MemoryPlan, limits: LoadLimits,
    machine: Machine, on_share: OnShareLoaded,
) -> EngineCore:
    from engine.backends.torch.backend import TorchBackend, TorchConfig, load_model  # noqa: PLC0415 - as above

    block_bytes = folder.kv_bytes_per_token(device.dtype, limits.kv_type) * BLOCK_SIZE
    config = TorchConfig(
        folder=folder.path,
        device=device.name,
        dtype=device.dtype,
        # Running sequences and idle prefixes share one pool: nothing moves between them.
        num_blocks=max(
            -(-memory_plan.max_model_len // BLOCK_SIZE),
            (memory_plan.kv_bytes + memory_plan.cache_bytes) // block_bytes,
        ),
        max_model_len=memory_plan.max_model_len,
        max_num_seqs=memory_plan.max_num_seqs,
        max_num_batched_tokens=_step_tokens(folder, device) + memory_plan.max_num_seqs,
        num_threads=limits.threads or machine.num_cores,
        weight_format=limits.weight_format,
        kv_type=limits.kv_type,
    )
    if not folder.quantisation:
        load = partial(load_model, on_share=on_share)
        return await EngineCore.start(spec.model_id, lambda: TorchBackend(config, load), max_queue=limits.max_queue)
    from engine.backends.llama_cpp.trial import Candidate, try_model  # noqa: PLC0415 - as above
    await bring_torch("gguf_model")
    from engine.backends.torch.gguf_model import load_gguf  # noqa: PLC0415

    vocabulary = Candidate(paths=folder.files, num_threads=1, vocabulary_only=True)
    await try_model(vocabulary, processor=machine.processor, state_dir=limits.state_dir)
    load = partial(load_gguf, folder, on_share=on_share)
    return await EngineCore.start(spec.model_id, lambda: TorchBackend(config, load), max_queue=limits.max_queue)


def _check_way_to(
    device: TorchDevice, spec: ModelSpec, folder: ModelFolder, machine: Machine, limits: LoadLimits
) -> None:
    """transformers makes its models in the host's memory. Raises OutOfMemory where there is too little of it."""
    needed, usable = folder.weight_bytes(device.dtype), machine.available_bytes - limits.promised_bytes
    if device.is_gpu and isinstance(folder.config, OtherConfig) and needed > usable:
        raise OutOfMemory(Told(
            "needs-host-memory", model=spec.name, needed=size(needed), usable=size(max(0, usable))
        ))


def _step_tokens(folder: ModelFolder, device: TorchDevice) -> int:
    """Of prompts in one step: as many as the plan has working memory for, and an eighth of what it leaves free."""
    if not device.is_gpu:
        return STEP_TOKENS_ON_CPU
    room = GPU_WORKING_BYTES + device.facts.total_bytes // 64
    token_bytes = folder.config.step_values_per_token * ITEM_BYTES[device.dtype]
    return max(STEP_TOKENS_ON_CPU, min(STEP_TOKENS_ON_GPU, room // token_bytes))


def _plan(spec: ModelSpec, folder: ModelFolder, device: TorchDevice, limits: LoadLimits) -> MemoryPlan:
    """Raises OutOfMemory, which names the format of weights in which it would fit, if there is one."""
    if limits.weight_format is not None and isinstance(folder.config, OtherConfig):
        raise ModelLoadError(Told("family-weights", model=spec.name, kind=folder.config.family, id=spec.model_id))
    limits = _limits_on(device, limits)
    try:
        return plan(_facts(spec, folder, device, limits), device.facts, limits)
    except OutOfMemory as error:
        smaller = _fitting_format(spec, folder, device, limits)
        if smaller is None:
            raise
        raise OutOfMemory(Told(
            "needs-weights", reason=error.sentence, format=smaller.upper(), id=spec.model_id, value=smaller
        )) from error


def _fitting_format(
    spec: ModelSpec, folder: ModelFolder, device: TorchDevice, limits: LoadLimits
) -> WeightFormat | None:
    """The first of these in which it fits, where it is not quantised already."""
    if not device.is_gpu or limits.weight_format is not None or not folder.takes_formats:
        return None
    for weight_format in SMALLER_FORMATS:
        try:
            plan(_facts(spec, folder, device, replace(limits, weight_format=weight_format)), device.facts, limits)
        except OutOfMemory:
            continue
        return weight_format
    return None


def _facts(spec: ModelSpec, folder: ModelFolder, device: TorchDevice, limits: LoadLimits) -> ModelFacts:
    return ModelFacts(
        name=spec.name,
        weight_bytes=folder.weight_bytes(device.dtype, limits.weight_format),
        kv_bytes_per_token=folder.kv_bytes_per_token(device.dtype, limits.kv_type),
        context_length=folder.config.context_length,
    )


def _limits_on(device: TorchDevice, limits: LoadLimits) -> LoadLimits:
    if device.is_gpu and limits.max_num_seqs is None:
        return replace(limits, max_num_seqs=NUM_SEQS_ON_GPU)
    return limits
