"""Writes tiny models with random weights whose KV is not the plain one: a sliding window, and a recurrent state."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.engine.tiny_gguf import add_vocabulary, vocabulary_tokens

EMBEDDING, LAYERS, FEED_FORWARD, HEADS, KV_HEADS, WINDOW_TOKENS = 64, 6, 128, 4, 2, 16
INNER, STATE, CONVOLUTION, STEP_RANK = 128, 16, 4, 4


def write_sliding_window_gguf(path: Path) -> Path:
    """Gemma 3: five layers of six see the last 16 tokens only."""
    writer, vocab_size = _begin(path, "gemma3")
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(EMBEDDING // HEADS)
    writer.add_value_length(EMBEDDING // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_sliding_window(WINDOW_TOKENS)
    weights = _Weights(writer, seed=1)
    weights.matrix("token_embd.weight", vocab_size, EMBEDDING)
    weights.ones("output_norm.weight", EMBEDDING)
    kv_width = EMBEDDING * KV_HEADS // HEADS
    for layer in (f"blk.{index}." for index in range(LAYERS)):
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            weights.ones(f"{layer}{norm}.weight", EMBEDDING)
        for norm in ("attn_q_norm", "attn_k_norm"):
            weights.ones(f"{layer}{norm}.weight", EMBEDDING // HEADS)
        weights.matrix(f"{layer}attn_q.weight", EMBEDDING, EMBEDDING)
        weights.matrix(f"{layer}attn_k.weight", kv_width, EMBEDDING)
        weights.matrix(f"{layer}attn_v.weight", kv_width, EMBEDDING)
        weights.matrix(f"{layer}attn_output.weight", EMBEDDING, EMBEDDING)
        weights.matrix(f"{layer}ffn_gate.weight", FEED_FORWARD, EMBEDDING)
        weights.matrix(f"{layer}ffn_up.weight", FEED_FORWARD, EMBEDDING)
        weights.matrix(f"{layer}ffn_down.weight", EMBEDDING, FEED_FORWARD)
    return _end(writer, path)


def write_recurrent_gguf(path: Path) -> Path:
    """Mamba: a state of one size however long the text is."""
    writer, vocab_size = _begin(path, "mamba")
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(STEP_RANK)
    writer.add_layer_norm_rms_eps(1e-5)
    weights = _Weights(writer, seed=2)
    weights.matrix("token_embd.weight", vocab_size, EMBEDDING)
    weights.ones("output_norm.weight", EMBEDDING)
    for layer in (f"blk.{index}." for index in range(LAYERS)):
        weights.ones(f"{layer}attn_norm.weight", EMBEDDING)
        weights.matrix(f"{layer}ssm_in.weight", 2 * INNER, EMBEDDING)
        weights.matrix(f"{layer}ssm_conv1d.weight", INNER, CONVOLUTION)
        weights.ones(f"{layer}ssm_conv1d.bias", INNER)
        weights.matrix(f"{layer}ssm_x.weight", STEP_RANK + 2 * STATE, INNER)
        weights.matrix(f"{layer}ssm_dt.weight", INNER, STEP_RANK)
        weights.ones(f"{layer}ssm_dt.bias", INNER)
        weights.add(f"{layer}ssm_a", -np.ones((INNER, STATE)))
        weights.ones(f"{layer}ssm_d", INNER)
        weights.matrix(f"{layer}ssm_out.weight", EMBEDDING, INNER)
    return _end(writer, path)


class _Weights:
    def __init__(self, writer: gguf.GGUFWriter, seed: int) -> None:
        self._writer = writer
        self._random = np.random.default_rng(seed)

    def matrix(self, name: str, rows: int, columns: int) -> None:
        self.add(name, self._random.standard_normal((rows, columns)) * 2 * columns**-0.5)

    def ones(self, name: str, size: int) -> None:
        self.add(name, np.ones(size))

    def add(self, name: str, values: np.ndarray) -> None:
        self._writer.add_tensor(name, values.astype(np.float32))


def _begin(path: Path, architecture: str) -> tuple[gguf.GGUFWriter, int]:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(4096)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    tokens = vocabulary_tokens()
    writer.add_vocab_size(len(tokens))
    add_vocabulary(writer, tokens)
    return writer, len(tokens)


def _end(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
