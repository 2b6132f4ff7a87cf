"""Which back end takes a file, and what a person is told to take instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import ModelLoadError
from engine.select import select_backend
from tests.engine.tiny_gguf import write_tiny_gguf


def test_gguf_goes_to_llama_cpp_whatever_it_is_called(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "m.gguf")
    assert select_backend(path) == "llama.cpp"
    assert select_backend(path.rename(tmp_path / "sha256-0123")) == "llama.cpp"


@pytest.mark.parametrize("name, content, told", [
    ("model.safetensors", b"\x10\0\0\0\0\0\0\0{}", "Choose the folder that it lies in"),
    ("pytorch_model.bin", b"anything", "is a pickle"),
    ("model.pth", b"PK\x03\x04", "is a pickle"),
    ("renamed.gguf", b"\x80\x04\x95", "is a pickle"),
    ("old.gguf", b"lmgg\0\0\0\0", "is in an old format"),
    ("model.gguf", b"<html>404</html>", "is not a GGUF file. Download it again"),
    ("model.gguf", b"", "is not a GGUF file"),
    ("model.gguf.part", b"", "is not downloaded whole. Resume the download"),
    ("notes.txt", b"hello", "is no model that can be run here"),
])
def test_refused_with_what_to_take_instead(name: str, content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModelLoadError) as refused:
        select_backend(path)
    assert told in str(refused.value)
    assert str(refused.value).startswith(name)


def test_a_folder_of_safetensors_goes_to_torch_where_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelLoadError, match="is a folder without a model"):
        select_backend(tmp_path)
    (tmp_path / "model-00001-of-00002.safetensors").touch()
    monkeypatch.setattr("engine.select.find_spec", lambda name: object())
    assert select_backend(tmp_path) == "torch"
    monkeypatch.setattr("engine.select.find_spec", lambda name: None)
    with pytest.raises(ModelLoadError, match=r"PyTorch is needed.*Or take the GGUF file of the same model"):
        select_backend(tmp_path)


@pytest.mark.parametrize("path", [Path("/nowhere/m.gguf"), Path("\0.gguf")])
def test_what_is_not_there_is_an_error_of_ours(path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"cannot be read|is gone"):
        select_backend(path)
