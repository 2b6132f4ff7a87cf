"""Models that the decoder here does not know, by transformers' own code: mixtures of experts, and dense ones of other
kinds. Their attention is ours, registered by name, so that their keys and values lie in `PagedKv` like all others.

Same interface as `Decoder`. On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel

from engine.backends.torch.attention import attend_paged
from engine.backends.torch.decoder import FlatStep
from engine.backends.torch.paged_kv import PagedKv

ATTENTION_NAME: Final = "inglenook_paged"


@dataclass(frozen=True, slots=True)
class _Running:
    """The step that a model is in, for the attention that its code calls without knowing of it."""

    step: FlatStep
    kv: PagedKv
    check: Callable[[], None]


_RUNNING: ContextVar[_Running] = ContextVar("running")


@contextmanager
def _in(step: FlatStep, kv: PagedKv, check: Callable[[], None]) -> Iterator[None]:
    token = _RUNNING.set(_Running(step, kv, check))
    try:
        yield
    finally:
        _RUNNING.reset(token)


class TransformersDecoder:
    def __init__(self, model: PreTrainedModel) -> None:
        """`model` was made with the attention `ATTENTION_NAME`."""
        self._model = model

    def forward(self, step: FlatStep, kv: PagedKv, check: Callable[[], None] = lambda: None) -> Tensor:
        with torch.inference_mode(), _in(step, kv, check):
            logits: Tensor = self._model(
                input_ids=step.token_ids[None], position_ids=step.positions[None], use_cache=False,
                logits_to_keep=step.wanted,
            ).logits[0]
        if len(logits) != len(step.wanted):             # a model whose code knows no `logits_to_keep`
            logits = logits[step.wanted]
        return logits.float()


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, *,
    scaling: float | None = None, sliding_window: int | None = None, softcap: float | None = None, **_: Any,
) -> tuple[Tensor, None]:
    """As transformers calls it: tensors [1, heads, tokens, head_dim] in, [1, tokens, heads, head_dim] out."""
    running = _RUNNING.get()
    running.check()
    layer, step, kv = int(module.layer_idx), running.step, running.kv
    queries, keys, values = (each[0].transpose(0, 1) for each in (query, key, value))
    kv.write(layer, step.blocks, step.positions, keys, values)
    mixed = attend_paged(
        queries, kv, layer, step.spans, window=sliding_window, softcap=softcap,
        scale=query.shape[-1] ** -0.5 if scaling is None else scaling,
    )
    return mixed[None], None


AttentionInterface.register(ATTENTION_NAME, _attend)
