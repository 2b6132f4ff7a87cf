"""Ten thousand damaged headers of both formats: each is read or refused in a sentence, and nothing else happens."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import ModelLoadError
from engine.gguf import read_header
from engine.safetensors import read_safetensors
from tests.engine.test_gguf import ARRAY, BASICS, TEXT, UINT32, file_of, key, tensor, text
from tests.engine.tiny_safetensors import INDEX, content_of, header_of, write_sharded

NUM_FILES = 5000          # of each format
EXTREMES = (0, 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def small_gguf() -> bytes:
    words = b"".join(text(word) for word in ("<s>", "a", "ñ", "<|im_end|>"))
    keys = (
        *BASICS,
        key("general.name", TEXT, text("Small")),
        key("general.alignment", UINT32, struct.pack("<I", 32)),
        key("llama.attention.head_count_kv", ARRAY, struct.pack("<IQ2I", UINT32, 2, 4, 4)),
        key("tokenizer.ggml.model", TEXT, text("gpt2")),
        key("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", TEXT, 4) + words),
        key("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQ4i", 5, 4, 3, 1, 1, 3)),
    )
    tensors = (tensor("token_embd.weight", (64, 4), 0, 0), tensor("blk.0.w", (32, 2), 2, 1024))
    return file_of(*keys, tensors=tensors, data=b"\0" * 1100)


def small_safetensors() -> bytes:
    return content_of(header_of({"w": ("BF16", [4, 8], 64), "é": ("F32", [2], 8)}, {"format": "pt"}), 72)


def damaged(rng: random.Random, content: bytes, header_bytes: int) -> bytes:
    """One to four wounds: a byte, an extreme number, a piece left out, doubled or moved, an end."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(header_bytes)
        end = min(header_bytes, at + rng.choice((1, 2, 4, 8, 20, 60)))
        match rng.randrange(7):
            case 0 | 1:
                content = content[:at] + bytes((rng.choice((0, 1, 34, 44, 91, 123, 125, 0x7F, 0x80, 0xFF)),)) + \
                    content[at + 1:]
            case 2:
                content = content[:at] + struct.pack("<Q", rng.choice(EXTREMES)) + content[at + 8:]
            case 3:
                content = content[:at] + content[end:]
            case 4:
                content = content[:end] + content[at:end] + content[end:]
            case 5:
                content = content[:at] + str(rng.choice(EXTREMES)).encode() + content[at:]
            case 6:
                content = content[: rng.randrange(len(content))]
        header_bytes = max(1, min(header_bytes, len(content)))
        content = content or b"\0"
    return content


@pytest.mark.parametrize("name, content, read", [
    ("m.gguf", small_gguf(), read_header), ("m.safetensors", small_safetensors(), read_safetensors),
])
def test_read_or_refused(tmp_path: Path, name: str, content: bytes, read: Callable[[Path], object]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    read(path)                                          # it is good before it is damaged
    rng = random.Random(10_000)
    header_bytes = len(content) - 72
    num_refused = 0
    for _ in range(NUM_FILES):
        path.write_bytes(damaged(rng, content, header_bytes))
        try:
            read(path)
        except ModelLoadError as error:
            num_refused += 1
            assert str(error).endswith(".")
    assert NUM_FILES // 2 < num_refused <= NUM_FILES


def test_damaged_indexes_are_read_or_refused(tmp_path: Path) -> None:
    write_sharded(tmp_path, 2)
    good = [tmp_path / INDEX, tmp_path / "config.json", tmp_path / "tokenizer_config.json"]
    contents = {path: path.read_bytes() for path in good}
    rng = random.Random(5)
    num_refused = 0
    for _ in range(300):
        for path, content in contents.items():
            path.write_bytes(damaged(rng, content, len(content)))
        try:
            read_safetensors(tmp_path)
        except ModelLoadError:
            num_refused += 1
    assert 150 < num_refused <= 300
