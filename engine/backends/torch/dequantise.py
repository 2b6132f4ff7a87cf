"""Numbers as GGUF files pack them, as plain ones: where they lie, all blocks at once. At load.

After ggml's own description of its blocks (ggml-org/ggml, src/ggml-common.h). A block is a few bytes of scales, and the
low bits of its 32 or 256 numbers, those of the first half beside those of the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor


def dequantise(packed: Tensor, kind: str) -> Tensor:
    """uint8 [blocks, bytes of a block] to float32 [blocks, numbers of a block]. `kind` is one of READABLE."""
    return _READERS[kind](packed)


def _halves(packed: Tensor, start: int, count: int = 1) -> Tensor:
    """float32 [blocks, count], of 16 bits each."""
    return packed[:, start : start + 2 * count].contiguous().view(torch.float16).float()


def _nibbles(packed: Tensor) -> Tensor:
    """[blocks, n] to [blocks, 2 n]: the low ones, then the high ones."""
    return torch.cat((packed & 15, packed >> 4), dim=1)


def _fifth_bits(packed: Tensor) -> Tensor:
    """[blocks, 4] to [blocks, 32]: a bit of each number, in its place."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return (packed[..., None] >> shifts & 1).reshape(len(packed), -1) << 4


def _q8_0(packed: Tensor) -> Tensor:
    return packed[:, 2:].contiguous().view(torch.int8).float() * _halves(packed, 0)


def _q4_0(packed: Tensor) -> Tensor:
    return (_nibbles(packed[:, 2:]).float() - 8) * _halves(packed, 0)


def _q4_1(packed: Tensor) -> Tensor:
    return _nibbles(packed[:, 4:]).float() * _halves(packed, 0) + _halves(packed, 2)


def _q5_0(packed: Tensor) -> Tensor:
    return ((_nibbles(packed[:, 6:]) | _fifth_bits(packed[:, 2:6])).float() - 16) * _halves(packed, 0)


def _q5_1(packed: Tensor) -> Tensor:
    numbers = _nibbles(packed[:, 8:]) | _fifth_bits(packed[:, 4:8])
    return numbers.float() * _halves(packed, 0) + _halves(packed, 2)


def _eighths(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Of Q4_K and Q5_K, float32 [blocks, 8, 1] each: what an eighth's numbers are multiplied by, and what is taken away
    then. Six bits each: four pairs whole, the others in pieces.
    """
    lows, highs, rest = packed[:, 4:8], packed[:, 8:12], packed[:, 12:16]
    scales = torch.cat((lows & 63, (rest & 15) | (lows >> 6) << 4), dim=1).float() * _halves(packed, 0)
    least = torch.cat((highs & 63, rest >> 4 | (highs >> 6) << 4), dim=1).float() * _halves(packed, 2)
    return scales[..., None], least[..., None]


def _q4_k(packed: Tensor) -> Tensor:
    scales, least = _eighths(packed)
    pairs = packed[:, 16:].view(len(packed), 4, 32)
    numbers = torch.stack((pairs & 15, pairs >> 4), dim=2).view(len(packed), 8, 32)
    return (numbers.float() * scales - least).view(len(packed), 256)


def _q5_k(packed: Tensor) -> Tensor:
    scales, least = _eighths(packed)
    pairs = packed[:, 48:].view(len(packed), 4, 32)
    numbers = torch.stack((pairs & 15, pairs >> 4), dim=2).view(len(packed), 8, 32)
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)[:, None]
    numbers = numbers | (packed[:, None, 16:48] >> shifts & 1) << 4
    return (numbers.float() * scales - least).view(len(packed), 256)


def _q6_k(packed: Tensor) -> Tensor:
    lows = packed[:, :128].view(len(packed), 2, 1, 64)                              # of both halves
    lows = torch.cat((lows & 15, lows >> 4), dim=2).view(len(packed), 2, 4, 32)
    shifts = torch.arange(0, 8, 2, dtype=torch.uint8, device=packed.device)[:, None]
    highs = packed[:, 128:192].view(len(packed), 2, 1, 32) >> shifts & 3
    numbers = (lows | highs << 4).view(len(packed), 16, 16).float() - 32
    scales = packed[:, 192:208].contiguous().view(torch.int8).float() * _halves(packed, 208)
    return (numbers * scales[..., None]).view(len(packed), 256)


_READERS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "F32": lambda packed: packed.view(torch.float32),
    "F16": lambda packed: packed.view(torch.float16).float(),
    "BF16": lambda packed: packed.view(torch.bfloat16).float(),
    "Q8_0": _q8_0, "Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q4_K": _q4_k, "Q5_K": _q5_k,
    "Q6_K": _q6_k,
}
