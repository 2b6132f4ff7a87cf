"""A model on disk, and what the memory plan wants to know of it. Plain values, on any thread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.gguf import GgufHeader
from engine.lora import Adapter, AdapterHeader
from engine.memory import NO_OWN_LIMITS, LayerFacts, LoadLimits, ModelFacts, OwnLimits

_BLOCK = re.compile(r"blk\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model on disk, and what is laid over it. `version` tells one content from another."""

    model_id: str
    name: str
    path: Path
    version: str
    adapters: tuple[Adapter, ...] = ()
    chat_template: str | None = None    # in place of the file's own
    own_limits: OwnLimits = NO_OWN_LIMITS


def facts_of(
    spec: ModelSpec, header: GgufHeader, adapters: Sequence[AdapterHeader], limits: LoadLimits
) -> ModelFacts:
    """Of the model with its adapters: their matrices lie where the weights do that they act on."""
    kv_bytes = header.kv_bytes_by_layer(limits.kv_type)
    weight_bytes = [0] * header.block_count
    output_bytes = 0
    tensors = (*header.tensors, *(tensor for adapter in adapters for tensor in adapter.tensors))
    shares_output = all(tensor.name != "output.weight" for tensor in header.tensors)
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        if block and int(block[1]) < header.block_count:
            weight_bytes[int(block[1])] += tensor.num_bytes
        elif tensor.name.startswith("output") or (shares_output and tensor.name.startswith("token_embd.")):
            output_bytes += tensor.num_bytes
    return ModelFacts(
        name=spec.name,
        weight_bytes=sum(tensor.num_bytes for tensor in tensors),
        kv_bytes_per_token=sum(kv_bytes),
        context_length=header.context_length,
        layers=tuple(map(LayerFacts, weight_bytes, kv_bytes)),
        output_bytes=output_bytes,
        shares_output=shares_output,
    )


def with_draft(facts: ModelFacts, draft: GgufHeader | None) -> ModelFacts:
    if draft is None:
        return facts
    return replace(
        facts,
        weight_bytes=facts.weight_bytes + draft.weight_bytes,
        draft_kv_bytes_per_token=draft.kv_bytes_per_token(),
    )
