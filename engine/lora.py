"""LoRA adapters: a small file that adds a product of two thin matrices to each of some weights of a base model.

Its header is read by our own reader and held against the base's before any native code sees the file. Called by the
loader and by the page of models, on any thread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelLoadError
from engine.gguf import Facts, GgufHeader
from engine.gguf_reader import TensorInfo, read_raw_header

MAX_SCALE = 100.0                      # either way; useful ones are near 1

_A, _B = ".lora_a", ".lora_b"
_NORM = "_norm.weight"                 # some files hold such; llama.cpp passes over them
_NO_FACTOR = frozenset({"F64", "I8", "I16", "I32", "I64"})      # types that no kernel multiplies by


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter and how strongly it acts: 0 leaves the base as it is, 1 is what it was trained for."""

    path: Path
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.scale) or abs(self.scale) > MAX_SCALE:
            raise ModelLoadError(
                f"{self.path.name} cannot act with the scale {self.scale}. "
                f"Give a number of {-MAX_SCALE:g} to {MAX_SCALE:g}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterHeader:
    path: Path
    architecture: str
    tensors: tuple[TensorInfo, ...]


def read_adapters(adapters: Sequence[Adapter], base: GgufHeader) -> list[AdapterHeader]:
    """Headers of adapters that fit the base. Raises ModelLoadError with what is wrong, and what to do."""
    headers = [read_adapter(adapter.path) for adapter in adapters]
    for header in headers:
        check_fits(header, base)
    return headers


def read_adapter(path: Path) -> AdapterHeader:
    if not path.is_file():
        raise ModelLoadError(f"There is no adapter {path}. Put the file there, or add the model again without it.")
    raw = read_raw_header(path)
    facts = Facts(path.name, raw.metadata)
    if facts.text("general.type") != "adapter":
        raise ModelLoadError(f"{path.name} is no adapter. Choose a LoRA adapter in the GGUF format.")
    if (kind := facts.text("adapter.type")) != "lora":
        raise ModelLoadError(f"{path.name} is an adapter of the kind {kind[:40]!r}; only 'lora' can be used.")
    if "adapter.alora.invocation_tokens" in raw.metadata:
        raise ModelLoadError(
            f"{path.name} acts from certain words on (aLoRA), which this version cannot do. Take a plain LoRA."
        )
    alpha = raw.metadata.get("adapter.lora.alpha", 0.0)
    if not isinstance(alpha, float) or not math.isfinite(alpha):
        raise ModelLoadError(f"{path.name} has an adapter.lora.alpha that is no number. It is damaged: get it again.")
    if not raw.tensors:
        raise ModelLoadError(f"{path.name} holds no weights. Take another adapter.")
    return AdapterHeader(path=path, architecture=facts.text("general.architecture"), tensors=raw.tensors)


def check_fits(adapter: AdapterHeader, base: GgufHeader) -> None:
    """Each pair of matrices must stand beside a weight of the base, and multiply to its shape."""
    name = adapter.path.name
    if adapter.architecture != base.architecture:
        raise ModelLoadError(
            f"{name} is an adapter for the architecture {adapter.architecture[:40]!r}, and {base.path.name} has "
            f"{base.architecture!r}. Choose the model that it was made for."
        )
    weights = {tensor.name: tensor for tensor in base.tensors}
    factors = {tensor.name: tensor for tensor in adapter.tensors}
    for tensor in adapter.tensors:
        if tensor.name.endswith((_A, _B)):
            weight_name = tensor.name[:-len(_A)]
        elif tensor.name.endswith(_NORM):
            continue
        else:
            raise ModelLoadError(f"{name} holds {tensor.name!r}, which is no part of a LoRA adapter. Take another.")
        if tensor.type.name in _NO_FACTOR:
            raise ModelLoadError(f"{name} has {tensor.name!r} in the type {tensor.type.name}. Convert it to F16.")
        _check_pair(name, weight_name, factors, weights, base)


def _check_pair(
    name: str, weight_name: str, factors: Mapping[str, TensorInfo], weights: Mapping[str, TensorInfo], base: GgufHeader
) -> None:
    a, b = factors.get(weight_name + _A), factors.get(weight_name + _B)
    if a is None or b is None:
        raise ModelLoadError(f"{name} has one of two matrices for {weight_name!r}. It is damaged: get it again.")
    weight = weights.get(weight_name)
    if weight is None or not _multiply(a, b, weight):
        raise ModelLoadError(
            f"{name} does not fit {base.path.name}: its matrices for {weight_name!r} have no weight of that shape "
            "there. Choose the model that it was made for."
        )


def _multiply(a: TensorInfo, b: TensorInfo, weight: TensorInfo) -> bool:
    """Shapes count the numbers of a row first. That of the token embedding is kept with its factors the other way."""
    a_shape, b_shape, shape = (_matrix(tensor.shape) for tensor in (a, b, weight))
    if weight.name == "token_embd.weight":
        return (shape[0], shape[1]) == (b_shape[1], a_shape[1]) and a_shape[0] == b_shape[0]
    return (shape[0], shape[1], a_shape[1]) == (a_shape[0], b_shape[1], b_shape[0]) and a_shape[2] == b_shape[2]


def _matrix(shape: tuple[int, ...]) -> tuple[int, int, int]:
    width, height, experts = (*shape, 1, 1)[:3]
    return width, height, experts
