"""Reads the header of one safetensors file, in bounded time and memory whatever the file claims. Called by
`engine.safetensors`; any thread.

Written after the format's own description (huggingface/safetensors): 8 bytes with the header's length, a JSON object,
and the data, which the tensors fill without holes.
"""

from __future__ import annotations

import math
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.errors import ModelLoadError
from engine.gguf_reader import gone
from engine.json_pieces import JsonPieces
from engine.told import Told

METADATA = "__metadata__"

_MAX_HEADER_BYTES = 32 << 20
_MAX_METADATA_ENTRIES = 10_000
_MAX_DIMENSIONS = 8
_MAX_ELEMENTS = 2**63 - 1

_TYPES = MappingProxyType({       # of a number, in bits; the key is kept in place of each tensor's own spelling of it
    "BOOL": ("BOOL", 8), "U8": ("U8", 8), "I8": ("I8", 8), "F8_E4M3": ("F8_E4M3", 8), "F8_E5M2": ("F8_E5M2", 8),
    "F8_E8M0": ("F8_E8M0", 8), "I16": ("I16", 16), "U16": ("U16", 16), "F16": ("F16", 16), "BF16": ("BF16", 16),
    "I32": ("I32", 32), "U32": ("U32", 32), "F32": ("F32", 32), "I64": ("I64", 64), "U64": ("U64", 64),
    "F64": ("F64", 64), "C64": ("C64", 64), "F4": ("F4", 4), "F6_E2M3": ("F6_E2M3", 6), "F6_E3M2": ("F6_E3M2", 6),
})


@dataclass(slots=True)
class Budget:
    """What reading one model may still cost, all its files together: a thousand small claims are one large one."""

    tensors: int = 100_000
    header_bytes: int = 2 * _MAX_HEADER_BYTES


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int                        # in the data, in bytes
    num_bytes: int


@dataclass(frozen=True, slots=True)
class RawHeader:
    metadata: Mapping[str, str]
    tensors: tuple[TensorInfo, ...]   # in the order of their data
    file_bytes: int


def read_raw_header(path: Path, budget: Budget | None = None) -> RawHeader:
    """Files of one model share a `budget`. Raises ModelLoadError with a sentence that names the fault."""
    budget = budget or Budget()
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelLoadError(Told("file-no-safetensors-file", file=path.name))
        with path.open("rb", buffering=0) as file:
            size = _header_bytes(path.name, file.read(8), status.st_size, budget)
            text = file.read(size)
    except FileNotFoundError as error:
        raise gone(path) from error
    except (OSError, ValueError) as error:      # ValueError: no name of a file, as it holds a NUL
        raise ModelLoadError(Told("file-unreadable", path=str(path), detail=str(error))) from error
    return _Parser(path.name, text, status.st_size, budget).parse()


def _header_bytes(name: str, start: bytes, file_bytes: int, budget: Budget) -> int:
    if len(start) < 8:
        raise ModelLoadError(Told("file-not-safetensors", file=name, size=len(start)))
    size = int(struct.unpack("<Q", start)[0])
    if size > file_bytes - 8:
        fault = f"claims {size:,} bytes for its header, but only {file_bytes - 8:,} are left"
        raise ModelLoadError(Told("file-damaged", file=name, fault=fault))
    if size > min(_MAX_HEADER_BYTES, budget.header_bytes):
        fault = f"claims {size:,} bytes for its header: more than any model has"
        raise ModelLoadError(Told("file-damaged", file=name, fault=fault))
    budget.header_bytes -= size
    return size


class _Parser:
    def __init__(self, name: str, text: bytes, file_bytes: int, budget: Budget) -> None:
        self._name = name
        self._json = JsonPieces(name, text)
        self._file_bytes = file_bytes
        self._data_bytes = file_bytes - 8 - len(text)
        self._budget = budget

    def parse(self) -> RawHeader:
        metadata: dict[str, str] | None = None
        tensors: dict[str, TensorInfo] = {}
        for name in self._json.entries("its header"):
            if name in tensors or (name == METADATA and metadata is not None):
                self._json.refuse(f"has {name!r} twice")
            if name == METADATA:
                metadata = self._metadata()
            else:
                tensors[name] = self._tensor(name)
        self._json.end()
        return RawHeader(MappingProxyType(metadata or {}), self._in_order(tensors), self._file_bytes)

    def _metadata(self) -> dict[str, str]:
        metadata: dict[str, str] = {}
        for key in self._json.entries("its metadata"):
            if key in metadata:
                self._json.refuse(f"has the metadata key {key!r} twice")
            if len(metadata) == _MAX_METADATA_ENTRIES:
                self._json.refuse(f"has more than {_MAX_METADATA_ENTRIES:,} metadata keys")
            metadata[key] = self._json.text(f"the metadata key {key!r}")
        return metadata

    def _tensor(self, name: str) -> TensorInfo:
        self._budget.tensors -= 1
        if self._budget.tensors < 0:
            self._json.refuse("has more tensors than any model")
        entry = self._json.flat_object(f"the tensor {name!r}")
        if entry.keys() != {"dtype", "shape", "data_offsets"}:
            self._json.refuse(f"describes the tensor {name!r} in no known way")
        dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in _TYPES:
            shown = repr(dtype)[:40]
            raise ModelLoadError(Told("file-tensor-type", file=self._name, tensor=repr(name), kind=shown))
        if not _are_sizes(place) or len(place) != 2 or place[1] > self._data_bytes:
            self._json.refuse(f"is cut off: the tensor {name!r} should lie at {str(place)[:80]} of its data")
        dtype, bits = _TYPES[dtype]
        num_bytes = place[1] - place[0]
        if self._num_elements(name, shape) * bits != num_bytes * 8:
            self._json.refuse(f"gives the tensor {name!r} {num_bytes:,} bytes, which its shape and type do not fill")
        return TensorInfo(name, dtype, tuple(shape), place[0], num_bytes)

    def _num_elements(self, name: str, shape: Any) -> int:
        is_possible = _are_sizes(shape) and len(shape) <= _MAX_DIMENSIONS
        product: int = math.prod(shape) if is_possible else 0
        if not is_possible or product > _MAX_ELEMENTS:
            self._json.refuse(f"gives the tensor {name!r} the impossible shape {str(shape)[:80]}")
        return product

    def _in_order(self, tensors: dict[str, TensorInfo]) -> tuple[TensorInfo, ...]:
        """Each must begin where the one before it ends, and the last end with the file."""
        expected = 0
        ordered = sorted(tensors.values(), key=lambda tensor: (tensor.start, tensor.num_bytes))
        for tensor in ordered:
            if tensor.start != expected:
                self._json.refuse(
                    f"places the tensor {tensor.name!r} at byte {tensor.start:,} of its data, where {expected:,} is due"
                )
            expected += tensor.num_bytes
        if expected != self._data_bytes:
            self._json.refuse(f"has {self._data_bytes:,} bytes of data where its header describes {expected:,}")
        return tuple(ordered)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is int and 0 <= each <= _MAX_ELEMENTS for each in value)
