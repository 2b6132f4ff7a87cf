"""How far each pair of a head's dimensions turns at each position: cosines and sines, made at load.

Su et al. 2021 (RoFormer); the scalings are those of the models' own authors, by transformers' names for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from engine.backends.torch.config import Rope


def rotary_tables(rope: Rope, head_dim: int, num_positions: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """(cos, sin), each float32 [num_positions, turning dimensions / 2]."""
    num_turning = int(head_dim * rope.share) // 2 * 2
    exponents = torch.arange(0, num_turning, 2, dtype=torch.float32) / num_turning
    frequencies = 1.0 / rope.theta ** exponents
    factor = 1.0
    scaling = rope.scaling or {}
    match rope.kind:
        case "factors":
            frequencies = frequencies / torch.tensor(scaling["factors"], dtype=torch.float32)
        case "linear":
            frequencies = frequencies / float(scaling["factor"])
        case "llama3":
            frequencies = _llama3(frequencies, scaling)
        case "longrope":
            frequencies, factor = _longrope(frequencies, scaling, num_positions)
    angles = torch.outer(torch.arange(num_positions, dtype=torch.float32), frequencies)
    return (angles.cos() * factor).to(device), (angles.sin() * factor).to(device)


def _llama3(frequencies: Tensor, scaling: Mapping[str, Any]) -> Tensor:
    """Long waves are stretched, short ones are left, those between are blended."""
    factor, original = float(scaling["factor"]), float(scaling["original_max_position_embeddings"])
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    wave_lengths = 2 * math.pi / frequencies
    share = ((original / wave_lengths - low) / (high - low)).clamp(0.0, 1.0)
    return (1 - share) * frequencies / factor + share * frequencies


def _longrope(frequencies: Tensor, scaling: Mapping[str, Any], num_positions: int) -> tuple[Tensor, float]:
    """Phi's: factors a dimension, one set for contexts within the original length and one for longer ones."""
    original, stretch = scaling["original_max_position_embeddings"], scaling["factor"]
    factors = torch.tensor(
        scaling["long_factor" if num_positions > original else "short_factor"], dtype=torch.float32
    )
    given = scaling.get("attention_factor")
    factor = float(given) if given else math.sqrt(1 + math.log(stretch) / math.log(original)) if stretch > 1 else 1.0
    return frequencies / factors, factor


def turn(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """`heads` [tokens, heads, head_dim] at their positions; `cos` and `sin` [tokens, turning / 2]. Same dtype out.

    Pairs are a dimension and the one half the turning dimensions further on, as in all families here.
    """
    half = cos.shape[-1]
    turning, rest = heads[..., : 2 * half].float(), heads[..., 2 * half :]
    first, second = turning[..., :half], turning[..., half:]
    cos, sin = cos[:, None, :], sin[:, None, :]
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(heads.dtype)
    return torch.cat((turned, rest), dim=-1) if rest.shape[-1] else turned
