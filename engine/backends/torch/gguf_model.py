"""A model from a GGUF, its weights made plain on the device, a piece at a time. Names are brought to transformers', as
weights.py wants them; the vocabulary is llama.cpp's. At load, on the engine's thread.

Files are read, not mapped: of a mapped file that somebody cuts short the process dies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Final

import torch
from torch import Tensor

from engine.backends.llama_cpp.tokenizer import GgufTokenizer
from engine.backends.torch.backend import LoadedModel, TorchConfig
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.dequantise import dequantise
from engine.backends.torch.folder import ModelFolder
from engine.backends.torch.gguf_config import TURNED
from engine.backends.torch.weights import weights_from
from engine.errors import ModelLoadError
from engine.gguf_reader import TensorInfo, read_raw_header
from engine.told import Told

_VALUES_AT_ONCE: Final = 1 << 24
_NAMES: Final = {
    "token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
_LAYER: Final = re.compile(r"blk\.(\d+)\.(.+)")


def load_gguf(
    folder: ModelFolder, config: TorchConfig, on_share: Callable[[float], None] = lambda share: None
) -> LoadedModel:
    """`folder` as read_gguf describes it; `on_share` as of `load_model`. Raises ModelLoadError where a tensor is
    missing or misshapen.
    """
    described, dtype, device = folder.config, getattr(torch, config.dtype), torch.device(config.device)
    assert isinstance(described, DecoderConfig)
    files = [_GgufFile(path, described, dtype, device) for path in folder.files]
    weights = weights_from(files, described, dtype, device, name=folder.path.name, on_share=on_share)
    tokenizer = GgufTokenizer(folder.path)
    return LoadedModel(config=described, weights=weights, tokenizer=tokenizer, close=tokenizer.close)


class _GgufFile:
    def __init__(self, path: Path, config: DecoderConfig, dtype: torch.dtype, device: torch.device) -> None:
        self._path = path
        self._config = config
        self._dtype = dtype
        self._device = device
        self._tensors = {_name(tensor.name): tensor for tensor in read_raw_header(path).tensors}

    def names(self) -> Iterable[str]:
        return self._tensors

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(reversed(self._tensors[name].shape))

    def read(self, name: str) -> Tensor:
        tensor = self._tensors[name]
        try:
            with self._path.open("rb") as file:
                file.seek(tensor.start)
                plain = self._plain(file, tensor).view(self.shape(name))
        except OSError as error:
            raise ModelLoadError(
                Told("file-unreadable", path=str(self._path), detail=str(error))
            ) from error
        return self._turned_back(name, plain)

    def _plain(self, file: IO[bytes], tensor: TensorInfo) -> Tensor:
        """All of its numbers, behind one another."""
        kind = tensor.type
        num_blocks = tensor.num_bytes // kind.block_bytes
        plain = torch.empty(num_blocks * kind.block_elements, dtype=self._dtype, device=self._device)
        step = max(1, _VALUES_AT_ONCE // kind.block_elements)
        for start in range(0, num_blocks, step):
            count = min(step, num_blocks - start)
            raw = bytearray(file.read(count * kind.block_bytes))
            if len(raw) != count * kind.block_bytes:
                raise ModelLoadError(Told("file-damaged", file=self._path.name, fault="was cut short meanwhile"))
            packed = torch.frombuffer(raw, dtype=torch.uint8).view(count, -1).to(self._device)
            first = start * kind.block_elements
            plain[first : first + count * kind.block_elements] = dequantise(packed, kind.name).reshape(-1)
        return plain

    def _turned_back(self, name: str, values: Tensor) -> Tensor:
        """llama.cpp turns neighbouring dimensions of these kinds; decoder.py those half a head apart."""
        config = self._config
        part = next((part for part in ("q_proj", "k_proj") if f".{part}." in name), None)
        if part is None or config.family not in TURNED:
            return values
        heads = config.num_heads if part == "q_proj" else config.num_kv_heads
        if len(values) % (2 * heads):
            raise ModelLoadError(Told("file-damaged", file=self._path.name, fault=f"has a {name} of another size"))
        halves = values.view(heads, len(values) // heads // 2, 2, -1)
        return halves.transpose(1, 2).reshape(values.shape)


def _name(name: str) -> str:
    """As transformers has it, below the model's root; what it does not have keeps its own."""
    stem, _, end = name.rpartition(".")
    layer = _LAYER.fullmatch(stem)
    part = layer[2] if layer else stem
    known = _NAMES.get(part, part)
    return f"layers.{layer[1]}.{known}.{end}" if layer else f"{known}.{end}"
