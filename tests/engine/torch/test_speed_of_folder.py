"""What a token reads of a model in safetensors, and how fast a device's memory is."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.torch.device import measure_bandwidth
from engine.backends.torch.folder import read_folder
from tests.engine.torch.tiny_folder import VOCAB_SIZE, write_tiny_folder


def test_a_table_of_embeddings_counts_only_where_it_is_the_output_too(tmp_path: Path) -> None:
    apart = read_folder(write_tiny_folder(tmp_path / "apart", tie_word_embeddings=False))
    tied = read_folder(write_tiny_folder(tmp_path / "tied", tie_word_embeddings=True))
    assert apart.bytes_per_token("float32") == apart.weight_bytes("float32") - VOCAB_SIZE * 32 * 4
    assert tied.bytes_per_token("float32") == tied.weight_bytes("float32")
    assert tied.bytes_per_token("bfloat16") == tied.bytes_per_token("float32") // 2
    assert tied.bytes_per_token("bfloat16", "int8") < tied.bytes_per_token("bfloat16")


def test_of_a_kind_that_our_decoder_does_not_run_nothing_is_foretold(tmp_path: Path) -> None:
    assert read_folder(write_tiny_folder(tmp_path / "other", family="olmo")).bytes_per_token("float32") == 0


def test_the_memory_of_a_device_is_measured_by_copies() -> None:
    assert 1e8 < measure_bandwidth("cpu", 8 << 20) < 1e13
    with pytest.raises(RuntimeError):
        measure_bandwidth("cpu", 1 << 62)
