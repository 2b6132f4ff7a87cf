"""What a GGUF file says about its model, checked before any native code sees the file. Called by the loader and by
the page of models, on any thread: a header takes milliseconds, and at most 2 s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from engine.errors import ModelLoadError
from engine.gguf_reader import (
    Budget,
    MetadataArray,
    MetadataValue,
    RawHeader,
    TensorInfo,
    parse_raw_header,
    read_raw_header,
)
from engine.told import Told

KV_BITS_PER_VALUE = MappingProxyType({"f32": 32.0, "f16": 16.0, "q8_0": 8.5})
_QUANTISED_BLOCK_VALUES = 32       # of one scale: a head of KV must be whole blocks

_MAX_LAYERS = 512                  # llama.cpp ends the process above
_MAX_CONTEXT_TOKENS = 1 << 30
_MAX_PARTS = 1000
_PART_NAME = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.DOTALL)

_BESIDE = re.compile(r"^mtp[-_]|^imatrix|(?<![a-z0-9])mmproj(?![a-z])", re.IGNORECASE)
_WEIGHS = re.compile(r"(?<![a-z0-9])imatrix\.gguf$", re.IGNORECASE)
_QUANTISED = re.compile(r"(?<![a-z0-9])i?q\d_|(?<![a-z0-9])b?f16", re.IGNORECASE)

# `general.file_type` is llama.cpp's number for the recipe by which a file was quantised.
_FILE_TYPES = MappingProxyType({
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0",
})

# `<architecture>.pooling_type` is llama.cpp's number for how the vectors of a text's tokens become one vector.
_POOLINGS = MappingProxyType({0: "", 1: "mean", 2: "cls", 3: "last", 4: "rank"})

# Files in this format that are no model of their own.
_NOT_A_MODEL = MappingProxyType({
    "mmproj": Told("kind-mmproj"), "adapter": Told("kind-adapter"), "imatrix": Told("kind-imatrix"),
})


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """One model; where it is split into several files, `path` is the first and the sums are over all."""

    path: Path
    architecture: str
    name: str                              # "" where the file does not say
    quantisation: str                      # "Q4_1"
    context_length: int                    # tokens it was trained for
    block_count: int
    embedding_length: int
    feed_forward_length: int               # of the widest layer; 0 where the file does not say
    head_count: int                        # of the layer with most
    kv_values_by_layer: tuple[int, ...]    # numbers kept for a token, K and V; 0 for recurrent layers
    head_widths: tuple[int, int]           # of a K and of a V; 0 without attention
    weight_bytes: int
    file_bytes: int
    has_tokenizer: bool
    vocab_size: int                        # tokens; 0 where the file lists none
    pooling: str                           # "mean", "cls", "last": it embeds texts; "": it writes them
    is_causal: bool                        # a token is computed from those before it only
    part_paths: tuple[Path, ...]
    metadata: Mapping[str, MetadataValue]
    tensors: tuple[TensorInfo, ...]

    def kv_bytes_by_layer(self, kv_type: str = "f16") -> tuple[int, ...]:
        """Of a token. Raises ModelLoadError where the model's heads cannot be kept in this type."""
        if kv_type == "q8_0" and any(width % _QUANTISED_BLOCK_VALUES for width in self.head_widths):
            widths = ", ".join(map(str, sorted(set(self.head_widths))))
            raise ModelLoadError(
                Told("file-heads", file=self.path.name, widths=widths, count=_QUANTISED_BLOCK_VALUES)
            )
        return tuple(int(values * KV_BITS_PER_VALUE[kv_type] / 8) for values in self.kv_values_by_layer)

    def kv_bytes_per_token(self, kv_type: str = "f16") -> int:
        return sum(self.kv_bytes_by_layer(kv_type))


def read_header(path: Path) -> GgufHeader:
    """Raises ModelLoadError with a sentence that says what is wrong with the file, and what to do."""
    budget = Budget()
    raw = read_raw_header(path, budget)
    facts = Facts(path.name, raw.metadata)
    part_paths = _part_paths(path, facts)
    for number, part_path in enumerate(part_paths, 1):
        if not part_path.is_file():
            raise ModelLoadError(Told(
                "file-part-missing", number=number, count=len(part_paths), file=part_path.name,
            ))
    _check_is_model(facts)
    parts = [raw, *(_read_part(part_path, number, budget) for number, part_path in enumerate(part_paths[1:], 1))]
    return _header(path, facts, parts, part_paths)


def header_from(path: Path, parts: Sequence[RawHeader]) -> GgufHeader:
    """As `read_header`, of a model whose files are elsewhere: their headers were read there. Only names are looked at.

    `path`: the first file's. Raises ModelLoadError.
    """
    facts = Facts(path.name, parts[0].metadata)
    part_paths = _part_paths(path, facts)
    _check_is_model(facts)
    if len(part_paths) != len(parts):
        raise ModelLoadError(Told("file-parts-count", file=path.name, count=len(part_paths), there=len(parts)))
    for number, part in enumerate(parts[1:], 1):
        _check_part(part, part_paths[number], number)
    return _header(path, facts, parts, part_paths)


def _header(path: Path, facts: Facts, parts: Sequence[RawHeader], part_paths: tuple[Path, ...]) -> GgufHeader:
    raw = parts[0]
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    if not tensors:
        raise ModelLoadError(Told("file-no-weights", file=path.name))
    if len(parts) > 1 and len({tensor.name for tensor in tensors}) < len(tensors):
        raise ModelLoadError(Told("file-tensor-twice", file=path.name))
    architecture = facts.text("general.architecture")
    block_count = facts.number(f"{architecture}.block_count", 1, _MAX_LAYERS)
    head_widths, kv_values_by_layer = _kv_shape(facts, architecture, block_count)
    return GgufHeader(
        path=path,
        architecture=architecture,
        name=facts.text("general.name"),
        quantisation=_quantisation(raw, tensors),
        context_length=facts.number(f"{architecture}.context_length", 1, _MAX_CONTEXT_TOKENS),
        block_count=block_count,
        embedding_length=facts.number(f"{architecture}.embedding_length", 1, 1 << 24),
        feed_forward_length=_largest(raw.metadata.get(f"{architecture}.feed_forward_length")),
        head_count=_largest(raw.metadata.get(f"{architecture}.attention.head_count")),
        kv_values_by_layer=kv_values_by_layer,
        head_widths=head_widths,
        weight_bytes=sum(tensor.num_bytes for tensor in tensors),
        file_bytes=sum(part.file_bytes for part in parts),
        has_tokenizer=facts.text("tokenizer.ggml.model") not in ("", "no_vocab", "none"),
        vocab_size=_vocab_size(raw),
        pooling=_pooling(facts, architecture),
        is_causal=raw.metadata.get(f"{architecture}.attention.causal") is not False,
        part_paths=part_paths,
        metadata=raw.metadata,
        tensors=tensors,
    )


class Facts:
    """Metadata by type: a key of another type than llama.cpp expects ends in an error here, not there."""

    def __init__(self, file_name: str, metadata: Mapping[str, MetadataValue]) -> None:
        self.file_name = file_name
        self._metadata = metadata

    def text(self, key: str) -> str:
        value = self._metadata.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(key, repr(value)[:80], Told("wanted-text"))
        return value

    def number(self, key: str, low: int, high: int, default: int | None = None) -> int:
        value = self._metadata.get(key, default)
        if value is None:
            raise ModelLoadError(Told("file-lacks", file=self.file_name, key=key))
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(key, repr(value)[:80], Told("wanted-number", low=low, high=high))
        return value

    def numbers_by_layer(self, key: str, num_layers: int, default: int) -> list[int]:
        value = self._metadata.get(key, default)
        if isinstance(value, MetadataArray):
            numbers = [number for number in value.values if isinstance(number, int) and 0 <= number <= 1 << 16]
            if len(numbers) < num_layers:
                shown = Told("shown-list", count=value.length)
                raise self._wrong(key, shown, Told("wanted-by-layer", count=num_layers))
            return numbers[:num_layers]
        return [self.number(key, 0, 1 << 16, default)] * num_layers

    def _wrong(self, key: str, shown: str, wanted: Told) -> ModelLoadError:
        return ModelLoadError(Told("file-misstates", file=self.file_name, key=key, shown=shown, wanted=wanted))


def _check_is_model(facts: Facts) -> None:
    architecture = facts.text("general.architecture")
    kind = "mmproj" if architecture == "clip" else facts.text("general.type")
    if what := _NOT_A_MODEL.get(kind):
        raise ModelLoadError(Told("file-other-kind", file=facts.file_name, kind=what))
    if not architecture:
        raise ModelLoadError(Told("file-lacks", file=facts.file_name, key="architecture"))


def _pooling(facts: Facts, architecture: str) -> str:
    pooling = _POOLINGS[facts.number(f"{architecture}.pooling_type", 0, max(_POOLINGS), default=0)]
    if pooling == "rank":
        raise ModelLoadError(Told("file-ranks", file=facts.file_name))
    return pooling


def _largest(value: MetadataValue | None) -> int:
    """Of a number for all layers, or of a list by layer."""
    values = value.values if isinstance(value, MetadataArray) else [value]
    return max((each for each in values if isinstance(each, int)), default=0)


def _vocab_size(raw: RawHeader) -> int:
    tokens = raw.metadata.get("tokenizer.ggml.tokens")
    return tokens.length if isinstance(tokens, MetadataArray) else 0


def _kv_shape(facts: Facts, architecture: str, num_layers: int) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Widths of a K and of a V of one head, and how many numbers of both each layer keeps for a token."""
    prefix = f"{architecture}.attention."
    embedding = facts.number(f"{architecture}.embedding_length", 1, 1 << 24)
    heads = facts.numbers_by_layer(prefix + "head_count", num_layers, 0)
    kv_heads = facts.numbers_by_layer(prefix + "head_count_kv", num_layers, max(heads))
    default_width = embedding // max(heads) if max(heads) else 0
    k_width = facts.number(prefix + "key_length", 0, 1 << 16, default_width)
    v_width = facts.number(prefix + "value_length", 0, 1 << 16, default_width)
    return (k_width, v_width), tuple(num_heads * (k_width + v_width) for num_heads in kv_heads)


def _quantisation(raw: RawHeader, tensors: tuple[TensorInfo, ...]) -> str:
    """As the file names it, or else the type that most of its weights have."""
    file_type = raw.metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type in _FILE_TYPES:
        return _FILE_TYPES[file_type]
    num_bytes: Counter[str] = Counter()
    for tensor in tensors:
        num_bytes[tensor.type.name] += tensor.num_bytes
    return num_bytes.most_common(1)[0][0]


# -- models in several files -------------------------------------------------------------------------------------------


def _part_paths(path: Path, facts: Facts) -> tuple[Path, ...]:
    """All files of a model, from its first. llama.cpp finds the others by name, so names must be right."""
    num_parts = facts.number("split.count", 0, 1 << 16, default=0) or 1
    named = _PART_NAME.fullmatch(path.name)
    if named is None and num_parts == 1:
        return (path,)
    if named is None or int(named["parts"]) != num_parts:
        ending = f"-00001-of-{num_parts:05}.gguf"
        raise ModelLoadError(Told("file-part-name", file=path.name, count=num_parts, ending=ending))
    if num_parts > _MAX_PARTS:
        raise ModelLoadError(Told("file-many-parts", file=path.name, count=num_parts, most=_MAX_PARTS))
    paths = parts_by_name(path)
    if path != paths[0]:
        raise ModelLoadError(Told("file-first-part", file=path.name, count=num_parts, first=paths[0].name))
    return paths


def parts_by_name(path: Path) -> tuple[Path, ...]:
    """Of a file whose name says that it is one of several; else the file alone."""
    named = _PART_NAME.fullmatch(path.name)
    num_parts = int(named["parts"]) if named else 1
    if named is None or not 0 < num_parts <= _MAX_PARTS:
        return (path,)
    return tuple(path.with_name(f"{named['stem']}-{n:05}-of-{num_parts:05}.gguf") for n in range(1, num_parts + 1))


def check_one_of_several(path: Path, file: IO[bytes], file_bytes: int) -> None:
    """Whether what is to lie at `path` is the part that its name says, whole and of as many. Raises ModelLoadError,
    OSError.
    """
    named = _PART_NAME.fullmatch(path.name)
    raw = parse_raw_header(path.name, file, file_bytes)
    if named is None or path not in parts_by_name(path) or raw.metadata.get("split.count") != int(named["parts"]):
        raise ModelLoadError(Told("file-part-other", file=path.name))
    _check_part(raw, path, int(named["part"]) - 1)


def is_beside_a_model(file_name: str) -> bool:
    """By its name: what reads its images ("mmproj-…", "…-mmproj-f16"), weighs its values ("…imatrix.gguf", but not the
    model "…-Q4_K_M-imatrix.gguf") or drafts for it ("mtp-…") is no model of its own.
    """
    is_weights_of_values = _WEIGHS.search(file_name) is not None and _QUANTISED.search(file_name) is None
    return is_weights_of_values or _BESIDE.search(file_name) is not None


def _read_part(path: Path, number: int, budget: Budget) -> RawHeader:
    raw = read_raw_header(path, budget)
    _check_part(raw, path, number)
    return raw


def _check_part(raw: RawHeader, path: Path, number: int) -> None:
    if raw.metadata.get("split.no") != number:
        raise ModelLoadError(Told("file-part-other", file=path.name))
