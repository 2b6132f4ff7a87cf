"""Writes safetensors files: small true ones, and such as claim what they like."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Entry = tuple[str, list[int], int]      # type, shape, bytes
INDEX = "model.safetensors.index.json"


def header_of(tensors: Mapping[str, Entry], metadata: Mapping[str, str] | None = None) -> dict[str, Any]:
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    at = 0
    for name, (dtype, shape, num_bytes) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + num_bytes]}
        at += num_bytes
    return header


def content_of(header: object, data_bytes: int, *, size: int | None = None) -> bytes:
    """`header` as JSON, or bytes as they are; `size` is what the file claims for it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + b"\0" * data_bytes


def write_tiny_safetensors(path: Path, tensors: Mapping[str, Entry] | None = None) -> Path:
    tensors = {"a": ("BF16", [4, 8], 64), "b": ("F32", [2], 8)} if tensors is None else tensors
    path.write_bytes(content_of(header_of(tensors, {"format": "pt"}), sum(entry[2] for entry in tensors.values())))
    return path


def write_sharded(folder: Path, num_parts: int = 3) -> list[Path]:
    """One tensor a file, with an index and what stands beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"model-{number:05}-of-{num_parts:05}.safetensors" for number in range(1, num_parts + 1)]
    paths = [write_tiny_safetensors(folder / name, {f"t{at}": ("BF16", [8], 16)}) for at, name in enumerate(names)]
    weight_map = {f"t{at}": name for at, name in enumerate(names)}
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 16 * num_parts}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "max_position_embeddings": 40960}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "eos_token": "<|im_end|>",
        "chat_template": "{{ messages[0].content }}",
        "added_tokens_decoder": {"1": {"content": "<|im_start|>"}, "2": {"content": "<|im_end|>"}},
    }))
    return paths
