"""Writes LoRA adapters for the tiny model, and adds them to its weights: the same model by two ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np

from tests.engine.tiny_gguf import EMBEDDING, FEED_FORWARD, LAYERS, Weights, write_tiny_gguf

RANK = 4
SHAPES = {
    "attn_q": (EMBEDDING, EMBEDDING), "attn_output": (EMBEDDING, EMBEDDING), "ffn_down": (EMBEDDING, FEED_FORWARD),
}
Factors = Mapping[str, tuple[Weights, Weights]]     # A [rank, columns] and B [rows, rank], by the weight's name


def random_factors(seed: int = 0) -> Factors:
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> Weights:
        made: Weights = (random.standard_normal((rows, columns)) * columns**-0.5).astype(np.float32)
        return made

    return {
        f"blk.{layer}.{name}.weight": (matrix(RANK, columns), matrix(rows, RANK))
        for layer in range(LAYERS)
        for name, (rows, columns) in SHAPES.items()
    }


def write_tiny_adapter(
    path: Path,
    factors: Factors,
    *,
    alpha: float | None = None,
    architecture: str = "llama",
    kind: str = "adapter",
    adapter_type: str = "lora",
) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type(kind)
    writer.add_string("adapter.type", adapter_type)
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    for name, (a, b) in factors.items():
        writer.add_tensor(f"{name}.lora_a", a)
        writer.add_tensor(f"{name}.lora_b", b)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_tiny_merged(path: Path, factors: Factors, *, scale: float = 1.0) -> Path:
    """The tiny model whose weights had the products added."""

    def add(name: str, values: Weights) -> Weights:
        if name not in factors:
            return values
        a, b = factors[name]
        return values + np.float32(scale) * (b @ a)

    return write_tiny_gguf(path, change=add)
