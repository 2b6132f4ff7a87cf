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
from engine.told import Told

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
            raise scale_refused(self.path, str(self.scale))


def scale_refused(path: Path, scale: str) -> ModelLoadError:
    """Of what somebody wrote as the scale of the adapter at `path`."""
    return ModelLoadError(Told(
        "adapter-scale", file=path.name, scale=scale, low=f"{-MAX_SCALE:g}", high=f"{MAX_SCALE:g}"
    ))


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
        raise ModelLoadError(Told("adapter-missing", path=str(path)))
    raw = read_raw_header(path)
    facts = Facts(path.name, raw.metadata)
    if facts.text("general.type") != "adapter":
        raise ModelLoadError(Told("adapter-none", file=path.name))
    if (kind := facts.text("adapter.type")) != "lora":
        raise ModelLoadError(Told("adapter-kind", file=path.name, kind=repr(kind[:40])))
    if "adapter.alora.invocation_tokens" in raw.metadata:
        raise ModelLoadError(Told("adapter-alora", file=path.name))
    alpha = raw.metadata.get("adapter.lora.alpha", 0.0)
    if not isinstance(alpha, float) or not math.isfinite(alpha):
        raise ModelLoadError(Told("adapter-alpha", file=path.name))
    if not raw.tensors:
        raise ModelLoadError(Told("adapter-empty", file=path.name))
    return AdapterHeader(path=path, architecture=facts.text("general.architecture"), tensors=raw.tensors)


def check_fits(adapter: AdapterHeader, base: GgufHeader) -> None:
    """Each pair of matrices must stand beside a weight of the base, and multiply to its shape."""
    name = adapter.path.name
    if adapter.architecture != base.architecture:
        raise ModelLoadError(Told(
            "adapter-architecture", file=name, kind=repr(adapter.architecture[:40]), base=base.path.name,
            other=repr(base.architecture),
        ))
    weights = {tensor.name: tensor for tensor in base.tensors}
    factors = {tensor.name: tensor for tensor in adapter.tensors}
    for tensor in adapter.tensors:
        if tensor.name.endswith((_A, _B)):
            weight_name = tensor.name[:-len(_A)]
        elif tensor.name.endswith(_NORM):
            continue
        else:
            raise ModelLoadError(Told("adapter-part", file=name, tensor=repr(tensor.name)))
        if tensor.type.name in _NO_FACTOR:
            raise ModelLoadError(Told("adapter-type", file=name, tensor=repr(tensor.name), kind=tensor.type.name))
        _check_pair(name, weight_name, factors, weights, base)


def _check_pair(
    name: str, weight_name: str, factors: Mapping[str, TensorInfo], weights: Mapping[str, TensorInfo], base: GgufHeader
) -> None:
    a, b = factors.get(weight_name + _A), factors.get(weight_name + _B)
    if a is None or b is None:
        raise ModelLoadError(Told("adapter-half", file=name, tensor=repr(weight_name)))
    weight = weights.get(weight_name)
    if weight is None or not _multiply(a, b, weight):
        raise ModelLoadError(Told("adapter-unfit", file=name, base=base.path.name, tensor=repr(weight_name)))


def _multiply(a: TensorInfo, b: TensorInfo, weight: TensorInfo) -> bool:
    """Shapes count the numbers of a row first. That of the token embedding is kept with its factors the other way."""
    a_shape, b_shape, shape = (_matrix(tensor.shape) for tensor in (a, b, weight))
    if weight.name == "token_embd.weight":
        return (shape[0], shape[1]) == (b_shape[1], a_shape[1]) and a_shape[0] == b_shape[0]
    return (shape[0], shape[1], a_shape[1]) == (a_shape[0], b_shape[1], b_shape[0]) and a_shape[2] == b_shape[2]


def _matrix(shape: tuple[int, ...]) -> tuple[int, int, int]:
    width, height, experts = (*shape, 1, 1)[:3]
    return width, height, experts
