"""The one decoder of all dense families, in plain torch: tokens of many sequences in, logits out. Engine's thread.

The reference that kernels are compared with, and what runs where there are none. Arithmetic follows transformers: norms
and rotations in float32, products in the weights' type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.attention import Prompts, Singles, Span
from engine.backends.torch.config import DecoderConfig
from engine.backends.torch.operations import Operations, PlainOperations
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.rope import rotary_tables
from engine.backends.torch.weights import LayerWeights, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatStep:
    """The rows of a step behind one another. Tensors are int64 [tokens], on the device."""

    token_ids: Tensor
    positions: Tensor
    blocks: Tensor                  # where each token's KV goes
    spans: Sequence[Span]           # of each row, in order; where kernels run, of those of several tokens
    wanted: Tensor                  # indices of the tokens after which logits are wanted
    singles: Singles | None = None  # of the rows of one token, where kernels run
    prompts: Sequence[Prompts] | None = None    # the other rows, likewise; None: they go one by one


class AnyDecoder(Protocol):
    """What runs a model's steps: `Decoder`, or `TransformersDecoder`."""

    def forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None]) -> Tensor:
        """float32 logits [wanted, vocab]. `check` is called between layers: it may raise, to end the step there."""


class Decoder:
    def __init__(
        self, config: DecoderConfig, weights: Weights, *, max_model_len: int, operations: Operations | None = None
    ) -> None:
        self.config = config
        self._operations = operations or PlainOperations(config)
        self.weights = weights
        device = weights.embedding.device
        ropes = {repr(layer.rope): layer.rope for layer in config.layers}
        self._rotary = {
            key: rotary_tables(rope, config.head_dim, max_model_len, device) for key, rope in ropes.items()
        }
        self.scale = config.attention_scale or config.head_dim ** -0.5

    def rotary(self, layer: int) -> tuple[Tensor, Tensor]:
        """(cos, sin) of that layer, for all positions."""
        return self._rotary[repr(self.config.layers[layer].rope)]

    def forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None] = lambda: None) -> Tensor:
        with torch.inference_mode():
            return self._forward(step, kv, check)

    def _forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None]) -> Tensor:
        config, weights = self.config, self.weights
        hidden = F.embedding(step.token_ids, weights.embedding)
        if config.embedding_scale != 1.0:
            hidden = hidden * torch.tensor(config.embedding_scale, dtype=hidden.dtype)
        for index, layer in enumerate(weights.layers):
            check()
            hidden = self._layer(index, layer, hidden, step, kv)
        hidden = self._operations.norm(hidden[step.wanted], weights.final_norm)
        logits = F.linear(hidden, weights.head).float() / config.logits_divisor
        if config.final_softcap:
            logits = torch.tanh(logits / config.final_softcap) * config.final_softcap
        return logits

    def _layer(self, index: int, layer: LayerWeights, hidden: Tensor, step: FlatStep, kv: PagedKv) -> Tensor:
        norm, scale = self._operations.norm, self.config.residual_scale
        mixed = self._attention(index, layer, norm(hidden, layer.input_norm), step, kv)
        if layer.attention_norm is not None:
            mixed = norm(mixed, layer.attention_norm)
        hidden = hidden + (mixed if scale == 1.0 else mixed * scale)
        product = self._operations.product
        gate_up = product(norm(hidden, layer.block_norm), layer.gate_up, layer.gate_up_bias)
        result = product(self._operations.gated(gate_up), layer.down, layer.down_bias)
        if layer.output_norm is not None:
            result = norm(result, layer.output_norm)
        return hidden + (result if scale == 1.0 else result * scale)

    def _attention(self, index: int, layer: LayerWeights, hidden: Tensor, step: FlatStep, kv: PagedKv) -> Tensor:
        config = self.config
        qkv = self._operations.product(hidden, layer.qkv, layer.qkv_bias)
        norms = (layer.q_norm, layer.k_norm) if layer.q_norm is not None and layer.k_norm is not None else None
        queries = self._operations.rotate_and_write(
            qkv, kv, index, step.blocks, step.positions, self.rotary(index), norms
        )
        mixed = self._operations.attend(
            qkv, queries, kv, index, step, scale=self.scale, softcap=config.attention_softcap,
            window=config.layers[index].window,
        )
        return self._operations.product(mixed.reshape(len(hidden), -1), layer.out, layer.out_bias)
