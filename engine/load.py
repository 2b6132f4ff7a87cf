"""From a file to an engine: check the header, choose a back end, plan memory, try the model in a child process,
load it on the engine's thread. Called on the event loop by the registry of engines; whatever blocks runs elsewhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from engine.backends.embedder import EmbedderInfo
from engine.core import EngineCore
from engine.embedding import EmbeddingEngine
from engine.engine import Engine, EngineInfo
from engine.errors import ModelLoadError
from engine.gguf import GgufHeader, read_header
from engine.hardware import Machine, cpu_device, inspect_machine
from engine.local import LocalEngine
from engine.memory import DEFAULT_CONTEXT_TOKENS, MemoryPlan, ModelFacts, plan
from engine.memory import LoadLimits as LoadLimits
from engine.scheduler import max_sequence_tokens
from engine.select import BackendName, select_backend

DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant."
STEP_TARGET_S = 0.15               # of computing a long prompt: others get a token that often, and Stop is heard
NUM_BATCHED_TOKENS_BOUNDS = (16, 512)   # fewer waste the reading of the weights, more gain nothing
ATTENTION_TILE_TOKENS = 64         # GGML_FA_TILE_Q: attention over fewer at a time costs half as much again when deep


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model on disk. `version` tells one content from another."""

    model_id: str
    name: str
    path: Path
    version: str


async def load_engine(spec: ModelSpec, limits: LoadLimits) -> Engine:
    """One that embeds where the file's header names a pooling, else one that writes.

    Raises ModelLoadError, OutOfMemory among them, that says what to do. May be cancelled.
    """
    try:
        return await _load(spec, limits)
    except OSError as error:            # a file that went away meanwhile, or no process to be had for the trial
        raise ModelLoadError(f"{spec.name} could not be loaded: {error}. Try again.") from error


async def _load(spec: ModelSpec, limits: LoadLimits) -> Engine:
    backend_name = await asyncio.to_thread(select_backend, spec.path)
    header = await asyncio.to_thread(read_header, spec.path)
    if not header.has_tokenizer:
        raise ModelLoadError(f"{spec.path.name} holds no tokenizer, so text cannot be fed to it. Take another file.")
    machine = await asyncio.to_thread(inspect_machine)
    if header.pooling:
        return await _start_embedding(spec, header, machine, limits)
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
        max_num_batched_tokens=num_batched_tokens(trial.prefill_tokens_per_s, memory_plan.max_num_seqs),
    )
    return await EngineCore.start(spec.model_id, lambda: LlamaCppBackend(config), max_queue=limits.max_queue)


def num_batched_tokens(prefill_tokens_per_s: float, max_num_seqs: int) -> int:
    """A step's budget of tokens: near STEP_TARGET_S long, with a token for every running sequence and more.

    Where a whole tile of a prompt takes about that time, there is room for it beside one token of everybody: the
    library takes those, and the prompt's first, in a run of their own, and what is left must fill the tile.
    """
    low, high = NUM_BATCHED_TOKENS_BOUNDS
    wanted = min(prefill_tokens_per_s * STEP_TARGET_S, high)
    if num_tiles := round(wanted / ATTENTION_TILE_TOKENS):
        return num_tiles * ATTENTION_TILE_TOKENS + 1 + max_num_seqs
    return max(round(wanted / 16) * 16, low, 2 * max_num_seqs)


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


# -- models that embed -------------------------------------------------------------------------------------------------


async def _start_embedding(
    spec: ModelSpec, header: GgufHeader, machine: Machine, limits: LoadLimits
) -> EmbeddingEngine:
    from engine.backends.llama_cpp.embedder import EmbedderConfig, LlamaCppEmbedder  # noqa: PLC0415
    from engine.backends.llama_cpp.trial import try_model  # noqa: PLC0415

    num_threads = limits.threads or machine.num_cores
    memory_plan = _plan_embedding(spec, header, machine, limits)
    trial = await try_model(
        header.part_paths, num_threads=num_threads, processor=machine.processor, state_dir=limits.state_dir,
        pooling=header.pooling,
    )
    if not trial.options.flash_attention:
        memory_plan = _plan_embedding(spec, header, machine, limits, flash_attention=False)

    config = EmbedderConfig(
        path=spec.path,
        pooling=header.pooling,
        options=trial.options,
        max_model_len=memory_plan.max_model_len,
        max_num_batched_tokens=num_batched_tokens(trial.prefill_tokens_per_s, max_num_seqs=0),
        bytes_per_token=memory_plan.kv_bytes // memory_plan.max_model_len,
        num_threads=num_threads,
    )

    def describe(embedder: EmbedderInfo) -> EngineInfo:
        return EngineInfo(
            model_id=spec.model_id,
            name=spec.name,
            version=spec.version,
            backend=f"{embedder.name} {embedder.version}",
            device=embedder.device,
            quantisation=header.quantisation,
            max_model_len=embedder.max_model_len,
            max_num_seqs=embedder.max_num_inputs,
            has_chat_template=False,
            embedding_width=embedder.width,
            weight_bytes=embedder.weight_bytes,
            kv_bytes=embedder.kv_bytes,
        )

    return await EmbeddingEngine.start(
        spec.model_id, lambda: LlamaCppEmbedder(config), describe, max_queue=limits.max_queue
    )


def _plan_embedding(
    spec: ModelSpec, header: GgufHeader, machine: Machine, limits: LoadLimits, *, flash_attention: bool = True
) -> MemoryPlan:
    """For one pass over the longest input: shorter ones that share a pass take no more."""
    longest = min(limits.context_tokens or DEFAULT_CONTEXT_TOKENS, header.context_length)
    facts = replace(
        _facts(spec, header), kv_bytes_per_token=_pass_bytes_per_token(header, longest, flash_attention=flash_attention)
    )
    one_pass = replace(limits, max_num_seqs=1, cache_bytes=0)
    return plan(facts, cpu_device(machine, limits.promised_bytes), one_pass)


def _pass_bytes_per_token(header: GgufHeader, num_tokens: int, *, flash_attention: bool) -> int:
    """Of a pass over `num_tokens`; measured with BERT and llama, a tenth to two thirds more than they took.

    The library makes room for a token's logits even where none are asked for, and computes them where a model is
    causal. Without flash attention each head's scores of all tokens are held at once.
    """
    logits = header.vocab_size * 4 * (2 if header.is_causal else 1)
    activations = 12 * (header.embedding_length + header.feed_forward_length)
    scores = num_tokens * (4 if flash_attention else 4 + 6 * header.head_count)
    kv = header.kv_bytes_per_token() if header.is_causal else 0
    return logits + activations + scores + kv
