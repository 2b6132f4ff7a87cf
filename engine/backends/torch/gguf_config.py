"""A GGUF as `Decoder` would run it: its header read into the same description as a folder's `config.json`. Any thread,
without torch.

Kinds and number formats that are not listed here stay with llama.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from engine.backends.torch.config import Attention, DecoderConfig, Rope
from engine.backends.torch.folder import ModelFolder
from engine.gguf import GgufHeader
from engine.gguf_reader import TensorInfo, read_raw_header

READABLE: Final = frozenset(
    {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}
)
TURNED: Final = frozenset({"llama", "granite"})     # whose pairs of turning dimensions lie next to each other there
_KINDS: Final = TURNED | {"qwen2", "qwen3"}
_ROPE_FACTORS: Final = "rope_freqs.weight"
_ITEM_BYTES: Final = 2                              # of the type that weights are loaded as


def read_gguf(header: GgufHeader) -> ModelFolder:
    """Raises ValueError, with what it is, where it does not run here."""
    if header.architecture not in _KINDS:
        raise ValueError(f"the kind {header.architecture}")
    facts = _Facts(header.metadata, header.architecture)
    if facts.number("expert_count"):
        raise ValueError("experts")
    tensors = {tensor.name: tensor for tensor in header.tensors}
    if strange := {tensor.type.name for tensor in tensors.values()} - READABLE:
        raise ValueError(f"numbers in {', '.join(sorted(strange))}")
    if "token_embd.weight" not in tensors:
        raise ValueError("no embedding")
    config = _config(header, facts, tensors)
    stats = [path.stat() for path in header.part_paths]
    return ModelFolder(
        path=header.path, config=config, files=header.part_paths,
        size_bytes=_ITEM_BYTES * sum(_num_values(tensor) for tensor in tensors.values()),
        modified_ns=max(each.st_mtime_ns for each in stats), quantisation=header.quantisation,
    )


class _Facts:
    """The header's values of one kind of model."""

    def __init__(self, metadata: Mapping[str, object], architecture: str) -> None:
        self._metadata = metadata
        self._architecture = architecture

    def number(self, key: str, default: float = 0) -> float:
        value = self._metadata.get(f"{self._architecture}.{key}", default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key} that is no number")
        return value

    def text(self, key: str) -> str:
        return str(self._metadata.get(f"{self._architecture}.{key}", ""))


def _config(header: GgufHeader, facts: _Facts, tensors: Mapping[str, TensorInfo]) -> DecoderConfig:
    num_heads = int(facts.number("attention.head_count"))
    head_dim, value_dim = header.head_widths
    if not num_heads or head_dim != value_dim or not header.feed_forward_length:
        raise ValueError("layers that differ")
    config = DecoderConfig(
        family=header.architecture,
        hidden_size=header.embedding_length,
        intermediate_size=header.feed_forward_length,
        num_layers=header.block_count,
        num_heads=num_heads,
        num_kv_heads=int(facts.number("attention.head_count_kv", num_heads)),
        head_dim=head_dim,
        vocab_size=tensors["token_embd.weight"].shape[1],
        context_length=header.context_length,
        norm_eps=facts.number("attention.layer_norm_rms_epsilon", 1e-5),
        layers=(Attention(rope=_rope(header, facts, head_dim)),) * header.block_count,
        ties_embeddings="output.weight" not in tensors,
        norms_heads=header.architecture == "qwen3",
    )
    if header.architecture != "granite":
        return config
    return replace(
        config,
        embedding_scale=facts.number("embedding_scale", 1.0),
        residual_scale=facts.number("residual_scale", 1.0),
        attention_scale=facts.number("attention.scale") or None,
        logits_divisor=facts.number("logit_scale", 1.0),
    )


def _rope(header: GgufHeader, facts: _Facts, head_dim: int) -> Rope:
    kind, theta = facts.text("rope.scaling.type"), facts.number("rope.freq_base", 10_000.0)
    if int(facts.number("rope.dimension_count", head_dim)) != head_dim:
        raise ValueError("heads that turn in part")
    if factors := _rope_factors(header):
        return Rope(theta=theta, kind="factors", scaling={"factors": factors})
    if kind in ("", "none"):
        return Rope(theta=theta)
    if kind != "linear":
        raise ValueError(f"rotation of the kind {kind}")
    return Rope(theta=theta, kind="linear", scaling={"factor": facts.number("rope.scaling.factor", 1.0)})


def _rope_factors(header: GgufHeader) -> tuple[float, ...]:
    """By which each frequency is divided: Llama 3's scaling, worked out."""
    for path in header.part_paths:
        for tensor in read_raw_header(path).tensors:
            if tensor.name == _ROPE_FACTORS:
                if tensor.type.name != "F32" or _num_values(tensor) != header.head_widths[0] // 2:
                    raise ValueError("rotation of another size")
                with path.open("rb") as file:
                    file.seek(tensor.start)
                    return struct.unpack(f"<{_num_values(tensor)}f", file.read(tensor.num_bytes))
    return ()


def _num_values(tensor: TensorInfo) -> int:
    return tensor.num_bytes // tensor.type.block_bytes * tensor.type.block_elements
