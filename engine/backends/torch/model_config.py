"""What is known of every model in safetensors, whichever decoder runs it, and how its JSON is read. Any thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.errors import ModelLoadError
from engine.small_file import read_small
from engine.told import Told

MAX_CONFIG_BYTES: Final = 4 << 20
BLOCK_SIZE: Final = 32              # tokens: with fewer, Python takes longer to name and count a long prompt's blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    family: str                         # as its files name it: "qwen3"
    hidden_size: int
    intermediate_size: int              # of all that one token goes through in a layer
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    context_length: int
    dtype: str = "bfloat16"             # of the weights on disk
    eos_token_ids: tuple[int, ...] = ()
    num_experts_per_token: int = 0      # for each of which a token's numbers are gathered; 0: it is no mixture

    @property
    def step_values_per_token(self) -> int:
        """Numbers that a step holds for each of its tokens, in one layer at a time. An upper bound."""
        heads, copies = 2 * self.num_heads + 2 * self.num_kv_heads, 4 + 3 * self.num_experts_per_token
        return heads * self.head_dim + 3 * self.intermediate_size + copies * self.hidden_size

    @property
    def kv_values_per_token(self) -> int:
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim


def check_sizes(config: ModelConfig, folder: Path) -> None:
    """Raises ModelLoadError where they are none of a model."""
    wrong = [
        name for name in ("hidden_size", "intermediate_size", "num_heads", "num_kv_heads", "head_dim", "vocab_size")
        if not 0 < getattr(config, name) <= 1 << 20
    ]
    if not wrong and config.num_heads % config.num_kv_heads:
        wrong = ["num_key_value_heads"]
    if wrong:
        raise ModelLoadError(Told("folder-config-wrong", folder=folder.name, detail=", ".join(wrong)))


def eos_token_ids(folder: Path, raw: Mapping[str, Any]) -> tuple[int, ...]:
    path = folder / "generation_config.json"
    generation = read_json(path) if path.is_file() else {}
    ids = generation.get("eos_token_id", raw.get("eos_token_id"))
    ids = ids if isinstance(ids, list) else [ids]
    return tuple(token_id for token_id in ids if isinstance(token_id, int))


def read_json(path: Path) -> dict[str, Any]:
    """Raises ModelLoadError where it holds no settings."""
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ModelLoadError(Told("folder-file-large", file=path.name, folder=path.parent.name))
        content = json.loads(read_small(path, MAX_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelLoadError(
            Told("folder-file-unreadable", file=path.name, folder=path.parent.name, detail=str(error))
        ) from error
    if not isinstance(content, dict):
        raise ModelLoadError(Told("folder-file-empty", file=path.name, folder=path.parent.name))
    return content
