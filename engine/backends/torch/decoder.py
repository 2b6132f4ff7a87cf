"""The one decoder of all dense families, in plain torch: tokens of many sequences in, logits out. Engine's thread.

The reference that kernels are compared with, and what runs where there are none. Arithmetic follows transformers: norms
and rotations in float32, products in the weights' type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.attention import Span, attend_paged
from engine.backends.torch.config import DecoderConfig, Rope
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.rope import rotary_tables, turn
from engine.backends.torch.weights import LayerWeights, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatStep:
    """The rows of a step behind one another. Tensors are int64 [tokens], on the device."""

    token_ids: Tensor
    positions: Tensor
    blocks: Tensor                  # where each token's KV goes
    offsets: Tensor
    spans: Sequence[Span]           # of each row, in order
    wanted: Tensor                  # indices of the tokens after which logits are wanted


class Decoder:
    def __init__(self, config: DecoderConfig, weights: Weights, *, max_model_len: int) -> None:
        self.config = config
        self.weights = weights
        device = weights.embedding.device
        ropes = {repr(layer.rope): layer.rope for layer in config.layers}
        self._tables = {key: self._rotary(rope, max_model_len, device) for key, rope in ropes.items()}
        self.scale = config.attention_scale or config.head_dim ** -0.5

    def rotary(self, layer: int) -> tuple[Tensor, Tensor]:
        """(cos, sin) of that layer, for all positions."""
        return self._tables[repr(self.config.layers[layer].rope)]

    def forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None] = lambda: None) -> Tensor:
        """float32 logits [wanted, vocab]. `check` is called between layers: it may raise, to end the step there."""
        with torch.inference_mode():
            return self._forward(step, kv, check)

    def _forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None]) -> Tensor:
        config, weights = self.config, self.weights
        hidden = F.embedding(step.token_ids, weights.embedding)
        if config.embedding_scale != 1.0:
            hidden = hidden * torch.tensor(config.embedding_scale, dtype=hidden.dtype)
        turns = {key: (cos[step.positions], sin[step.positions]) for key, (cos, sin) in self._tables.items()}
        for index, layer in enumerate(weights.layers):
            check()
            cos, sin = turns[repr(config.layers[index].rope)]
            hidden = self._layer(index, layer, hidden, cos, sin, step, kv)
        hidden = self._norm(hidden[step.wanted], weights.final_norm)
        logits = F.linear(hidden, weights.head).float() / config.logits_divisor
        if config.final_softcap:
            logits = torch.tanh(logits / config.final_softcap) * config.final_softcap
        return logits

    def _layer(
        self, index: int, layer: LayerWeights, hidden: Tensor, cos: Tensor, sin: Tensor, step: FlatStep, kv: PagedKv
    ) -> Tensor:
        scale = self.config.residual_scale
        mixed = self._attention(index, layer, self._norm(hidden, layer.input_norm), cos, sin, step, kv)
        if layer.attention_norm is not None:
            mixed = self._norm(mixed, layer.attention_norm)
        hidden = hidden + (mixed if scale == 1.0 else mixed * scale)
        gate, up = F.linear(self._norm(hidden, layer.block_norm), layer.gate_up, layer.gate_up_bias).chunk(2, dim=-1)
        activated = F.silu(gate) if self.config.activation == "silu" else F.gelu(gate, approximate="tanh")
        result = F.linear(activated * up, layer.down, layer.down_bias)
        if layer.output_norm is not None:
            result = self._norm(result, layer.output_norm)
        return hidden + (result if scale == 1.0 else result * scale)

    def _attention(
        self, index: int, layer: LayerWeights, hidden: Tensor, cos: Tensor, sin: Tensor, step: FlatStep, kv: PagedKv
    ) -> Tensor:
        config = self.config
        num_tokens, heads, kv_heads = hidden.shape[0], config.num_heads, config.num_kv_heads
        qkv = F.linear(hidden, layer.qkv, layer.qkv_bias).view(num_tokens, heads + 2 * kv_heads, config.head_dim)
        queries, keys, values = qkv.split((heads, kv_heads, kv_heads), dim=1)
        if layer.q_norm is not None and layer.k_norm is not None:
            queries, keys = self._norm(queries, layer.q_norm), self._norm(keys, layer.k_norm)
        queries, keys = turn(queries, cos, sin), turn(keys, cos, sin)
        kv.write(index, step.blocks, step.offsets, keys, values)
        mixed = attend_paged(
            queries, kv, index, step.spans, window=config.layers[index].window, scale=self.scale,
            softcap=config.attention_softcap,
        )
        return F.linear(mixed.reshape(num_tokens, heads * config.head_dim), layer.out, layer.out_bias)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        """Root mean square, Zhang and Sennrich 2019."""
        full = x.float()
        normed = full * torch.rsqrt(full.pow(2).mean(-1, keepdim=True) + self.config.norm_eps)
        if self.config.norm_adds_one:
            return (normed * weight).to(x.dtype)
        return weight * normed.to(x.dtype)

    def _rotary(self, rope: Rope, num_positions: int, device: torch.device) -> tuple[Tensor, Tensor]:
        return rotary_tables(rope, self.config.head_dim, num_positions, device)
