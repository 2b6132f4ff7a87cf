"""Steps of one token a sequence on CUDA, which most are: the whole step is one graph, launched in one call.

Prompts, and rows with proposals, take decoder.py's way. Buffers are fixed; a graph is captured for each number of rows
of `BUCKETS` when it is first needed, and missing rows are made up by ones that work in a block of nobody's. All of it
runs on the engine's thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.decoder import Decoder
from engine.backends.torch.kernels import PagedAttention, add_norm, rotate_and_write, silu_mul
from engine.backends.torch.paged_kv import BLOCK_SIZE, PagedKv
from engine.batch import BatchRow

BUCKETS: Final = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)


class GraphDecoder:
    def __init__(self, decoder: Decoder, kv: PagedKv, *, max_rows: int, max_model_len: int) -> None:
        config, device = decoder.config, decoder.weights.embedding.device
        self._decoder = decoder
        self._kv = kv
        self._spare_block = kv.num_blocks - 1       # which no sequence gets
        self._max_rows = min(max_rows, BUCKETS[-1])
        self._width = -(-max_model_len // BLOCK_SIZE)
        slots = max_rows + 1                        # the last for rows that fill up
        self._tables_here = torch.full((slots, self._width), self._spare_block, dtype=torch.int32).pin_memory()
        self._tables = self._tables_here.to(device)
        self._num_known: dict[int, int] = {}        # blocks of each slot's table that are on the device
        self._inputs_here = torch.zeros(3, self._max_rows, dtype=torch.int32).pin_memory()
        self._inputs = self._inputs_here.to(device)             # token ids, positions, slots
        rows = self._max_rows

        def buffer(size: int) -> Tensor:
            return torch.empty(rows, size, dtype=decoder.weights.embedding.dtype, device=device)

        self._hidden, self._normed = buffer(config.hidden_size), buffer(config.hidden_size)
        self._mixed, self._activated = buffer(config.num_heads * config.head_dim), buffer(config.intermediate_size)
        self._logits = torch.empty(rows, config.vocab_size, dtype=torch.float32, device=device)
        self._best = torch.empty(rows, dtype=torch.int64, device=device)
        processors = torch.cuda.get_device_properties(device).multi_processor_count
        self._attend = PagedAttention(rows, config.num_heads, config.head_dim, processors, device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def takes(self, rows: Sequence[BatchRow]) -> bool:
        return len(rows) <= self._max_rows and all(
            len(row.token_ids) == 1 and row.sampling is not None for row in rows
        )

    def forget(self, slot: int) -> None:
        """Its sequence left: the next one there brings a table of its own."""
        self._num_known.pop(slot, None)

    def forward(self, rows: Sequence[BatchRow]) -> tuple[Tensor, Tensor]:
        """(float32 logits [rows, vocab], int64 likeliest ids [rows]), valid until the next call."""
        num_rows = len(rows)
        size = next(bucket for bucket in (*BUCKETS, self._max_rows) if bucket >= num_rows)
        size = min(size, self._max_rows)
        self._bring_tables(rows)
        spare_slot = self._tables_here.shape[0] - 1
        inputs = self._inputs_here.numpy()
        inputs[0, :num_rows] = [row.token_ids[0] for row in rows]
        inputs[1, :num_rows] = [row.position for row in rows]
        inputs[2, :num_rows] = [row.slot for row in rows]
        inputs[0, num_rows:size], inputs[1, num_rows:size], inputs[2, num_rows:size] = 0, 0, spare_slot
        self._inputs.copy_(self._inputs_here, non_blocking=True)
        with torch.inference_mode():
            if size not in self._graphs:
                self._graphs[size] = self._capture(size)
            self._graphs[size].replay()
        return self._logits[:num_rows], self._best[:num_rows]

    def _bring_tables(self, rows: Sequence[BatchRow]) -> None:
        tables, changed = self._tables_here.numpy(), False
        for row in rows:
            if self._num_known.get(row.slot) != len(row.block_table):
                tables[row.slot, : len(row.block_table)] = row.block_table
                self._num_known[row.slot] = len(row.block_table)
                changed = True
        if changed:
            self._tables.copy_(self._tables_here, non_blocking=True)

    def _capture(self, size: int) -> torch.cuda.CUDAGraph:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):             # kernels are compiled and libraries warmed up outside of the graph
            self._step(size)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(size)
        return graph

    def _step(self, size: int) -> None:
        decoder, config, weights = self._decoder, self._decoder.config, self._decoder.weights
        token_ids, positions, slots = self._inputs[:, :size]
        hidden, normed, mixed = self._hidden[:size], self._normed[:size], self._mixed[:size]
        activated = self._activated[:size]
        torch.index_select(weights.embedding, 0, token_ids, out=hidden)
        blocks = self._tables[slots, positions // BLOCK_SIZE]
        if config.embedding_scale != 1.0:
            hidden.mul_(config.embedding_scale)
        result: Tensor | None = None
        for index, layer in enumerate(weights.layers):
            cache, attention = self._kv.layers[index], config.layers[index]
            add_norm(result, hidden, layer.input_norm, normed, config.norm_eps)
            qkv = F.linear(normed, layer.qkv, layer.qkv_bias)
            norms = (layer.q_norm, layer.k_norm) if layer.q_norm is not None and layer.k_norm is not None else None
            rotate_and_write(
                qkv, cache, blocks, positions, decoder.rotary(index), norms, num_heads=config.num_heads,
                eps=config.norm_eps,
            )
            self._attend(
                qkv, cache, self._tables, slots, positions, mixed, scale=decoder.scale,
                softcap=config.attention_softcap, window=attention.window,
            )
            result = F.linear(mixed, layer.out, layer.out_bias)
            add_norm(result, hidden, layer.block_norm, normed, config.norm_eps)
            silu_mul(F.linear(normed, layer.gate_up, layer.gate_up_bias), activated)
            result = F.linear(activated, layer.down, layer.down_bias)
        add_norm(result, hidden, weights.final_norm, normed, config.norm_eps)
        logits = self._logits[:size]
        logits.copy_(F.linear(normed, weights.head))
        if config.logits_divisor != 1.0:
            logits.div_(config.logits_divisor)
        if config.final_softcap:
            logits.div_(config.final_softcap).tanh_().mul_(config.final_softcap)
        torch.argmax(logits, dim=-1, out=self._best[:size])
