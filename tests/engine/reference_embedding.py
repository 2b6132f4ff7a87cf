"""Embeddings by numpy alone, from the weights in a file: what the tiny models of these tests must give, plainly put."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Weights = dict[str, Array]

ROPE_BASE = 10_000.0


def weights_of(path: Path) -> Weights:
    return {tensor.name: np.array(tensor.data, np.float64) for tensor in gguf.GGUFReader(path).tensors}


def embed(path: Path, token_ids: Sequence[int], pooling: str, *, num_heads: int) -> Array:
    weights = weights_of(path)
    hidden = _bert if "token_embd_norm.weight" in weights else _llama
    vectors = hidden(weights, list(token_ids), num_heads)
    pooled = {"mean": vectors.mean(axis=0), "cls": vectors[0], "last": vectors[-1]}[pooling]
    unit: Array = pooled / np.linalg.norm(pooled)
    return unit


def _bert(weights: Weights, token_ids: list[int], num_heads: int) -> Array:
    def linear(x: Array, name: str) -> Array:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    places = weights["position_embd.weight"][: len(token_ids)]
    x = norm(weights["token_embd.weight"][token_ids] + weights["token_types.weight"][0] + places, "token_embd_norm")
    for layer in _layers(weights):
        q, k, v = (_heads(linear(x, f"{layer}.attn_{name}"), num_heads) for name in "qkv")
        x = norm(x + linear(_attention(q, k, v), f"{layer}.attn_output"), f"{layer}.attn_output_norm")
        inner = linear(x, f"{layer}.ffn_up")
        gelu = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(gelu, f"{layer}.ffn_down"), f"{layer}.layer_output_norm")
    return x


def _llama(weights: Weights, token_ids: list[int], num_heads: int) -> Array:
    def norm(x: Array, name: str) -> Array:
        scaled: Array = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * weights[f"{name}.weight"]

    x = weights["token_embd.weight"][token_ids]
    head_width = x.shape[1] // num_heads
    for layer in _layers(weights):
        normed = norm(x, f"{layer}.attn_norm")
        q, k, v = (normed @ weights[f"{layer}.attn_{name}.weight"].T for name in "qkv")
        num_kv_heads = k.shape[1] // head_width
        q = _rotated(_heads(q, num_heads))
        k = np.repeat(_rotated(_heads(k, num_kv_heads)), num_heads // num_kv_heads, axis=0)
        v = np.repeat(_heads(v, num_kv_heads), num_heads // num_kv_heads, axis=0)
        x = x + _attention(q, k, v, is_causal=True) @ weights[f"{layer}.attn_output.weight"].T
        normed = norm(x, f"{layer}.ffn_norm")
        gate = normed @ weights[f"{layer}.ffn_gate.weight"].T
        inner = gate / (1 + np.exp(-gate)) * (normed @ weights[f"{layer}.ffn_up.weight"].T)
        x = x + inner @ weights[f"{layer}.ffn_down.weight"].T
    return norm(x, "output_norm")


def _layers(weights: Weights) -> list[str]:
    return sorted({".".join(name.split(".")[:2]) for name in weights if name.startswith("blk.")})


def _heads(x: Array, num_heads: int) -> Array:
    """[tokens, width] to [heads, tokens, width of a head]."""
    return x.reshape(len(x), num_heads, -1).transpose(1, 0, 2)


def _rotated(x: Array) -> Array:
    """Neighbouring numbers as complex ones, turned by their token's place."""
    width = x.shape[-1]
    angles = np.outer(np.arange(x.shape[1]), ROPE_BASE ** (-np.arange(0, width, 2) / width))
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def _attention(q: Array, k: Array, v: Array, *, is_causal: bool = False) -> Array:
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(scores.shape[-1], dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    read: Array = (shares @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)
    return read
