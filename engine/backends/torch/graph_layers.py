"""All layers for a step of single tokens, from token ids to the likeliest next ones: what one CUDA graph holds.

Nothing here may wait for the processor, and all buffers are fixed. Few rows of a model in plain weights take kernels
that join each product with its norm, gate or residual; all else goes piece by piece. On the engine's thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.backends.torch.decoder import Decoder
from engine.backends.torch.device_sampler import DeviceSampler
from engine.backends.torch.few_rows import MOST_ROWS, FewRowProducts, Residual
from engine.backends.torch.kernels import Card, add_norm, enter, linear, rotate_and_write, silu_mul
from engine.backends.torch.likeliest_kernel import Likeliest
from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_attention import PagedAttention, Turning
from engine.backends.torch.paged_kv import PagedKv
from engine.backends.torch.quantised_kernels import product
from engine.backends.torch.weights import Weights


@dataclass(frozen=True, slots=True)
class _Rows:
    """int32 [rows]. Where `are_each_anothers`, no two are of one sequence."""

    positions: Tensor
    slots: Tensor
    are_each_anothers: bool


class GraphLayers:
    def __init__(
        self, decoder: Decoder, kv: PagedKv, tables: Tensor, sampler: DeviceSampler, *, max_rows: int
    ) -> None:
        config, weights = decoder.config, decoder.weights
        dtype, device = weights.embedding.dtype, weights.embedding.device
        self._decoder = decoder
        self._kv = kv
        self._tables = tables           # int32 [slots, blocks]

        def buffer(size: int) -> Tensor:
            return torch.empty(max_rows, size, dtype=dtype, device=device)

        kv_heads, head_dim = config.num_kv_heads, config.head_dim
        self._hidden, self._normed = buffer(config.hidden_size), buffer(config.hidden_size)
        self._qkv = buffer((config.num_heads + 2 * kv_heads) * head_dim)
        self._mixed, self._activated = buffer(config.num_heads * head_dim), buffer(config.intermediate_size)
        self.logits = torch.empty(max_rows, config.vocab_size, dtype=torch.float32, device=device)
        self.chosen, self.said = (torch.zeros(max_rows, dtype=torch.int64, device=device) for _ in range(2))
        self._sampler = sampler
        self._find_best = Likeliest(max_rows, config.vocab_size, device)
        card = Card.of(device)
        self._attend = PagedAttention(config.num_heads, kv_heads, head_dim, card, device)
        is_plain = _is_plain(weights)
        self._few = FewRowProducts(config.hidden_size, config.norm_eps, card, device) if is_plain else None
        self._residual = Residual.empty(config.hidden_size, dtype, device) if is_plain else None

    def step(self, inputs: Tensor, draws: Tensor | None, *, are_each_anothers: bool) -> None:
        """`inputs` int32 [3, rows]: tokens, or -1 - i for what the last step chose for its row i; positions; slots.
        Then `logits` float32 [rows, vocab] are those behind each, and `chosen` int64 [rows] the likeliest tokens; with
        `draws` those that are drawn, and `said` which of these are certain: see `DeviceSampler`.
        """
        tokens, positions, slots = inputs
        config, logits = self._decoder.config, self.logits[: len(tokens)]
        rows = _Rows(positions, slots, are_each_anothers)
        if self._few is not None and self._residual is not None and len(tokens) <= MOST_ROWS:
            self._joined(tokens, rows, logits, self._few, self._residual.first(len(tokens)))
        else:
            self._piece_by_piece(tokens, rows, logits)
        if config.logits_divisor != 1.0:
            logits.div_(config.logits_divisor)
        if config.final_softcap:
            logits.div_(config.final_softcap).tanh_().mul_(config.final_softcap)
        if draws is None:
            self._find_best(logits, self.chosen)
        else:
            self._sampler(logits, draws, self.chosen, self.said)

    def _joined(
        self, tokens: Tensor, rows: _Rows, logits: Tensor, few: FewRowProducts, residual: Residual
    ) -> None:
        config, weights, layers = self._decoder.config, self._decoder.weights, self._decoder.weights.layers
        qkv, activated = self._qkv[: len(tokens)], self._activated[: len(tokens)]
        few.enter(tokens, self.chosen, weights.embedding, config.embedding_scale, layers[0].input_norm, residual)
        next_norms = (*(layer.input_norm for layer in layers[1:]), weights.final_norm)
        for index, (layer, next_norm) in enumerate(zip(layers, next_norms, strict=True)):
            few.normed_product(residual, _plain(layer.qkv), layer.qkv_bias, qkv)
            mixed = self._attention(index, qkv, rows)
            few.add_product(mixed, _plain(layer.out), layer.out_bias, residual, layer.block_norm)
            few.gated_product(residual, _plain(layer.gate_up), layer.gate_up_bias, activated)
            few.add_product(activated, _plain(layer.down), layer.down_bias, residual, next_norm)
        few.normed_product(residual, weights.head, None, logits)

    def _piece_by_piece(self, tokens: Tensor, rows: _Rows, logits: Tensor) -> None:
        config, weights = self._decoder.config, self._decoder.weights
        hidden, normed = self._hidden[: len(tokens)], self._normed[: len(tokens)]
        activated = self._activated[: len(tokens)]
        enter(tokens, self.chosen, weights.embedding, config.embedding_scale, hidden)
        result: Tensor | None = None
        for index, layer in enumerate(weights.layers):
            add_norm(result, hidden, layer.input_norm, normed, config.norm_eps)
            mixed = self._attention(index, product(normed, layer.qkv, layer.qkv_bias), rows)
            result = product(mixed, layer.out, layer.out_bias)
            add_norm(result, hidden, layer.block_norm, normed, config.norm_eps)
            silu_mul(product(normed, layer.gate_up, layer.gate_up_bias), activated)
            result = product(activated, layer.down, layer.down_bias)
        add_norm(result, hidden, weights.final_norm, normed, config.norm_eps)
        logits.copy_(linear(normed, weights.head))

    def _attention(self, index: int, qkv: Tensor, rows: _Rows) -> Tensor:
        decoder, config, layer = self._decoder, self._decoder.config, self._decoder.weights.layers[index]
        cache, scales, mixed = self._kv.layers[index], self._kv.scales(index), self._mixed[: len(qkv)]
        norms = (layer.q_norm, layer.k_norm) if layer.q_norm is not None and layer.k_norm is not None else None
        turning: Turning | None = None
        if rows.are_each_anothers and scales is None:
            turning = Turning(rotary=decoder.rotary(index), norms=norms, eps=config.norm_eps)
        else:                           # all keys are written before any is read
            rotate_and_write(
                qkv, cache, self._tables[rows.slots, rows.positions // BLOCK_SIZE], rows.positions,
                decoder.rotary(index), norms, num_heads=config.num_heads, eps=config.norm_eps, scales=scales,
            )
        self._attend(
            qkv, cache, self._tables, rows.slots, rows.positions, mixed, scale=decoder.scale,
            softcap=config.attention_softcap, window=config.layers[index].window, scales=scales, turning=turning,
        )
        return mixed


def _is_plain(weights: Weights) -> bool:
    """No matrix is quantised, and all are of shapes that kernels take."""
    matrices = [each for layer in weights.layers for each in (layer.qkv, layer.out, layer.gate_up, layer.down)]
    return all(isinstance(each, Tensor) and FewRowProducts.fits(each) for each in (*matrices, weights.head))


def _plain(matrix: object) -> Tensor:
    assert isinstance(matrix, Tensor)
    return matrix
