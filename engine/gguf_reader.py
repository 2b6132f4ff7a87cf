"""Reads the header of one GGUF file, in bounded time and memory whatever the file claims. Called by `engine.gguf`;
any thread.

Written after the format's own description (ggml-org/ggml, docs/gguf.md), versions 2 and 3, little-endian. It is
stricter than llama.cpp where that would hang, take all memory or end the process.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, NoReturn

from engine.errors import ModelLoadError
from engine.gguf_format import TENSOR_TYPES as TENSOR_TYPES
from engine.gguf_format import MetadataArray as MetadataArray
from engine.gguf_format import MetadataValue as MetadataValue
from engine.gguf_format import RawHeader as RawHeader
from engine.gguf_format import TensorInfo as TensorInfo
from engine.gguf_format import TensorType as TensorType
from engine.told import Told

MAGIC = b"GGUF"

_MAX_KEY_BYTES = 1024
_MAX_TENSOR_NAME_BYTES = 63
_MAX_KEPT_TEXT_BYTES = 1 << 20        # a longer text is passed over, and is as if it were not there
_MAX_KEPT_NUMBERS = 4096              # of an array: more than any model has layers
_MAX_DIMENSIONS = 4
_MAX_ELEMENTS = 2**63 - 1
_MIN_KEY_ENTRY_BYTES = 8 + 1 + 4 + 1
_MIN_TENSOR_ENTRY_BYTES = 8 + 1 + 4 + 8 + 4 + 8
_FIRST_WINDOW_BYTES = 1 << 16         # then twice as much each time, up to
_WINDOW_BYTES = 1 << 20

_TEXT, _ARRAY = 8, 9
_NUMBER_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


@dataclass(slots=True)
class Budget:
    """What reading one model may still cost, all its files together: a thousand small claims are one large one."""

    keys: int = 10_000
    tensors: int = 100_000
    texts: int = 2_000_000            # in arrays; the largest vocabularies have half of it, merges included
    numbers: int = 1 << 17            # that are kept of arrays
    kept_text_bytes: int = 4 * _MAX_KEPT_TEXT_BYTES
    read_bytes: int = 256 << 20       # ten times the largest header in use


def read_raw_header(path: Path, budget: Budget | None = None) -> RawHeader:
    """Files of one model share a `budget`. Raises ModelLoadError with a sentence that names the fault."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelLoadError(Told("file-not-a-file", file=path.name))
        with path.open("rb", buffering=0) as file:
            return _Parser(path.name, file, status.st_size, budget or Budget()).parse()
    except FileNotFoundError as error:
        raise gone(path) from error
    except (OSError, ValueError) as error:      # ValueError: no name of a file, as it holds a NUL
        raise ModelLoadError(Told("file-unreadable", path=str(path), detail=str(error))) from error


def gone(path: Path) -> ModelLoadError:
    return ModelLoadError(Told("file-gone", path=str(path)))


def parse_raw_header(name: str, file: IO[bytes], file_bytes: int) -> RawHeader:
    """Of a file that is not here as a whole: `file` has its first bytes, and may raise what it likes where they end."""
    return _Parser(name, file, file_bytes, Budget()).parse()


class _Parser:
    def __init__(self, name: str, file: IO[bytes], file_bytes: int, budget: Budget) -> None:
        self._name = name
        self._budget = budget
        self._file = file
        self._file_bytes = file_bytes
        self._window = b""
        self._at = 0                    # in the window
        self._window_start = 0          # in the file
        self._window_bytes = _FIRST_WINDOW_BYTES

    def parse(self) -> RawHeader:
        version, num_tensors, num_keys = self._opening()
        metadata: dict[str, MetadataValue] = {}
        seen: set[str] = set()
        for _ in range(num_keys):
            key = self._text(_MAX_KEY_BYTES, "the name of a metadata key")
            if key in seen:
                self._refuse(f"has the metadata key {key!r} twice")
            seen.add(key)
            if (value := self._value(key)) is not None:
                metadata[key] = value
        tensors = self._tensors(num_tensors, self._alignment(metadata))
        return RawHeader(version, MappingProxyType(metadata), tensors, self._file_bytes)

    def _opening(self) -> tuple[int, int, int]:
        magic = self._take(min(4, self._file_bytes))
        if magic != MAGIC:
            raise ModelLoadError(Told("file-not-gguf", file=self._name))
        version = self._number("<I")
        if version.to_bytes(4, "little") in (b"\0\0\0\2", b"\0\0\0\3"):
            raise ModelLoadError(Told("file-big-endian", file=self._name))
        if version not in (2, 3):
            raise ModelLoadError(Told("file-version", file=self._name, version=version))
        num_tensors, num_keys = self._number("<Q"), self._number("<Q")
        self._check_count(num_tensors, "tensors", self._budget.tensors, _MIN_TENSOR_ENTRY_BYTES)
        self._check_count(num_keys, "metadata keys", self._budget.keys, _MIN_KEY_ENTRY_BYTES)
        self._budget.tensors -= num_tensors
        self._budget.keys -= num_keys
        return version, num_tensors, num_keys

    # -- metadata ------------------------------------------------------------------------------------------------------

    def _value(self, key: str) -> MetadataValue | None:
        kind = self._number("<I")
        if kind == _TEXT:
            return self._kept_text(key)
        if kind == _ARRAY:
            return self._array(key)
        return self._read_number(kind, key)

    def _read_number(self, kind: int, key: str) -> int | float:
        number_format = _NUMBER_FORMATS.get(kind)
        if number_format is None:
            self._refuse(f"gives the metadata key {key!r} the unknown type {kind}")
        number: int | float = struct.unpack(number_format, self._take(struct.calcsize(number_format)))[0]
        return number

    def _kept_text(self, key: str) -> str | None:
        size = self._number("<Q")
        self._check_fits(size, f"the text {key!r}")
        if size > min(_MAX_KEPT_TEXT_BYTES, self._budget.kept_text_bytes):
            self._skip(size)
            return None
        self._budget.kept_text_bytes -= size
        return self._take(size).decode("utf-8", "replace")

    def _array(self, key: str) -> MetadataArray:
        kind, length = self._number("<I"), self._number("<Q")
        start = self._window_start + self._at
        if kind == _TEXT:
            self._walk_texts(length, key)
            return MetadataArray(length, start=start)
        number_format = _NUMBER_FORMATS.get(kind)
        if number_format is None:
            what = "an array of arrays" if kind == _ARRAY else f"an array of the unknown type {kind}"
            self._refuse(f"has {what} in the metadata key {key!r}")
        item_bytes = struct.calcsize(number_format)
        self._check_fits(length * item_bytes, f"the array {key!r}")
        if length > min(_MAX_KEPT_NUMBERS, self._budget.numbers):
            self._skip(length * item_bytes)
            return MetadataArray(length, start=start)
        self._budget.numbers -= length
        numbers = struct.unpack(f"<{length}{number_format[1]}", self._take(length * item_bytes))
        return MetadataArray(length, numbers, start)

    def _walk_texts(self, length: int, key: str) -> None:
        self._check_fits(length * 8, f"the array {key!r}")
        if length > self._budget.texts:
            self._refuse(f"has more texts in its arrays than any model: {length:,} in {key!r} alone")
        self._budget.texts -= length
        read_size = struct.Struct("<Q").unpack_from
        for _ in range(length):
            if len(self._window) - self._at < 8:
                self._refill(8)
            size = read_size(self._window, self._at)[0]
            end = self._at + 8 + size
            if end <= len(self._window):
                self._at = end
            else:
                self._at += 8
                self._check_fits(size, f"a text in the array {key!r}")
                self._skip(size)

    def _alignment(self, metadata: Mapping[str, MetadataValue]) -> int:
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 8 <= alignment <= 1 << 20 or alignment & (alignment - 1):
            self._refuse(f"aligns its data to {alignment} bytes; that must be a power of two")
        return alignment

    # -- tensors -------------------------------------------------------------------------------------------------------

    def _tensors(self, count: int, alignment: int) -> tuple[TensorInfo, ...]:
        tensors: dict[str, TensorInfo] = {}
        expected = end = 0
        for _ in range(count):
            tensor = self._tensor()
            if tensor.name in tensors:
                self._refuse(f"has the tensor {tensor.name!r} twice")
            if tensor.start != expected:
                self._refuse(
                    f"places the tensor {tensor.name!r} at byte {tensor.start} of its data, where {expected} is due"
                )
            tensors[tensor.name] = tensor
            end = tensor.start + tensor.num_bytes
            expected = _aligned(end, alignment)
        data_start = _aligned(self._window_start + self._at, alignment)
        whole = data_start + end
        if tensors and whole > self._file_bytes:
            raise ModelLoadError(Told(
                "file-cut-off", file=self._name, whole=f"{whole:,}", there=f"{self._file_bytes:,}",
            ))
        return tuple(replace(tensor, start=data_start + tensor.start) for tensor in tensors.values())

    def _tensor(self) -> TensorInfo:
        """Its start as the file has it: from where the data of all begin."""
        name = self._text(_MAX_TENSOR_NAME_BYTES, "the name of a tensor")
        num_dimensions = self._number("<I")
        if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
            self._refuse(f"gives the tensor {name!r} {num_dimensions} dimensions; 1 to {_MAX_DIMENSIONS} are possible")
        shape = struct.unpack(f"<{num_dimensions}Q", self._take(8 * num_dimensions))
        kind, offset = self._number("<I"), self._number("<Q")
        tensor_type = TENSOR_TYPES.get(kind)
        if tensor_type is None:
            raise ModelLoadError(Told("file-tensor-type", file=self._name, tensor=repr(name), kind=kind))
        num_elements = 1
        for size in shape:
            num_elements *= size
        if not 0 < num_elements <= _MAX_ELEMENTS:
            self._refuse(f"gives the tensor {name!r} the impossible shape {shape}")
        if shape[0] % tensor_type.block_elements:
            self._refuse(f"has rows of {shape[0]} in the tensor {name!r}, which {tensor_type.name} cannot store")
        num_bytes = num_elements // tensor_type.block_elements * tensor_type.block_bytes
        if offset + num_bytes > self._file_bytes:
            self._refuse(f"is cut off: the tensor {name!r} should end at byte {offset + num_bytes:,} of its data")
        return TensorInfo(name, shape, tensor_type, num_bytes, offset)

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _number(self, number_format: str) -> int:
        return int(struct.unpack(number_format, self._take(struct.calcsize(number_format)))[0])

    def _text(self, max_bytes: int, what: str) -> str:
        size = self._number("<Q")
        self._check_fits(size, what)
        if not 0 < size <= max_bytes:
            self._refuse(f"has {size} bytes in {what}; 1 to {max_bytes} are possible")
        return self._take(size).decode("utf-8", "replace")

    def _take(self, size: int) -> bytes:
        if len(self._window) - self._at < size:
            self._refill(size)
        start, self._at = self._at, self._at + size
        return self._window[start:self._at]

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._window):
            self._window_start += self._at
            self._file.seek(self._window_start)
            self._window, self._at = b"", 0

    def _refill(self, size: int) -> None:
        """At least `size` bytes from here on in the window."""
        self._window_start += self._at
        self._window, self._at = self._window[self._at:], 0
        while len(self._window) < size:
            more = self._file.read(max(self._window_bytes, size - len(self._window)))
            if not more:
                self._refuse("ends in the middle of its header")
            self._window += more
            self._window_bytes = min(2 * self._window_bytes, _WINDOW_BYTES)
            self._budget.read_bytes -= len(more)
            if self._budget.read_bytes < 0:
                self._refuse("has a header that is larger than any model's")

    def _check_fits(self, num_bytes: int, what: str) -> None:
        left = self._file_bytes - self._window_start - self._at
        if num_bytes > left:
            self._refuse(f"claims {num_bytes:,} bytes for {what}, but only {left:,} are left")

    def _check_count(self, count: int, what: str, maximum: int, min_bytes: int) -> None:
        if count > maximum:
            self._refuse(f"claims {count:,} {what}; at most {maximum:,} are possible")
        self._check_fits(count * min_bytes, f"{count:,} {what}")

    def _refuse(self, fault: str) -> NoReturn:
        raise ModelLoadError(Told("file-damaged", file=self._name, fault=fault))


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
