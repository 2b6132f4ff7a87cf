"""Which back end runs a file: a table, read from top to bottom. Called by the loader, on any thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from engine.errors import ModelLoadError
from engine.gguf_reader import MAGIC, gone
from engine.told import Told

BackendName = Literal["llama.cpp", "torch"]

_SNIFF_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Rule:
    """For files that `matches` (path, first bytes): a back end, or why there is none and what to take instead."""

    matches: Callable[[Path, bytes], bool]
    backend: BackendName | None
    refusal: str = ""


def _ends_in(*suffixes: str) -> Callable[[Path, bytes], bool]:
    return lambda path, _head: path.suffix.lower() in suffixes


def _starts_with(*magics: bytes) -> Callable[[Path, bytes], bool]:
    return lambda _path, head: head.startswith(magics)


def has_torch() -> bool:
    """Found, not imported: that takes seconds."""
    return all(find_spec(name) is not None for name in ("torch", "safetensors", "tokenizers"))


def _holds_safetensors(path: Path, _head: bytes) -> bool:
    return path.is_dir() and any(path.glob("*.safetensors"))


_RULES = (
    _Rule(_ends_in(".part", ".incomplete"), None, "file-unfinished"),
    _Rule(_starts_with(MAGIC), "llama.cpp"),
    _Rule(lambda path, head: _holds_safetensors(path, head) and has_torch(), "torch"),
    _Rule(_holds_safetensors, None, "file-no-torch"),
    _Rule(_ends_in(".safetensors"), None, "file-of-folder"),
    _Rule(_starts_with(b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), None, "file-pickle"),
    _Rule(_ends_in(".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"), None, "file-pickle"),
    _Rule(_starts_with(b"ggml", b"lmgg", b"fmgg", b"tjgg"), None, "file-old"),
    _Rule(_ends_in(".gguf"), None, "file-no-gguf"),
    _Rule(lambda path, _head: path.is_dir(), None, "file-no-model-folder"),
    _Rule(lambda _path, _head: True, None, "file-no-model"),
)


def runnable_formats() -> frozenset[str]:
    """Of models, as this installation can run them: looked at before one is downloaded."""
    return frozenset({"gguf", "safetensors"}) if has_torch() else frozenset({"gguf"})


def select_backend(path: Path) -> BackendName:
    """Raises ModelLoadError, with what to take instead, where nothing here can run the file."""
    head = _first_bytes(path)
    rule = next(rule for rule in _RULES if rule.matches(path, head))
    if rule.backend is None:
        raise ModelLoadError(Told(rule.refusal, file=path.name))
    return rule.backend


def _first_bytes(path: Path) -> bytes:
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_SNIFF_BYTES)
        path.stat()
    except FileNotFoundError as error:
        raise gone(path) from error
    except (OSError, ValueError) as error:
        raise ModelLoadError(Told("file-unreadable", path=str(path), detail=str(error))) from error
    return b""
