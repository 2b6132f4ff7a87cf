"""Formats that a model's weights can be copied into, as a table. Read by whoever makes copies, and by the command line.

What a format costs depends on the processor: llama.cpp multiplies a batch fast where it has a kernel for the format
and rearranges its weights for it ("repacking"), and a token at a time where it has none. So a table says what is
worth trying, and measuring says the rest. Left out is what needs an importance matrix, or loses more than it gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.gguf import GgufHeader
from engine.gguf_reader import TensorInfo


@dataclass(frozen=True, slots=True)
class WeightFormat:
    name: str                      # as llama.cpp and people call it
    file_type: int                 # llama.cpp's number for the recipe, LLAMA_FTYPE_*
    bits_per_weight: float         # of most matrices
    row_multiple: int              # rows of another length are kept in a larger and often slower format
    is_tried: bool                 # without being asked for by name


FORMATS = (
    WeightFormat("Q4_0", 2, 4.5, 32, is_tried=True),         # repacked on x86 with AVX2, on ARM, on RISC-V
    WeightFormat("IQ4_NL", 25, 4.5, 32, is_tried=False),     # repacked too, but making it takes twenty times as long
    WeightFormat("Q4_1", 3, 5.0, 32, is_tried=False),
    WeightFormat("Q4_K_S", 14, 4.6, 256, is_tried=False),
    WeightFormat("Q4_K_M", 15, 4.9, 256, is_tried=True),     # repacked on x86 with AVX2, and on ARM
    WeightFormat("Q5_0", 8, 5.5, 32, is_tried=True),         # multiplied in tiles on x86
    WeightFormat("Q5_1", 9, 6.0, 32, is_tried=False),
    WeightFormat("Q5_K_M", 17, 5.7, 256, is_tried=False),
    WeightFormat("Q6_K", 18, 6.6, 256, is_tried=False),
    WeightFormat("Q8_0", 7, 8.5, 32, is_tried=True),         # multiplied in tiles on x86, repacked on ARM
)

# These lose nothing that a copy could lose a second time.
WHOLE_FORMATS = frozenset({"F32", "F16", "BF16"})

_FINER_TENSORS = frozenset({"token_embd.weight", "output.weight"})      # most recipes keep these finer than the rest,
_FINER_BITS = 8.5                  # at most so
_SMALLEST_ROW_MULTIPLE, _UNQUANTISED_BITS = 32, 16.0
_SLACK_BYTES = 8 << 20


def format_called(name: str) -> WeightFormat | None:
    return next((each for each in FORMATS if each.name == name.upper()), None)


def formats_to_try(header: GgufHeader) -> tuple[WeightFormat, ...]:
    """Those that may be faster than the model's own, and that its rows fit."""
    rows = [tensor.shape[0] for tensor in header.tensors if _is_matrix(tensor)]
    return tuple(
        each for each in FORMATS
        if each.is_tried and each.name != header.quantisation and all(row % each.row_multiple == 0 for row in rows)
    )


def copy_bytes(header: GgufHeader, weight_format: WeightFormat) -> int:
    """What a copy will take on the disk: a little more than it does."""
    return header.file_bytes - header.weight_bytes + _SLACK_BYTES + sum(
        round(_num_elements(tensor) * _most_bits(tensor, weight_format) / 8) if _is_matrix(tensor) else tensor.num_bytes
        for tensor in header.tensors
    )


def _most_bits(tensor: TensorInfo, weight_format: WeightFormat) -> float:
    if tensor.shape[0] % _SMALLEST_ROW_MULTIPLE:
        return _UNQUANTISED_BITS
    is_finer = tensor.name in _FINER_TENSORS or tensor.shape[0] % weight_format.row_multiple
    return max(weight_format.bits_per_weight, _FINER_BITS if is_finer else 0.0)


def _is_matrix(tensor: TensorInfo) -> bool:
    return len(tensor.shape) > 1 and tensor.name.endswith("weight")


def _num_elements(tensor: TensorInfo) -> int:
    return math.prod(tensor.shape)
