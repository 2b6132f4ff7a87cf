"""Keys and values of all sequences, in blocks of 32 tokens: a block id is an address, shared blocks lie there once.

[num_blocks, kv_heads, 2, 32, head_dim] a layer, so that a block's keys and values of one head are one piece of memory.
With `quantises` they are int8, with one scale for a token's key, and one for its value, of each head: a token is
written once, whoever comes after it in its block. On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from engine.backends.torch.model_config import BLOCK_SIZE, ModelConfig

LEAST_SCALE: Final = 2.0 ** -23         # that 16 bits tell from 0


class PagedKv:
    def __init__(
        self, config: ModelConfig, num_blocks: int, dtype: torch.dtype, device: torch.device, *, quantises: bool = False
    ) -> None:
        """`dtype`: of what is written and read."""
        shape = (num_blocks, config.num_kv_heads, 2, BLOCK_SIZE, config.head_dim)
        kept, layers = torch.int8 if quantises else dtype, range(config.num_layers)
        self.layers = [torch.zeros(shape, dtype=kept, device=device) for _ in layers]
        self._scales = [torch.zeros(shape[:-1], dtype=torch.float16, device=device) for _ in layers if quantises]
        self._dtype = dtype
        self.num_blocks = num_blocks

    @property
    def num_bytes(self) -> int:
        return sum(part.nbytes for part in (*self.layers, *self._scales))

    def scales(self, layer: int) -> Tensor | None:
        """float16 [num_blocks, kv_heads, 2, 32], by which its numbers are multiplied. None: they are what they say."""
        return self._scales[layer] if self._scales else None

    def write(self, layer: int, blocks: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """One token each: `blocks` and `positions` int64 [tokens], `keys` and `values` [tokens, kv_heads, head_dim]."""
        cells, scales, offsets = self.layers[layer], self.scales(layer), positions % BLOCK_SIZE
        for part, numbers in enumerate((keys, values)):
            if scales is None:
                cells[blocks, :, part, offsets] = numbers
            else:
                cells[blocks, :, part, offsets], scales[blocks, :, part, offsets] = quantise_heads(numbers)

    def read(self, layer: int, table: Tensor, num_tokens: int) -> tuple[Tensor, Tensor]:
        """(keys, values), each [kv_heads, num_tokens, head_dim], of a sequence whose blocks `table` names in order."""
        keys, values = self.read_all(layer, table[None])
        return keys[0, :, :num_tokens], values[0, :, :num_tokens]

    def read_all(self, layer: int, tables: Tensor) -> tuple[Tensor, Tensor]:
        """As `read`, of several sequences, `tables` [rows, blocks]: each [rows, kv_heads, blocks * 32, head_dim]."""
        pieces, scales = self.layers[layer][tables], self.scales(layer)
        if scales is not None:
            pieces = (pieces * scales[tables][..., None].float()).to(self._dtype)
        pieces = pieces.permute(3, 0, 2, 1, 4, 5)                   # [2, rows, kv_heads, blocks, 32, head_dim]
        keys, values = pieces.reshape(2, len(tables), pieces.shape[2], -1, pieces.shape[-1])
        return keys, values

    def copy_beginnings(self, copies: Sequence[tuple[int, int, int]]) -> None:
        """(from, to, num_tokens) of each: the first tokens of a block that is another's go to one's own."""
        for source, target, num_tokens in copies:
            for cells in (*self.layers, *self._scales):
                cells[target, :, :, :num_tokens] = cells[source, :, :, :num_tokens]


def quantise_heads(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """[..., head_dim] to int8, and the scales, float16 [...]."""
    full = numbers.float()
    scales = (full.abs().amax(dim=-1) / 127).clamp(min=LEAST_SCALE).half()
    return (full / scales[..., None].float()).round().clamp(-127, 127).to(torch.int8), scales
