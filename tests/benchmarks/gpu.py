"""The torch engine on one GPU, through `EngineCore`, beside the best public figures: `python -m tests.benchmarks.gpu`.

Random weights, bf16, greedy, EOS ignored, token ids in and out, as vLLM and SGLang were measured (the bars below: the
same card, shapes and workloads). Prints one table, and one JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.backends.torch.backend import LoadedModel, TorchBackend, TorchConfig
from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.quantised import BITS, Matrix, quantise
from engine.backends.torch.weights import LayerWeights, Weights
from engine.core import CoreOutput, EngineCore
from engine.params import SamplingParams
from engine.request import Request

LLAMA3 = {
    "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
}
SHAPES = {
    "8B": DecoderConfig(
        family="llama", hidden_size=4096, intermediate_size=14336, num_layers=32, num_heads=32, num_kv_heads=8,
        head_dim=128, vocab_size=128256, context_length=131072, norm_eps=1e-5,
        layers=(Attention(rope=Rope(theta=500_000.0, kind="llama3", scaling=LLAMA3)),) * 32,
    ),
    "0.6B": DecoderConfig(
        family="qwen3", hidden_size=1024, intermediate_size=3072, num_layers=28, num_heads=16, num_kv_heads=8,
        head_dim=128, vocab_size=151936, context_length=40960, norm_eps=1e-6, ties_embeddings=True, norms_heads=True,
        layers=(Attention(rope=Rope(theta=1_000_000.0)),) * 28,
    ),
}
# Best of vLLM 0.26.0 and SGLang 0.5.17, bf16, one H200, output tokens/s.
BARS: dict[str, dict[str, float]] = {
    "8B": {"N1": 204.3, "N8": 1453, "N64": 6594, "N256": 9848, "nano": 9662, "shared cold": 5975, "shared warm": 6418},
    "0.6B": {
        "N1": 591, "N8": 4368, "N64": 19568, "N256": 30467, "nano": 23026, "shared cold": 13152, "shared warm": 13883,
    },
}
# How tokens are chosen: as the bars were measured; as chats of many models have it; from the whole vocabulary.
SAMPLINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "chat": {"temperature": 0.7, "top_k": 20, "top_p": 0.8},
    "plain": {"temperature": 1.0},
}
MAX_MODEL_LEN = 2560
MAX_NUM_SEQS = 256
STEP_TOKENS = 16384


@dataclass(frozen=True)
class Workload:
    name: str
    prompts: Sequence[Sequence[int]]
    num_out: Sequence[int]


def workloads(vocab_size: int, repetition: int) -> Iterable[Workload]:
    for number in (1, 8, 64, 256):
        yield Workload(f"N{number}", prompts_of(number, 512, vocab_size, 1000 * number + repetition), [256] * number)
    chance = random.Random(1 + repetition)              # of -1 it would be that of 1
    nano = [[chance.randint(0, 10000) for _ in range(chance.randint(100, 1024))] for _ in range(256)]
    yield Workload("nano", nano, [chance.randint(100, 1024) for _ in range(256)])
    prefix = prompts_of(1, 2048, vocab_size, 7_000 + repetition)[0]
    for name in ("shared cold", "shared warm"):
        own = prompts_of(64, 128, vocab_size, 8_000 + repetition + len(name) % 2)
        yield Workload(name, [prefix + each for each in own], [128] * 64)


def prompts_of(number: int, length: int, vocab_size: int, seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(10, min(vocab_size, 100_000)) for _ in range(length)] for _ in range(number)]


def random_model(config: DecoderConfig, device: str, weight_format: str | None = None) -> LoadedModel:
    kind: dict[str, Any] = {"dtype": torch.bfloat16, "device": device}

    def table(rows: int, columns: int) -> torch.Tensor:
        return torch.empty(rows, columns, **kind).normal_(0, 0.02)

    def matrix(rows: int, columns: int) -> Matrix:
        return table(rows, columns) if weight_format is None else quantise(table(rows, columns), weight_format)

    def layer() -> LayerWeights:
        heads, kv_heads, dim, hidden = config.num_heads, config.num_kv_heads, config.head_dim, config.hidden_size
        head_norm = torch.ones(dim, **kind) if config.norms_heads else None
        return LayerWeights(
            input_norm=torch.ones(hidden, **kind), qkv=matrix((heads + 2 * kv_heads) * dim, hidden), qkv_bias=None,
            q_norm=head_norm, k_norm=head_norm, out=matrix(hidden, heads * dim), out_bias=None, attention_norm=None,
            block_norm=torch.ones(hidden, **kind), gate_up=matrix(2 * config.intermediate_size, hidden),
            gate_up_bias=None, down=matrix(hidden, config.intermediate_size), down_bias=None, output_norm=None,
        )

    embedding = table(config.vocab_size, config.hidden_size)
    weights = Weights(
        embedding=embedding, layers=tuple(layer() for _ in range(config.num_layers)),
        final_norm=torch.ones(config.hidden_size, **kind),
        head=embedding if config.ties_embeddings else table(config.vocab_size, config.hidden_size),
    )
    return LoadedModel(config=config, weights=weights, tokenizer=ByteTokenizer())


async def measure(core: EngineCore, workload: Workload, sampling: str = "greedy") -> float:
    """Output tokens a second, from the first submission to the last token."""
    ended = asyncio.Event()
    num_tokens = num_ended = 0

    def on_output(output: CoreOutput) -> None:
        nonlocal num_tokens, num_ended
        num_tokens += len(output.tokens)
        if output.finish_reason is not None:
            num_ended += 1
            if num_ended == len(workload.prompts):
                ended.set()

    start_s = time.perf_counter()
    for number, (prompt, num_out) in enumerate(zip(workload.prompts, workload.num_out, strict=True)):
        params = SamplingParams(**SAMPLINGS[sampling], ignore_eos=True, max_tokens=num_out)
        core.submit(
            Request(
                request_id=f"{start_s}-{number}", prompt_token_ids=tuple(prompt), params=params, seed=0,
                max_tokens=num_out, arrival_s=start_s, user="bench",
            ),
            on_output,
        )
    await ended.wait()
    elapsed_s = time.perf_counter() - start_s
    if num_tokens != sum(workload.num_out):
        raise RuntimeError(f"{workload.name}: {num_tokens} tokens instead of {sum(workload.num_out)}")
    return num_tokens / elapsed_s


async def run(
    shape: str, repetitions: int, only: str, weight_format: str | None = None, *, speculate: bool = False,
    sampling: str = "greedy",
) -> dict[str, Any]:
    config = SHAPES[shape]
    free_bytes, _ = torch.cuda.mem_get_info()
    block_bytes = config.kv_values_per_token * 2 * BLOCK_SIZE
    weight_bytes = 2 * sum(
        tensor for tensor in (config.vocab_size * config.hidden_size * 2, config.num_layers * 4 * config.hidden_size**2)
    )
    num_blocks = min(int((free_bytes - 2 * weight_bytes) * 0.7) // block_bytes, 40_000)
    torch_config = TorchConfig(
        folder=Path(), device="cuda:0", dtype="bfloat16", num_blocks=num_blocks, max_model_len=MAX_MODEL_LEN,
        max_num_seqs=MAX_NUM_SEQS, max_num_batched_tokens=STEP_TOKENS, speculate=speculate,
    )
    start_s = time.perf_counter()
    def load(_config: TorchConfig) -> LoadedModel:
        return random_model(config, "cuda:0", weight_format)

    core = await EngineCore.start(shape, lambda: TorchBackend(torch_config, load), max_queue=1024)
    load_s = time.perf_counter() - start_s
    figures: dict[str, list[float]] = {}
    steps_ms: dict[str, tuple[int, float, float]] = {}
    try:
        warm_up = Workload("warm-up", prompts_of(2, 600, config.vocab_size, 1), [8, 8])
        await measure(core, warm_up)
        first_s = time.perf_counter() - start_s
        while not core.is_prepared:                     # noqa: ASYNC110 - as a server is soon, while nothing is asked
            await asyncio.sleep(0.1)
        for repetition in range(-1, repetitions):       # the first is not counted
            for workload in workloads(config.vocab_size, repetition):
                if only and only not in workload.name:
                    continue
                before = core.snapshot()
                speed = await measure(core, workload, sampling)
                after = core.snapshot()
                if repetition >= 0:
                    figures.setdefault(workload.name, []).append(speed)
                    num_steps = max(after.steps_total - before.steps_total, 1)
                    whole, backend = (
                        1000 * (getattr(after, name) - getattr(before, name)) / num_steps
                        for name in ("step_seconds_total", "backend_seconds_total")
                    )
                    steps_ms[workload.name] = (num_steps, backend, whole - backend)
    finally:
        await core.close()
    return {
        "shape": shape, "weights": weight_format or "bf16", "sampling": sampling, "load_s": load_s,
        "first_tokens_s": first_s, "figures": figures, "steps_ms": steps_ms,
    }


def show(result: dict[str, Any]) -> None:
    shape = result["shape"]
    print(f"\n{shape}: loaded in {result['load_s']:.1f} s, first tokens after {result['first_tokens_s']:.1f} s")
    print(
        f"{'workload':12} {'ours tok/s':>11} {'lowest':>9} {'highest':>9} {'best public':>12} {'ratio':>6} "
        f"{'steps':>6} {'back end ms':>12} {'scheduler ms':>13}"
    )
    for name, speeds in result["figures"].items():
        ours, bar = statistics.median(speeds), BARS[shape][name]
        num_steps, backend_ms, scheduler_ms = result["steps_ms"][name]
        print(
            f"{name:12} {ours:11.0f} {min(speeds):9.0f} {max(speeds):9.0f} {bar:12.0f} {ours / bar:6.2f} "
            f"{num_steps:6} {backend_ms:12.2f} {scheduler_ms:13.2f}", flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", default="", help="workloads with this in their name")
    parser.add_argument("--weights", choices=BITS, help="format of the layers' matrices, instead of bf16")
    parser.add_argument("--speculate", action="store_true", help="by prompt lookup: random weights repeat themselves")
    parser.add_argument("--sampling", choices=SAMPLINGS, default="greedy")
    parser.add_argument("--switch-interval-ms", type=float, default=5.0, help="of Python's threads")
    arguments = parser.parse_args()
    sys.setswitchinterval(arguments.switch_interval_ms / 1000)
    name = torch.cuda.get_device_name()
    weights = arguments.weights or "bf16"
    how = f"{weights}, random weights, {arguments.sampling}, EOS ignored"
    print(f"inglenook on torch {torch.__version__}, {how}; {name}")
    results = []
    for shape in SHAPES if arguments.shape == "all" else [arguments.shape]:
        results.append(asyncio.run(run(
            shape, arguments.repetitions, arguments.only, arguments.weights, speculate=arguments.speculate,
            sampling=arguments.sampling,
        )))
        show(results[-1])
        torch.cuda.empty_cache()
    print(json.dumps({"gpu": name, "torch": torch.__version__, "results": results}))


if __name__ == "__main__":
    main()
