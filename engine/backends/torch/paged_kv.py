"""Keys and values of all sequences, in blocks of 16 tokens: a block id is an address, shared blocks lie there once.

[num_blocks, kv_heads, 2, 16, head_dim] a layer, so that a block's keys and values of one head are one piece of memory.
On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from engine.backends.torch.model_config import ModelConfig

BLOCK_SIZE: Final = 16


class PagedKv:
    def __init__(self, config: ModelConfig, num_blocks: int, dtype: torch.dtype, device: torch.device) -> None:
        shape = (num_blocks, config.num_kv_heads, 2, BLOCK_SIZE, config.head_dim)
        self.layers = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.num_layers)]
        self.num_blocks = num_blocks

    @property
    def num_bytes(self) -> int:
        return sum(layer.numel() * layer.element_size() for layer in self.layers)

    def write(self, layer: int, blocks: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """One token each: `blocks` and `positions` int64 [tokens], `keys` and `values` [tokens, kv_heads, head_dim]."""
        cells, offsets = self.layers[layer], positions % BLOCK_SIZE
        cells[blocks, :, 0, offsets] = keys
        cells[blocks, :, 1, offsets] = values

    def read(self, layer: int, table: Tensor, num_tokens: int) -> tuple[Tensor, Tensor]:
        """(keys, values), each [kv_heads, num_tokens, head_dim], of a sequence whose blocks `table` names in order."""
        pieces = self.layers[layer][table].permute(2, 1, 0, 3, 4)           # [2, kv_heads, blocks, 16, head_dim]
        keys, values = pieces.reshape(2, pieces.shape[1], -1, pieces.shape[-1])[:, :, :num_tokens]
        return keys, values

    def copy_beginnings(self, copies: Sequence[tuple[int, int, int]]) -> None:
        """(from, to, num_tokens) of each: the first tokens of a block that is another's go to one's own."""
        for source, target, num_tokens in copies:
            for cells in self.layers:
                cells[target, :, :, :num_tokens] = cells[source, :, :, :num_tokens]
