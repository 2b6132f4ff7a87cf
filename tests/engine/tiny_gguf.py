"""Writes a llama model of two layers and random weights, 0.4 MB: a real file, for tests of what reads or runs one.

Its vocabulary is byte-level BPE: the 256 bytes, a few merges, and the markers of ChatML.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.backends.scripted_tokenizer import CHATML_TEMPLATE

Weights = NDArray[np.float32]

MERGES = ("t h", "th e", "Ġ the", "i n", "a n")
MARKERS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CONTEXT_TOKENS = 4096
EMBEDDING, LAYERS, FEED_FORWARD, HEADS, KV_HEADS = 64, 2, 128, 4, 2


def write_tiny_gguf(
    path: Path,
    *,
    seed: int = 0,
    context_tokens: int = CONTEXT_TOKENS,
    vocabulary: bool = True,
    chat_template: str | None = CHATML_TEMPLATE,
    pooling: gguf.PoolingType | None = None,
    heads: int = HEADS,
    kv_heads: int = KV_HEADS,
    change: Callable[[str, Weights], Weights] = lambda _name, values: values,
) -> Path:
    """Equal arguments give equal bytes. Without a `vocabulary` the model takes token ids only; with a `pooling` it
    embeds, and ends each text with a marker.

    `change` sees each weight by its name, [rows, columns], and gives what is written in its place.
    """
    tokens = vocabulary_tokens()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"Tiny {seed}")
    writer.add_context_length(context_tokens)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // heads)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    if vocabulary:
        add_vocabulary(writer, tokens)
    else:
        writer.add_tokenizer_model("no_vocab")
    if pooling is not None:
        writer.add_pooling_type(pooling)
        writer.add_add_eos_token(True)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    _add_weights(writer, np.random.default_rng(seed), len(tokens), EMBEDDING * kv_heads // heads, change)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vocabulary_tokens() -> list[str]:
    return [*_byte_tokens(), *(merge.replace(" ", "") for merge in MERGES), *MARKERS]


def add_vocabulary(writer: gguf.GGUFWriter, tokens: list[str]) -> None:
    markers = range(len(tokens) - len(MARKERS), len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if index in markers else gguf.TokenType.NORMAL for index in range(len(tokens))]
    )
    writer.add_token_merges(list(MERGES))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)


def _byte_tokens() -> list[str]:
    """GPT-2's spelling of the bytes: printable ones as they are, the others from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [value for value in range(256) if value not in printable]
    return [chr(value) if value in printable else chr(256 + others.index(value)) for value in range(256)]


def _add_weights(
    writer: gguf.GGUFWriter, random: np.random.Generator, vocab_size: int, kv_width: int,
    change: Callable[[str, Weights], Weights],
) -> None:
    def matrix(name: str, rows: int, columns: int, spread: float | None = None) -> None:
        values = random.standard_normal((rows, columns)) * (spread or 2 * columns**-0.5)
        writer.add_tensor(name, change(name, values.astype(np.float32)))

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(EMBEDDING, np.float32))

    matrix("token_embd.weight", vocab_size, EMBEDDING, spread=2.0)
    ones("output_norm.weight")
    matrix("output.weight", vocab_size, EMBEDDING)
    for layer in range(LAYERS):
        ones(f"blk.{layer}.attn_norm.weight")
        matrix(f"blk.{layer}.attn_q.weight", EMBEDDING, EMBEDDING)
        matrix(f"blk.{layer}.attn_k.weight", kv_width, EMBEDDING)
        matrix(f"blk.{layer}.attn_v.weight", kv_width, EMBEDDING)
        matrix(f"blk.{layer}.attn_output.weight", EMBEDDING, EMBEDDING)
        ones(f"blk.{layer}.ffn_norm.weight")
        matrix(f"blk.{layer}.ffn_gate.weight", FEED_FORWARD, EMBEDDING)
        matrix(f"blk.{layer}.ffn_up.weight", FEED_FORWARD, EMBEDDING)
        matrix(f"blk.{layer}.ffn_down.weight", EMBEDDING, FEED_FORWARD)
