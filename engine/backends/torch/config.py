"""What a model of dense layers is made of: `config.json` of a folder of safetensors, read into one description.

One decoder (decoder.py) runs them all: Llama, Mistral, Qwen2, Qwen3, SmolLM2, Granite, Phi-3 and 4, Gemma 2 and 3. What
tells families apart is written down here as values, so that the decoder has no family names in it. All other kinds are
described in other_config.py. Any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engine.backends.torch.checkpoint_format import CheckpointFormat
from engine.backends.torch.model_config import ModelConfig, check_sizes, eos_token_ids, read_json
from engine.backends.torch.other_config import OtherConfig, read_other
from engine.errors import ModelLoadError
from engine.told import Told

ROPE_KINDS: Final = frozenset({"default", "linear", "llama3", "longrope", "proportional"})       # in config.json


@dataclass(frozen=True, slots=True, kw_only=True)
class Rope:
    theta: float = 10_000.0
    kind: str = "default"               # one of ROPE_KINDS, or "factors": one for each frequency, as GGUFs have them
    share: float = 1.0                  # of a head's dimensions that turn
    scaling: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Of one kind of layer."""

    rope: Rope
    window: int | None = None           # tokens that are seen, the newest included; None: all


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig(ModelConfig):
    norm_eps: float
    layers: tuple[Attention, ...]
    activation: str = "silu"            # or "gelu_tanh"
    ties_embeddings: bool = False
    norms_heads: bool = False           # of q and k, before they turn
    norm_adds_one: bool = False         # weights of norms are kept less one
    norms_outputs: bool = False         # attention's and the block's results are normed before they are added
    attention_scale: float | None = None
    attention_softcap: float | None = None
    final_softcap: float | None = None
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logits_divisor: float = 1.0
    checkpoint: CheckpointFormat | None = None      # None: its matrices are plain

    @property
    def matrix_values(self) -> int:
        """Numbers in the matrices of all layers: what quantising makes smaller."""
        heads = 2 * self.num_heads + 2 * self.num_kv_heads
        return self.num_layers * self.hidden_size * (heads * self.head_dim + 3 * self.intermediate_size)


def read_config(folder: Path) -> DecoderConfig | OtherConfig:
    """Raises ModelLoadError where the file is not there, is broken, or describes what cannot be run."""
    whole = read_json(folder / "config.json")
    text = whole.get("text_config")
    raw = text if isinstance(text, dict) else whole
    family = str(raw.get("model_type", ""))
    if family not in _FAMILIES:
        return read_other(folder, whole)
    checkpoint = _checkpoint(folder, raw.get("quantization_config"))
    try:
        config = _FAMILIES[family](raw, _common(raw, family))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelLoadError(Told("folder-config", folder=folder.name, detail=str(error))) from error
    check_sizes(config, folder)
    return replace(config, eos_token_ids=eos_token_ids(folder, raw), checkpoint=checkpoint)


def _checkpoint(folder: Path, raw: Any) -> CheckpointFormat | None:
    if not raw:
        return None
    try:
        return CheckpointFormat.of(raw if isinstance(raw, dict) else {})
    except ValueError as error:
        raise ModelLoadError(Told("folder-quantised", folder=folder.name, detail=str(error))) from error


# --- what all families share ------------------------------------------------------------------------------------------


def _common(raw: Mapping[str, Any], family: str) -> DecoderConfig:
    num_layers, num_heads = int(raw["num_hidden_layers"]), int(raw["num_attention_heads"])
    if not 0 < num_layers <= 1024:
        raise ValueError("num_hidden_layers")
    return DecoderConfig(
        family=family,
        hidden_size=int(raw["hidden_size"]),
        intermediate_size=int(raw["intermediate_size"]),
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=int(raw.get("num_key_value_heads") or num_heads),
        head_dim=int(raw.get("head_dim") or raw["hidden_size"] // num_heads),
        vocab_size=int(raw["vocab_size"]),
        context_length=int(raw.get("max_position_embeddings", 4096)),
        norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        layers=_layers(raw, num_layers),
        dtype=str(raw.get("dtype") or raw.get("torch_dtype") or "bfloat16"),
        activation=_activation(str(raw.get("hidden_act") or raw.get("hidden_activation") or "silu")),
        ties_embeddings=bool(raw.get("tie_word_embeddings", False)),
    )


def _layers(raw: Mapping[str, Any], num_layers: int) -> tuple[Attention, ...]:
    """One a layer: of files since transformers 5 by `layer_types` and `rope_parameters`, of older ones by their kin."""
    window = raw.get("sliding_window")
    types = raw.get("layer_types") or _layer_types(raw, num_layers)
    if len(types) != num_layers:
        raise ValueError("layer_types")
    return tuple(
        Attention(rope=_rope(raw, kind), window=int(window) if window and kind == "sliding_attention" else None)
        for kind in types
    )


def _layer_types(raw: Mapping[str, Any], num_layers: int) -> list[str]:
    full, sliding = "full_attention", "sliding_attention"
    match raw.get("model_type"):
        case "gemma2":
            return [full if index % 2 else sliding for index in range(num_layers)]
        case "gemma3_text":
            pattern = int(raw.get("sliding_window_pattern", 6))
            return [sliding if (index + 1) % pattern else full for index in range(num_layers)]
        case "qwen2" | "qwen3":
            first = int(raw.get("max_window_layers", num_layers)) if raw.get("use_sliding_window") else num_layers
            return [sliding if index >= first else full for index in range(num_layers)]
        case "mistral" | "phi3":
            return [sliding if raw.get("sliding_window") else full] * num_layers
    return [full] * num_layers


def _rope(raw: Mapping[str, Any], layer_type: str) -> Rope:
    parameters = raw.get("rope_parameters")
    if isinstance(parameters, Mapping) and layer_type in parameters:
        parameters = parameters[layer_type]
    if not isinstance(parameters, Mapping):
        is_local = layer_type == "sliding_attention" and raw.get("rope_local_base_freq")
        scaling = None if is_local else raw.get("rope_scaling")
        theta = raw["rope_local_base_freq"] if is_local else raw.get("rope_theta", 10_000.0)
        parameters = {"rope_theta": theta, **(scaling or {})}
    kind = str(parameters.get("rope_type") or parameters.get("type") or "default")
    kind = {"su": "longrope"}.get(kind, kind)
    if kind not in ROPE_KINDS:
        raise ValueError(f"rope_type {kind}")
    return Rope(
        theta=float(parameters.get("rope_theta", raw.get("rope_theta", 10_000.0))),
        kind=kind,
        share=float(parameters.get("partial_rotary_factor", raw.get("partial_rotary_factor", 1.0))),
        scaling=_longrope(raw, parameters) if kind == "longrope" else dict(parameters),
    )


def _longrope(raw: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Older files keep the original length beside the scaling, and leave the factor to be worked out."""
    key = "original_max_position_embeddings"
    original = int(parameters.get(key) or raw[key])
    factor = parameters.get("factor") or float(raw.get("max_position_embeddings", original)) / original
    return dict(parameters) | {key: original, "factor": float(factor)}


def _activation(name: str) -> str:
    known = {"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh"}
    if name not in known:
        raise ValueError(f"hidden_act {name}")
    return known[name]


# --- what tells them apart --------------------------------------------------------------------------------------------


def _plain(raw: Mapping[str, Any], config: DecoderConfig) -> DecoderConfig:
    return config


def _qwen3(raw: Mapping[str, Any], config: DecoderConfig) -> DecoderConfig:
    return replace(config, norms_heads=True)


def _granite(raw: Mapping[str, Any], config: DecoderConfig) -> DecoderConfig:
    return replace(
        config,
        embedding_scale=float(raw.get("embedding_multiplier", 1.0)),
        residual_scale=float(raw.get("residual_multiplier", 1.0)),
        attention_scale=float(raw.get("attention_multiplier", 1.0)),
        logits_divisor=float(raw.get("logits_scaling", 1.0)),
    )


def _gemma(raw: Mapping[str, Any], config: DecoderConfig) -> DecoderConfig:
    def number(key: str) -> float | None:
        value = raw.get(key)
        return None if value is None else float(value)

    return replace(
        config,
        norm_adds_one=True,
        norms_outputs=True,
        norms_heads=config.family == "gemma3_text",
        ties_embeddings=bool(raw.get("tie_word_embeddings", True)),
        embedding_scale=float(config.hidden_size) ** 0.5,
        attention_scale=float(raw.get("query_pre_attn_scalar", 256)) ** -0.5,
        attention_softcap=number("attn_logit_softcapping"),
        final_softcap=number("final_logit_softcapping"),
    )


_FAMILIES: dict[str, Callable[[Mapping[str, Any], DecoderConfig], DecoderConfig]] = {
    "llama": _plain,
    "mistral": _plain,
    "qwen2": _plain,
    "qwen3": _qwen3,
    "granite": _granite,
    "phi3": _plain,
    "gemma2": _gemma,
    "gemma3_text": _gemma,
}
