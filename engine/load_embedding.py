"""From a file to an engine that embeds: its memory plan, its trial, its start. Called by `engine.load`."""

from __future__ import annotations

from dataclasses import replace

from engine.backends.embedder import EmbedderInfo
from engine.embedding import EmbeddingEngine
from engine.engine import EngineInfo
from engine.gguf import GgufHeader
from engine.hardware import Machine, cpu_device
from engine.memory import DEFAULT_CONTEXT_TOKENS, LoadLimits, MemoryPlan, plan
from engine.model_spec import ModelSpec, facts_of
from engine.step_budget import ATTENTION_TILE_TOKENS
from engine.thread_counts import threads_for

PASS_S = 0.15
MAX_TILES = 8                       # more gain nothing


async def start_embedding(
    spec: ModelSpec, header: GgufHeader, machine: Machine, limits: LoadLimits
) -> EmbeddingEngine:
    from engine.backends.llama_cpp.embedder import EmbedderConfig, LlamaCppEmbedder  # noqa: PLC0415
    from engine.backends.llama_cpp.trial import Candidate, try_model  # noqa: PLC0415

    memory_plan = plan_embedding(spec, header, machine, limits)
    candidate = Candidate(
        paths=header.part_paths, pooling=header.pooling, num_threads=limits.threads or threads_for(machine.num_cores)
    )
    trial = await try_model(candidate, processor=machine.processor, state_dir=limits.state_dir)
    if not trial.options.flash_attention:
        memory_plan = plan_embedding(spec, header, machine, limits, flash_attention=False)

    config = EmbedderConfig(
        path=spec.path,
        pooling=header.pooling,
        options=trial.options,
        max_model_len=memory_plan.max_model_len,
        max_num_batched_tokens=_pass_tokens(trial.prefill_tokens_per_s),
        bytes_per_token=memory_plan.kv_bytes // memory_plan.max_model_len,
        num_threads=candidate.num_threads,
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


def _pass_tokens(prefill_tokens_per_s: float) -> int:
    """Whole tiles, as many as take about PASS_S: a cancelled input is not waited for, others take turns."""
    num_tiles = round(prefill_tokens_per_s * PASS_S / ATTENTION_TILE_TOKENS)
    return min(max(num_tiles, 1), MAX_TILES) * ATTENTION_TILE_TOKENS


def plan_embedding(
    spec: ModelSpec, header: GgufHeader, machine: Machine, limits: LoadLimits, *, flash_attention: bool = True
) -> MemoryPlan:
    """For one pass over the longest input: shorter ones that share a pass take no more."""
    longest = min(limits.context_tokens or DEFAULT_CONTEXT_TOKENS, header.context_length)
    facts = replace(
        facts_of(spec, header, (), limits),
        kv_bytes_per_token=_pass_bytes_per_token(header, longest, flash_attention=flash_attention),
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
