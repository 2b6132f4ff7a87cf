"""The parts of a layer that are no products: in plain torch, which is the reference, and by kernels on CUDA.

`Decoder` is given one of them at load. On the engine's thread.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.rope import turn

Norms = tuple[Tensor, Tensor]       # weights, of q and of k


def fits_kernels(config: DecoderConfig) -> bool:
    """Whether its arithmetic is that of the kernels; all else runs in plain torch, launched piece by piece."""
    return (
        not config.norms_outputs and not config.norm_adds_one and config.activation == "silu"
        and config.residual_scale == 1.0 and config.head_dim in (64, 128, 256)
    )


class Operations(Protocol):
    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        """Root mean square, Zhang and Sennrich 2019, over the last dimension."""

    def gated(self, gate_up: Tensor) -> Tensor:
        """[tokens, 2 * size] to the activation of the first half times the second."""

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        """`qkv` [tokens, (heads + 2 kv_heads) * head_dim]; queries come back, [tokens, heads, head_dim], turned, and
        keys and values are in the cache. `rotary` is of all positions.
        """


class PlainOperations:
    def __init__(self, config: DecoderConfig) -> None:
        self._config = config

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        full = x.float()
        normed = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + self._config.norm_eps)
        if self._config.norm_adds_one:
            return (normed * weight).to(x.dtype)
        return weight * normed.to(x.dtype)

    def gated(self, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        activated = F.silu(gate) if self._config.activation == "silu" else F.gelu(gate, approximate="tanh")
        return activated * up

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        config = self._config
        heads, kv_heads = config.num_heads, config.num_kv_heads
        queries, keys, values = qkv.view(len(qkv), -1, config.head_dim).split((heads, kv_heads, kv_heads), dim=1)
        if norms is not None:
            queries, keys = self.norm(queries, norms[0]), self.norm(keys, norms[1])
        cos, sin = rotary[0][positions], rotary[1][positions]
        kv.write(layer, blocks, positions, turn(keys, cos, sin), values)
        return turn(queries, cos, sin)


class CudaOperations(PlainOperations):
    """Where `fits_kernels`."""

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self._config.norm_eps)

    def gated(self, gate_up: Tensor) -> Tensor:
        from engine.backends.torch.kernels import silu_mul  # noqa: PLC0415 - Triton is CUDA's

        out = gate_up.new_empty(len(gate_up), gate_up.shape[-1] // 2)
        silu_mul(gate_up, out)
        return out

    def rotate_and_write(
        self, qkv: Tensor, kv: PagedKv, layer: int, blocks: Tensor, positions: Tensor, rotary: tuple[Tensor, Tensor],
        norms: Norms | None,
    ) -> Tensor:
        from engine.backends.torch.kernels import rotate_and_write  # noqa: PLC0415 - as above

        config = self._config
        rotate_and_write(
            qkv, kv.layers[layer], blocks, positions, rotary, norms, num_heads=config.num_heads, eps=config.norm_eps
        )
        return qkv.view(len(qkv), -1, config.head_dim)[:, : config.num_heads]
