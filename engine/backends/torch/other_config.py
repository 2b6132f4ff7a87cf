"""What is known of a model that transformers' own code is to run, by its `config.json` alone. Any thread.

Mixtures of experts, and dense models of kinds that decoder.py does not know. What can be told here that it will not run
is refused here, before a download; transformers_model.py finds out the rest when it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.backends.torch.model_config import ModelConfig, check_sizes, eos_token_ids
from engine.errors import ModelLoadError
from engine.told import Told

_ATTENTION_KINDS: Final = frozenset({"full_attention", "sliding_attention", "chunked_attention", "attention"})
# Settings that only models with a running state have, in all layers or some.
_RECURRENT: Final = (
    "mamba_d_state", "state_size", "ssm_cfg", "ssm_state_size", "linear_num_key_heads", "lru_width",
    "attn_layer_period", "full_attn_idxs", "conv_L_cache", "attention_hidden_size",
)
# Of rotations that follow the longest text of a step.
_SHIFTING_ROPES: Final = frozenset({"dynamic", "longrope", "su"})
# Older kinds' names of what others call by the first one.
_NAMES: Final = {
    "hidden_size": ("n_embd", "d_model"), "num_hidden_layers": ("n_layer", "n_layers"),
    "num_attention_heads": ("n_head", "n_heads"), "num_key_value_heads": ("num_kv_heads",),
    "max_position_embeddings": ("n_positions", "max_seq_len", "seq_length"),
    "intermediate_size": ("n_inner", "ffn_dim", "ffn_hidden_size"),
}
_EXPERTS_OF_A_TOKEN: Final = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherConfig(ModelConfig):
    """Of a model that `TransformersDecoder` is to run."""


def read_other(folder: Path, raw: Mapping[str, Any]) -> OtherConfig:
    """`raw`: the whole of config.json. Raises ModelLoadError for what cannot be run."""
    if refusal := _refusal(folder.name, raw, str(raw.get("model_type") or "")):
        raise ModelLoadError(refusal)
    try:
        config = _config(raw, eos_token_ids(folder, raw))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelLoadError(Told("folder-config", folder=folder.name, detail=str(error))) from error
    check_sizes(config, folder)
    return config


def _config(raw: Mapping[str, Any], eos: tuple[int, ...]) -> OtherConfig:
    num_layers, num_heads, hidden_size = (
        int(_value(raw, name)) for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    if not 0 < num_layers <= 1024:
        raise ValueError("num_hidden_layers")
    num_experts = next((int(raw[name]) for name in _EXPERTS_OF_A_TOKEN if raw.get(name)), 0)
    return OtherConfig(
        family=str(raw["model_type"]),
        hidden_size=hidden_size,
        intermediate_size=_intermediate_size(raw, hidden_size, num_experts),
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=_num_kv_heads(raw, num_heads),
        head_dim=int(raw.get("head_dim") or hidden_size // num_heads),
        vocab_size=int(raw["vocab_size"]),
        context_length=int(_value(raw, "max_position_embeddings", 2048)),
        dtype=str(raw.get("dtype") or raw.get("torch_dtype") or "bfloat16"),
        eos_token_ids=eos,
        num_experts_per_token=num_experts,
    )


def _value(raw: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """By its first name, or by one that older kinds have for it."""
    value = next((raw[each] for each in (name, *_NAMES.get(name, ())) if raw.get(each) is not None), default)
    if value is None:
        raise KeyError(name)
    return value


def _num_kv_heads(raw: Mapping[str, Any], num_heads: int) -> int:
    if raw.get("multi_query") and not raw.get("new_decoder_architecture"):
        return 1
    return int(_value(raw, "num_key_value_heads", num_heads))


def _intermediate_size(raw: Mapping[str, Any], hidden_size: int, num_experts: int) -> int:
    dense = int(_value(raw, "intermediate_size", 4 * hidden_size))
    each = int(raw.get("moe_intermediate_size") or dense)
    shared = int(raw.get("shared_expert_intermediate_size") or int(raw.get("n_shared_experts") or 0) * each)
    return max(dense, num_experts * each + shared)


def _refusal(name: str, raw: Mapping[str, Any], family: str) -> Told | None:
    """Why it cannot be run, as far as its settings tell."""
    kind = family or "?"
    if raw.get("is_encoder_decoder"):
        return Told("family-encoder", model=name)
    if isinstance(raw.get("text_config"), Mapping):
        return Told("family-images", model=name, kind=kind)
    architectures = [str(each) for each in raw.get("architectures") or ()]
    if not any(each.endswith(("ForCausalLM", "LMHeadModel")) for each in architectures):
        return Told("family-no-text", model=name, kind=architectures[0] if architectures else kind)
    if raw.get("quantization_config"):
        return Told("family-quantised", model=name, kind=kind)
    layer_types = set(map(str, raw.get("layer_types") or raw.get("layers_block_type") or ()))
    if _keeps_a_state(raw, layer_types):
        return Told("family-recurrent", model=name)
    if raw.get("kv_lora_rank") or raw.get("alibi") or "chunked_attention" in layer_types:
        return Told("family-attention", model=name)
    if _rope_kinds(raw) & _SHIFTING_ROPES:
        return Told("family-rotation", model=name)
    return None


def _keeps_a_state(raw: Mapping[str, Any], layer_types: set[str]) -> bool:
    """By the kinds of its layers, or else by settings that only such models have."""
    return bool(layer_types - _ATTENTION_KINDS) if layer_types else any(raw.get(key) for key in _RECURRENT)


def _rope_kinds(raw: Mapping[str, Any]) -> set[str]:
    found = [each for each in (raw.get("rope_parameters"), raw.get("rope_scaling")) if isinstance(each, Mapping)]
    found += [each for parameters in found for each in parameters.values() if isinstance(each, Mapping)]
    return {str(each.get("rope_type") or each.get("type")) for each in found}
