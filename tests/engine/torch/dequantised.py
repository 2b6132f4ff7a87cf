"""A GGUF of the Llama kind as a folder of safetensors: real weights for tests, without a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers
from numpy.typing import NDArray

_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def write_dequantised(path: Path, folder: Path) -> Path:
    reader = gguf.GGUFReader(path)

    def fact(key: str) -> Any:
        return reader.fields[f"llama.{key}"].contents()

    heads, kv_heads = fact("attention.head_count"), fact("attention.head_count_kv")
    tensors: dict[str, torch.Tensor] = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name.endswith(("attn_q.weight", "attn_k.weight")):
            values = _turned_back(values, heads if tensor.name.endswith("q.weight") else kv_heads)
        tensors[_name(tensor.name)] = torch.from_numpy(values)
    config = transformers.LlamaConfig(
        vocab_size=len(tensors["model.embed_tokens.weight"]), hidden_size=fact("embedding_length"),
        intermediate_size=fact("feed_forward_length"), num_hidden_layers=fact("block_count"),
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=fact("context_length"),
        rms_norm_eps=fact("attention.layer_norm_rms_epsilon"), tie_word_embeddings="lm_head.weight" not in tensors,
        rope_parameters={"rope_type": "default", "rope_theta": fact("rope.freq_base")}, bos_token_id=1, eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict(tensors, strict=False)
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(folder)
    return folder


def _name(name: str) -> str:
    stem, _, end = name.rpartition(".")
    if not stem.startswith("blk."):
        return f"{_NAMES[stem]}.{end}"
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{_NAMES[part]}.{end}"


def _turned_back(values: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """llama.cpp turns neighbouring dimensions; transformers those half a head apart."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
