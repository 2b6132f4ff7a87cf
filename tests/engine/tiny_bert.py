"""Writes a BERT of two layers and random weights: an encoder that embeds. Its vocabulary is WordPiece: a few words,
the letters, and the letters as they go on in a word.
"""

from __future__ import annotations

import string
from pathlib import Path

import gguf
import numpy as np

MARKERS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("the", "quick", "brown", "fox", "jump", "over", "lazy", "dog", ".", ",")
ENDINGS = ("s", "ed", "ing")
EMBEDDING, LAYERS, FEED_FORWARD, HEADS = 64, 2, 128, 4
CONTEXT_TOKENS = 512


def write_tiny_bert(
    path: Path,
    *,
    pooling: gguf.PoolingType | None = gguf.PoolingType.MEAN,
    context_tokens: int = CONTEXT_TOKENS,
    poison: str = "",
) -> Path:
    """Equal arguments give equal bytes. The vector of the word `poison` holds no numbers."""
    tokens = vocabulary_tokens()
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("Tiny BERT")
    writer.add_context_length(context_tokens)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(tokens)
    writer.add_token_type_count(2)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in MARKERS else gguf.TokenType.NORMAL for token in tokens]
    )
    writer.add_pad_token_id(tokens.index("[PAD]"))
    writer.add_unk_token_id(tokens.index("[UNK]"))
    writer.add_bos_token_id(tokens.index("[CLS]"))
    writer.add_sep_token_id(tokens.index("[SEP]"))
    writer.add_mask_token_id(tokens.index("[MASK]"))
    _add_weights(writer, len(tokens), context_tokens, tokens.index(f"▁{poison}") if poison else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vocabulary_tokens() -> list[str]:
    """A word's first piece begins with U+2581."""
    letters = string.ascii_lowercase + string.digits
    firsts = dict.fromkeys((*WORDS, *letters))
    later = dict.fromkeys((*ENDINGS, *letters))
    return [*MARKERS, *(f"▁{piece}" for piece in firsts), *later]


def _add_weights(writer: gguf.GGUFWriter, vocab_size: int, context_tokens: int, poisoned: int | None) -> None:
    random = np.random.default_rng(7)

    def add(name: str, *shape: int, spread: float, middle: float = 0.0) -> None:
        values = (middle + spread * random.standard_normal(shape)).astype(np.float32)
        if name == "token_embd.weight" and poisoned is not None:
            values[poisoned] = np.nan
        writer.add_tensor(name, values)

    def linear(name: str, rows: int, columns: int) -> None:
        add(f"{name}.weight", rows, columns, spread=2 * columns**-0.5)
        add(f"{name}.bias", rows, spread=0.1)

    def norm(name: str) -> None:
        add(f"{name}.weight", EMBEDDING, spread=0.1, middle=1.0)
        add(f"{name}.bias", EMBEDDING, spread=0.1)

    add("token_embd.weight", vocab_size, EMBEDDING, spread=1.0)
    add("token_types.weight", 2, EMBEDDING, spread=0.3)
    add("position_embd.weight", context_tokens, EMBEDDING, spread=0.5)
    norm("token_embd_norm")
    for layer in (f"blk.{index}" for index in range(LAYERS)):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            linear(f"{layer}.{name}", EMBEDDING, EMBEDDING)
        norm(f"{layer}.attn_output_norm")
        linear(f"{layer}.ffn_up", FEED_FORWARD, EMBEDDING)
        linear(f"{layer}.ffn_down", EMBEDDING, FEED_FORWARD)
        norm(f"{layer}.layer_output_norm")
