"""Weights from safetensors, straight to the device, one tensor at a time: a file is mapped, never read whole.

Names are those of transformers. Products that read the same numbers are joined: q, k and v; gate and up. Matrices of
layers are quantised on the device as they come, where that was asked for. At load, on the engine's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.backends.torch.checkpoint_format import CheckpointFormat
from engine.backends.torch.checkpoints import TENSORS, read_matrix
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.folder import weight_files
from engine.backends.torch.quantised import Matrix, Quantised, joined, quantise
from engine.errors import ModelLoadError
from engine.told import Told

# Where the text model's tensors hang in files that hold more than it.
_PREFIXES: Final = ("model.", "language_model.model.", "model.language_model.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWeights:
    """Matrices are [out, in], as on disk. A bias or a norm that the family does not have is None."""

    input_norm: Tensor
    qkv: Matrix                     # q's rows, then k's, then v's
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Matrix
    out_bias: Tensor | None
    attention_norm: Tensor | None   # of attention's result, where results are normed
    block_norm: Tensor              # before gate and up
    gate_up: Matrix                 # gate's rows, then up's
    gate_up_bias: Tensor | None
    down: Matrix
    down_bias: Tensor | None
    output_norm: Tensor | None      # of the block's result, where results are normed


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    embedding: Tensor               # [vocab, hidden]
    layers: tuple[LayerWeights, ...]
    final_norm: Tensor
    head: Tensor                    # [vocab, hidden]; the embedding itself, where they are tied

    @property
    def num_bytes(self) -> int:
        parts: list[Matrix] = [self.embedding, self.final_norm]
        for layer in self.layers:
            parts += [part for name in layer.__slots__ if isinstance(part := getattr(layer, name), Tensor | Quantised)]
        if self.head is not self.embedding:
            parts.append(self.head)
        return sum(part.nbytes if isinstance(part, Tensor) else part.num_bytes for part in parts)


def read_weights(
    folder: Path, config: DecoderConfig, dtype: torch.dtype, device: torch.device,
    weight_format: str | None = None, on_share: Callable[[float], None] = lambda share: None,
) -> Weights:
    """In a `weight_format` of quantised.py, or as they are on disk. `on_share` gets the share that is loaded.

    Raises ModelLoadError where a tensor is missing or misshapen.
    """
    with ExitStack() as stack:
        files = [_SafetensorsFile(stack.enter_context(_opened(path))) for path in weight_files(folder)]
        return weights_from(
            files, config, dtype, device, name=folder.name, weight_format=weight_format, on_share=on_share
        )


class TensorFile(Protocol):
    def names(self) -> Iterable[str]: ...
    def shape(self, name: str) -> tuple[int, ...]: ...
    def read(self, name: str) -> Tensor: ...            # on any device, in any type


def weights_from(
    files: Iterable[TensorFile], config: DecoderConfig, dtype: torch.dtype, device: torch.device, *, name: str,
    weight_format: str | None = None, on_share: Callable[[float], None] = lambda share: None,
) -> Weights:
    """As `read_weights`, from files that are open. `name`: of the model, as people are told it."""
    shelf = _Shelf(name, dtype, device, config.checkpoint, weight_format)
    for file in files:
        shelf.add(file)
    embedding = shelf.take("embed_tokens.weight", (config.vocab_size, config.hidden_size))
    layers = []
    for index in range(config.num_layers):
        layers.append(_layer(shelf, config, f"layers.{index}."))
        on_share((index + 1) / config.num_layers)
    tied = config.ties_embeddings or not shelf.has("lm_head.weight")
    return Weights(
        embedding=embedding,
        layers=tuple(layers),
        final_norm=_norm(shelf, config, "norm.weight"),
        head=embedding if tied else shelf.take("lm_head.weight", (config.vocab_size, config.hidden_size)),
    )


class _SafetensorsFile:
    def __init__(self, file: Any) -> None:
        self._file = file

    def names(self) -> Iterable[str]:
        names: list[str] = self._file.keys()
        return names

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._file.get_slice(name).get_shape())

    def read(self, name: str) -> Tensor:
        tensor: Tensor = self._file.get_tensor(name)
        return tensor


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt", device="cpu")
    except (SafetensorError, OSError) as error:
        raise ModelLoadError(Told("safetensors-cut-off", file=path.name, detail=str(error))) from error


class _Shelf:
    """All tensors of all files, by their name below the text model's root."""

    def __init__(
        self, name: str, dtype: torch.dtype, device: torch.device, checkpoint: CheckpointFormat | None,
        weight_format: str | None,
    ) -> None:
        self._name = name
        self._dtype = dtype
        self._device = device
        self._checkpoint = checkpoint
        self._weight_format = weight_format
        self._files: dict[str, tuple[TensorFile, str]] = {}     # (file, its name there)

    def add(self, file: TensorFile) -> None:
        for full_name in file.names():
            prefix = next((prefix for prefix in reversed(_PREFIXES) if full_name.startswith(prefix)), "")
            self._files[full_name[len(prefix):]] = (file, full_name)

    def has(self, name: str) -> bool:
        return name in self._files

    def take(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if name not in self._files:
            raise ModelLoadError(Told("folder-tensor-missing", folder=self._name, tensor=name))
        file, full_name = self._files[name]
        found = file.shape(full_name)
        if found != shape:
            raise self._other_shape(name, found, shape)
        return file.read(full_name).to(self._device, self._dtype)

    def _other_shape(self, name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> ModelLoadError:
        told = Told(
            "folder-tensor-shape", tensor=name, folder=self._name, shape=str(shape), wanted=str(wanted)
        )
        return ModelLoadError(told)

    def take_optional(self, name: str, shape: tuple[int, ...]) -> Tensor | None:
        return self.take(name, shape) if self.has(name) else None

    def joined(self, whole: str, parts: tuple[str, ...], sizes: tuple[int, ...], end: str, *rest: int) -> Tensor | None:
        """One tensor of several, or the one that a family keeps joined already. None where there is neither."""
        if self.has(whole + end):
            return self.take(whole + end, (sum(sizes), *rest))
        pieces = [self.take_optional(part + end, (size, *rest)) for part, size in zip(parts, sizes, strict=True)]
        if all(piece is None for piece in pieces):
            return None
        if missing := [part for part, piece in zip(parts, pieces, strict=True) if piece is None]:
            raise ModelLoadError(Told("folder-tensor-missing", folder=self._name, tensor=missing[0] + end))
        return torch.cat([piece for piece in pieces if piece is not None])

    def matrix(self, whole: str, parts: tuple[str, ...], sizes: tuple[int, ...], columns: int) -> Matrix:
        """As `joined`, of weights, in the form that was asked for. Without `parts` there must be the whole."""
        if not parts or any(self.has(whole + end) for end in (".weight", TENSORS[0])):
            made = self._matrix(whole, sum(sizes), columns)
        else:
            made = joined([self._matrix(part, size, columns) for part, size in zip(parts, sizes, strict=True)])
        if self._weight_format is not None and isinstance(made, Tensor):
            return quantise(made, self._weight_format)
        return made

    def _matrix(self, name: str, rows: int, columns: int) -> Matrix:
        if self._checkpoint is None or self.has(f"{name}.weight"):
            return self.take(f"{name}.weight", (rows, columns))
        try:
            matrix = read_matrix(lambda end: self._as_it_is(name + end), self._checkpoint, self._dtype)
        except ValueError as error:
            raise ModelLoadError(
                Told("folder-tensor-unreadable", tensor=name, folder=self._name, detail=str(error))
            ) from error
        if tuple(matrix.shape) != (rows, columns):
            raise self._other_shape(name, tuple(matrix.shape), (rows, columns))
        return matrix

    def _as_it_is(self, name: str) -> Tensor | None:
        if name not in self._files:
            return None
        file, full_name = self._files[name]
        return file.read(full_name).to(self._device)


def _layer(shelf: _Shelf, config: DecoderConfig, root: str) -> LayerWeights:
    hidden, inner = config.hidden_size, config.intermediate_size
    q_size, kv_size = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    attention, block = f"{root}self_attn.", f"{root}mlp."
    qkv_parts = tuple(f"{attention}{name}_proj" for name in "qkv"), (q_size, kv_size, kv_size)
    gate_parts = (f"{block}gate_proj", f"{block}up_proj"), (inner, inner)
    normed = config.norms_outputs
    return LayerWeights(
        input_norm=_norm(shelf, config, f"{root}input_layernorm.weight"),
        qkv=shelf.matrix(f"{attention}qkv_proj", *qkv_parts, hidden),
        qkv_bias=shelf.joined(f"{attention}qkv_proj", *qkv_parts, ".bias"),
        q_norm=_head_norm(shelf, config, f"{attention}q_norm.weight"),
        k_norm=_head_norm(shelf, config, f"{attention}k_norm.weight"),
        out=shelf.matrix(f"{attention}o_proj", (), (hidden,), q_size),
        out_bias=shelf.take_optional(f"{attention}o_proj.bias", (hidden,)),
        attention_norm=_norm(shelf, config, f"{root}post_attention_layernorm.weight") if normed else None,
        block_norm=_norm(
            shelf, config, f"{root}{'pre_feedforward_layernorm' if normed else 'post_attention_layernorm'}.weight"
        ),
        gate_up=shelf.matrix(f"{block}gate_up_proj", *gate_parts, hidden),
        gate_up_bias=shelf.joined(f"{block}gate_up_proj", *gate_parts, ".bias"),
        down=shelf.matrix(f"{block}down_proj", (), (hidden,), inner),
        down_bias=shelf.take_optional(f"{block}down_proj.bias", (hidden,)),
        output_norm=_norm(shelf, config, f"{root}post_feedforward_layernorm.weight") if normed else None,
    )


def _norm(shelf: _Shelf, config: DecoderConfig, name: str, size: int | None = None) -> Tensor:
    weight = shelf.take(name, (size or config.hidden_size,))
    return (weight.float() + 1.0) if config.norm_adds_one else weight       # in full: a half would lose the one's tail


def _head_norm(shelf: _Shelf, config: DecoderConfig, name: str) -> Tensor | None:
    return _norm(shelf, config, name, config.head_dim) if config.norms_heads else None
