"""Matrices in few bits, each number times its scale: made here at load, or read from checkpoints (checkpoints.py).

FP8 and INT8 have a scale for each row, INT4 a scale and a zero for each group of numbers of a row. All of it is plain
torch, and what kernels (quantised_kernels.py) are compared with. Which tensors are matrices is the decoder's business:
embeddings and the output stay as they are. At load, on the engine's thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

BITS: Final = {"fp8": 8, "int8": 8, "int4": 4}
PACKED_TOGETHER: Final = 64         # numbers of a row: the first half in the low bits of 32 bytes, the rest in the high
GROUP_SIZES: Final = (128, 64)      # of ours: the first that a row can be cut into
LARGEST_FP8: Final = 448.0
_VALUES_AT_ONCE: Final = 1 << 24
_TRIED_RANGES: Final = (1.0, 0.95, 0.9, 0.85, 0.8, 0.7)     # of a group's: what sticks out may cost the others more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantised:
    """[out, in]. `kind` is one of BITS."""

    kind: str
    values: Tensor                  # float8_e4m3fn or int8 [out, in]; uint8 [out, in / 2], as `packed` gives them
    scales: Tensor                  # float32 [out, groups]; one group of all for 8 bits
    zeros: Tensor | None = None     # uint8 [out, groups]: the 4 bits that stand for 0
    size_in: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values), self.size_in

    @property
    def group_size(self) -> int:
        return self.size_in // int(self.scales.shape[1])

    @property
    def num_bytes(self) -> int:
        tensors = (self.values, self.scales, self.zeros)
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None)

    def plain(self, dtype: torch.dtype) -> Tensor:
        if self.zeros is None:
            return (self.values.float() * self.scales).to(dtype)
        numbers = unpacked(self.values).float().view(len(self.values), -1, self.group_size)
        return ((numbers - self.zeros[..., None]) * self.scales[..., None]).view(self.shape).to(dtype)


Matrix: TypeAlias = Tensor | Quantised


def product(x: Tensor, matrix: Matrix, bias: Tensor | None = None) -> Tensor:
    """`x` [rows, in] times `matrix` [out, in]. FP8 rounds `x` too, row by row, as the tensor cores want it."""
    if isinstance(matrix, Tensor):
        return F.linear(x, matrix, bias)
    if matrix.kind == "fp8":
        values, scales = as_fp8(x)
        x = (values.float() * scales).to(x.dtype)
    return F.linear(x, matrix.plain(x.dtype), bias)


def quantise(weight: Tensor, kind: str) -> Matrix:
    """`weight` [out, in] in this kind; as it is where its rows cannot be cut into groups.

    Some rows at a time: what is computed with takes several times the memory of what comes of it.
    """
    rows_at_once = max(1, _VALUES_AT_ONCE // weight.shape[1])
    return joined([_quantised(rows, kind) for rows in weight.split(rows_at_once)])


def _quantised(weight: Tensor, kind: str) -> Matrix:
    if kind == "fp8":
        values, scales = as_fp8(weight)
        return Quantised(kind=kind, values=values, scales=scales, size_in=weight.shape[1])
    if kind == "int8":
        scales = _scales(weight, 127.0)
        values = (weight.float() / scales).round_().clamp_(-127, 127).to(torch.int8)
        return Quantised(kind=kind, values=values, scales=scales, size_in=weight.shape[1])
    group = next((size for size in GROUP_SIZES if weight.shape[1] % size == 0), None)
    return weight if group is None else _in_four_bits(weight, group)


def as_fp8(rows: Tensor) -> tuple[Tensor, Tensor]:
    """float8 [rows, size], and what each row is to be multiplied with, float32 [rows, 1]."""
    scales = _scales(rows, LARGEST_FP8)
    return (rows.float() / scales).to(torch.float8_e4m3fn), scales


def _scales(rows: Tensor, largest: float) -> Tensor:
    return rows.abs().amax(dim=1, keepdim=True).float().clamp_(min=1e-12) / largest


def _in_four_bits(weight: Tensor, group: int) -> Quantised:
    """Of some ranges of each group the one that is off by least, squared."""
    groups = weight.float().view(len(weight), -1, group)
    low, high = groups.amin(dim=2).clamp_(max=0.0), groups.amax(dim=2).clamp_(min=0.0)
    best_error = torch.full_like(low, torch.inf)
    best_scales, best_zeros = torch.ones_like(low), torch.zeros_like(low)
    for share in _TRIED_RANGES:
        scales = ((high - low) * (share / 15.0)).clamp_(min=1e-12)
        zeros = (-low * share / scales).round_().clamp_(0, 15)
        error = (_numbers(groups, scales, zeros).sub_(zeros[..., None]).mul_(scales[..., None]) - groups).pow_(2).sum(2)
        better = error < best_error
        best_error = torch.where(better, error, best_error)
        best_scales, best_zeros = torch.where(better, scales, best_scales), torch.where(better, zeros, best_zeros)
    numbers = _numbers(groups, best_scales, best_zeros).to(torch.uint8).view(weight.shape)
    return Quantised(
        kind="int4", values=packed(numbers), scales=best_scales, zeros=best_zeros.to(torch.uint8),
        size_in=weight.shape[1],
    )


def _numbers(groups: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return (groups / scales[..., None]).add_(zeros[..., None]).round_().clamp_(0, 15)


def packed(numbers: Tensor) -> Tensor:
    """0 to 15 as uint8 [out, in] to [out, in / 2]: of each PACKED_TOGETHER in a row, the second half lies high."""
    halves = numbers.view(len(numbers), -1, 2, PACKED_TOGETHER // 2)
    return (halves[:, :, 0] | halves[:, :, 1] << 4).reshape(len(numbers), -1)


def unpacked(values: Tensor) -> Tensor:
    pairs = values.view(len(values), -1, PACKED_TOGETHER // 2)
    return torch.stack((pairs & 15, pairs >> 4), dim=2).view(len(values), -1)


def joined(parts: list[Matrix]) -> Matrix:
    """One matrix with all rows, of parts with the same columns."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Quantised) for part in parts):
        quantised = [part for part in parts if isinstance(part, Quantised)]
        first = quantised[0]
        if all(part.kind == first.kind and part.group_size == first.group_size for part in quantised):
            zeros = [part.zeros for part in quantised if part.zeros is not None]
            return Quantised(
                kind=first.kind, values=torch.cat([part.values for part in quantised]),
                scales=torch.cat([part.scales for part in quantised]), zeros=torch.cat(zeros) if zeros else None,
                size_in=first.size_in,
            )
    dtype = next((part.dtype for part in parts if isinstance(part, Tensor)), torch.bfloat16)
    return torch.cat([part if isinstance(part, Tensor) else part.plain(dtype) for part in parts])
