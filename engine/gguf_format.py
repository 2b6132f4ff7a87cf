"""What a GGUF's header holds, as values: metadata, tensors and their types. Read by `engine.gguf_reader`.

After the format's own description (ggml-org/ggml, docs/gguf.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TensorType:
    name: str
    block_elements: int
    block_bytes: int


TENSOR_TYPES: Mapping[int, TensorType] = MappingProxyType({
    0: TensorType("F32", 1, 4), 1: TensorType("F16", 1, 2), 2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20), 6: TensorType("Q5_0", 32, 22), 7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34), 9: TensorType("Q8_1", 32, 36), 10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110), 12: TensorType("Q4_K", 256, 144), 13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210), 15: TensorType("Q8_K", 256, 292), 16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74), 18: TensorType("IQ3_XXS", 256, 98), 19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18), 21: TensorType("IQ3_S", 256, 110), 22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136), 24: TensorType("I8", 1, 1), 25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4), 27: TensorType("I64", 1, 8), 28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56), 30: TensorType("BF16", 1, 2), 34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66), 39: TensorType("MXFP4", 32, 17), 40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18), 42: TensorType("Q2_0", 64, 18),
})


@dataclass(frozen=True, slots=True)
class MetadataArray:
    """`values` are kept where they are a few numbers: vocabularies are walked over, not kept."""

    length: int
    values: tuple[int | float, ...] = ()
    start: int = field(default=0, compare=False)      # of the items in the file, in bytes


MetadataValue = int | float | str | MetadataArray


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    shape: tuple[int, ...]              # columns first: [in, out] of a matrix
    type: TensorType
    num_bytes: int
    start: int = field(default=0, compare=False)      # of its numbers in the file, in bytes


@dataclass(frozen=True, slots=True)
class RawHeader:
    version: int
    metadata: Mapping[str, MetadataValue]
    tensors: tuple[TensorInfo, ...]
    file_bytes: int
