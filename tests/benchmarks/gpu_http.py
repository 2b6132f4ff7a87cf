"""The whole product on one GPU over HTTP, beside its own engine: `python -m tests.benchmarks.gpu_http --shape 0.6B`.

A folder of safetensors is made in the shape of tests/benchmarks/gpu.py, with random weights and a vocabulary of made-up
words. Then `inglenook serve` is started on it twice, and the time from the process's start to the first token over HTTP
is told: the first start tries the files in a child process, too. Then 64 clients stream 256 tokens each for prompts of
512, greedy, EOS ignored, which is "N64" of tests/benchmarks/gpu.py, the engine's own figure: its ratio is what HTTP,
detokenizing and accounts leave of it. Clients are processes of their own. Prints one table, and one JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.backends.torch.config import DecoderConfig
from tests.benchmarks.clients import stream_at_once
from tests.benchmarks.cpu.client import HOST, complete
from tests.benchmarks.cpu.servers import PATIENCE_S, add_person, free_port, process, wait_for
from tests.benchmarks.gpu import BARS, SHAPES, prompts_of

NUM_CLIENTS, PROMPT_TOKENS, NUM_OUT = 64, 512, 256
NUM_PROCESSES = 4                   # of clients
COUNTS = {                          # of /metrics, by repetition
    "steps": "inglenook_steps_total", "step_s": "inglenook_step_seconds_total",
    "backend_s": "inglenook_backend_seconds_total", "proposed": "inglenook_proposed_tokens_total",
    "accepted": "inglenook_accepted_tokens_total",
}
IDLE_S = 8.0                        # after the first token: what is left to prepare is done while nothing is asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES], default="0.6B")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--engine", type=float, help="tokens a second of N64, as tests.benchmarks.gpu measured them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inglenook-gpu-") as scratch:
        folder = Path(scratch) / f"random-{arguments.shape.lower()}"
        begun_s = time.perf_counter()
        write_folder(folder, SHAPES[arguments.shape])
        size_gb = sum(file.stat().st_size for file in folder.iterdir()) / 1e9
        print(f"{size_gb:.1f} GB written in {time.perf_counter() - begun_s:.0f} s", flush=True)
        result = measure(folder, Path(scratch) / "data", SHAPES[arguments.shape], arguments.repetitions)
    result |= {"shape": arguments.shape, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    for number, seconds in enumerate(result["first_token_s"], 1):
        print(f"{arguments.shape}: first token {seconds:.1f} s after the process's start, start {number}")
    speeds, engine = result["tokens_per_s"], arguments.engine
    print(
        f"{arguments.shape}, {NUM_CLIENTS} clients over HTTP: {statistics.median(speeds):.0f} tok/s "
        f"({min(speeds):.0f} to {max(speeds):.0f}), first token after {result['ttft_s']:.2f} s, "
        f"{statistics.median(result['events_per_token']):.2f} events a token; {sum(result['steps']):.0f} steps of "
        f"{1000 * sum(result['step_s']) / sum(result['steps']):.2f} ms, "
        f"{1000 * sum(result['backend_s']) / sum(result['steps']):.2f} in the back end, "
        f"{sum(result['accepted']):.0f} of {sum(result['proposed']):.0f} guesses right; best public engine alone "
        f"{BARS[arguments.shape]['N64']:.0f}"
        + (f"; {statistics.median(speeds) / engine:.2f} of our engine alone" if engine else "")
    )
    print(json.dumps(result))


def measure(folder: Path, data: Path, config: DecoderConfig, repetitions: int) -> dict[str, Any]:
    environment = {**os.environ, "INGLENOOK_DATA_DIR": str(data), "INGLENOOK_MAX_NUM_SEQS": str(NUM_CLIENTS)}
    key = add_person("one", environment)
    names = "first_token_s", "tokens_per_s", "events_per_token", *COUNTS
    result: dict[str, list[float]] = {name: [] for name in names}
    ttft_s: list[float] = []
    for number in range(2):
        begun_s = time.perf_counter()
        with served(folder, environment) as port:
            _wait_until_known(port, key, folder.name)
            asyncio.run(complete(port, key, [1, 2, 3], 1, model=folder.name))
            result["first_token_s"].append(time.perf_counter() - begun_s)
            if not number:
                continue
            time.sleep(IDLE_S)
            for repetition in range(-1, repetitions):     # the first is not counted
                prompts = prompts_of(NUM_CLIENTS, PROMPT_TOKENS, config.vocab_size, 100 + repetition)
                before = _counts(port, key)
                load = stream_at_once(port, key, folder.name, prompts, NUM_OUT, num_processes=NUM_PROCESSES)
                if load.num_tokens != NUM_OUT * NUM_CLIENTS:
                    raise SystemExit(f"{load.num_tokens} tokens instead of {NUM_OUT * NUM_CLIENTS}")
                if repetition < 0:
                    continue
                result["tokens_per_s"].append(load.tokens_per_s)
                result["events_per_token"].append(load.pieces_per_token)
                ttft_s += load.first_token_s
                for name, count in _counts(port, key).items():
                    result[name].append(count - before[name])
    return {**result, "ttft_s": statistics.median(ttft_s)}


def _counts(port: int, key: str) -> dict[str, float]:
    response = httpx.get(f"http://{HOST}:{port}/metrics", headers={"Authorization": f"Bearer {key}"})
    lines = response.raise_for_status().text.splitlines()
    return {
        name: sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(full_name))
        for name, full_name in COUNTS.items()
    }


@contextmanager
def served(folder: Path, environment: dict[str, str]) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "inglenook", "serve", "--no-browser", "--model", str(folder)]
    with process(command, {**environment, "INGLENOOK_PORT": str(port)}):
        wait_for(port, "/healthz")
        yield port


def _wait_until_known(port: int, key: str, model_id: str) -> None:
    """It is looked at while the server starts."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        found = httpx.get(f"http://{HOST}:{port}/v1/models", headers={"Authorization": f"Bearer {key}"}).json()
        if any(model["id"] == model_id for model in found["data"]):
            return
        time.sleep(0.05)                    # another process has no event to wait for
    raise SystemExit(f"{model_id} is not known after {PATIENCE_S} s")


def write_folder(folder: Path, config: DecoderConfig) -> None:
    """As the hub has them: config.json, tokenizer.json, and a shard of bf16 for every few layers."""
    folder.mkdir(parents=True)
    rope = config.layers[0].rope
    described = {
        "model_type": config.family, "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16",
        "hidden_size": config.hidden_size, "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers, "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads, "head_dim": config.head_dim, "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context_length, "rms_norm_eps": config.norm_eps, "hidden_act": "silu",
        "tie_word_embeddings": config.ties_embeddings, "rope_theta": rope.theta, "eos_token_id": 1, "bos_token_id": 0,
        "rope_scaling": {"rope_type": rope.kind, **rope.scaling} if rope.scaling else None,
    }
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")
    _write_tokenizer(folder, config.vocab_size)
    shards = dict(enumerate(_shards(config)))
    names = {number: f"model-{number + 1:05}-of-{len(shards):05}.safetensors" for number in shards}
    weight_map = {}
    for number, shapes in shards.items():
        tensors = {name: _random(*shape) for name, shape in shapes.items()}
        save_file(tensors, folder / names[number], metadata={"format": "pt"})
        weight_map.update(dict.fromkeys(tensors, names[number]))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")


def _random(*shape: int) -> torch.Tensor:
    if len(shape) == 1:
        return torch.ones(*shape, dtype=torch.bfloat16)
    return torch.empty(*shape, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02).cpu()


def _shards(config: DecoderConfig, layers_each: int = 4) -> Iterator[dict[str, tuple[int, ...]]]:
    hidden, inner, dim = config.hidden_size, config.intermediate_size, config.head_dim
    first = {"model.embed_tokens.weight": (config.vocab_size, hidden), "model.norm.weight": (hidden,)}
    yield first if config.ties_embeddings else {**first, "lm_head.weight": (config.vocab_size, hidden)}
    for begin in range(0, config.num_layers, layers_each):
        shapes: dict[str, tuple[int, ...]] = {}
        for index in range(begin, min(begin + layers_each, config.num_layers)):
            root = f"model.layers.{index}."
            norms = ["input_layernorm", "post_attention_layernorm"]
            shapes |= {f"{root}{name}.weight": (hidden,) for name in norms}
            if config.norms_heads:
                shapes |= {f"{root}self_attn.{name}_norm.weight": (dim,) for name in "qk"}
            sizes = {"q": config.num_heads, "k": config.num_kv_heads, "v": config.num_kv_heads}
            shapes |= {f"{root}self_attn.{name}_proj.weight": (number * dim, hidden) for name, number in sizes.items()}
            shapes |= {
                f"{root}self_attn.o_proj.weight": (hidden, config.num_heads * dim),
                f"{root}mlp.gate_proj.weight": (inner, hidden), f"{root}mlp.up_proj.weight": (inner, hidden),
                f"{root}mlp.down_proj.weight": (hidden, inner),
            }
        yield shapes


def _write_tokenizer(folder: Path, vocab_size: int) -> None:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"Ġw{number}" for number in range(vocab_size - len(letters) - 2)]
    vocabulary = {word: number for number, word in enumerate(["<s>", "</s>", *letters, *words])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    settings = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    main()
