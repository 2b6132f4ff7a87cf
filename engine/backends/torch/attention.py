"""Attention over paged keys and values, in plain torch: the reference for kernels. On the engine's thread.

Rows of one token, which most are, go together, padded to the longest; prompts go one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.backends.torch.model_config import BLOCK_SIZE
from engine.backends.torch.paged_kv import PagedKv


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One row: which of the step's tokens are its own, and where its sequence's KV lies."""

    start: int
    num_tokens: int
    num_before: int             # of its sequence's tokens, that have KV already
    table: Tensor               # int64 [blocks], on the device

    @property
    def length(self) -> int:
        return self.num_before + self.num_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Rows of several tokens, which lie behind one another in the step: attended in one launch."""

    start: int                  # the first of their tokens, in the step
    end: int
    query_bounds: Tensor        # int32 [prompts + 1], on the device: where each begins, from `start`, and the end
    key_bounds: Tensor          # likewise, of what each sees
    most_queries: int
    most_keys: int
    blocks: Tensor | None       # int64 [keys]: where the keys lie; None: all were computed in this step
    positions: Tensor | None    # int64 [keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class Singles:
    """The rows of one token, the step's first, as the kernel wants them: on the device, all [rows] but the tables."""

    tables: Tensor              # int32 [rows, blocks]
    slots: Tensor               # int32: row of `tables`
    positions: Tensor           # int32


def attend_paged(
    queries: Tensor, kv: PagedKv, layer: int, spans: Sequence[Span], *, window: int | None, scale: float,
    softcap: float | None,
) -> Tensor:
    """[tokens, heads, head_dim] in and out. Each token sees its own sequence up to itself, `window` tokens at most."""
    mixed = torch.empty_like(queries)
    single = [span for span in spans if span.num_tokens == 1]
    if len(single) > 1:
        _attend_single(queries, mixed, kv, layer, single, window, scale, softcap)
    else:
        single = []
    for span in spans:
        if span not in single:
            attend_span(queries, mixed, kv, layer, span, window, scale, softcap)
    return mixed


def attend_span(
    queries: Tensor, mixed: Tensor, kv: PagedKv, layer: int, span: Span, window: int | None, scale: float,
    softcap: float | None,
) -> None:
    end = span.start + span.num_tokens
    keys, values = kv.read(layer, span.table, span.length)
    own = queries[span.start : end].transpose(0, 1)
    at = torch.arange(span.num_before, span.length, device=queries.device)[:, None]
    seen = _seen(at, torch.arange(span.length, device=queries.device)[None, :], window)
    mixed[span.start : end] = _attend(own[None], keys[None], values[None], seen, scale, softcap)[0].transpose(0, 1)


def _attend_single(
    queries: Tensor, mixed: Tensor, kv: PagedKv, layer: int, spans: Sequence[Span], window: int | None, scale: float,
    softcap: float | None,
) -> None:
    device = queries.device
    tables = torch.nn.utils.rnn.pad_sequence([span.table for span in spans], batch_first=True)
    where = torch.tensor([span.start for span in spans], device=device)
    lengths = torch.tensor([span.length for span in spans], device=device)[:, None]
    keys, values = kv.read_all(layer, tables)
    positions = torch.arange(tables.shape[1] * BLOCK_SIZE, device=device)[None, :]
    seen = _seen(lengths - 1, positions, window)[:, None, None, :]
    own = queries[where][:, :, None, :]
    mixed[where] = _attend(own, keys, values, seen, scale, softcap)[:, :, 0]


def _seen(at: Tensor, positions: Tensor, window: int | None) -> Tensor:
    seen = positions <= at
    return seen if window is None else seen & (positions > at - window)


def _attend(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scale: float, softcap: float | None) -> Tensor:
    """`q` [rows, heads, tokens, dim], `k` and `v` [rows, kv_heads, length, dim]; `seen` to be broadcast over heads."""
    if softcap is None:
        grouped = q.shape[1] != k.shape[1]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale, enable_gqa=grouped)
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    scores = torch.tanh((q @ k.transpose(-1, -2)).float() * (scale / softcap)) * softcap
    return scores.masked_fill(~seen, float("-inf")).softmax(dim=-1).to(q.dtype) @ v
