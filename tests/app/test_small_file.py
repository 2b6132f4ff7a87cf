"""Small files, and what else may stand in their place."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import pytest

from app.instance import LOCK_FILE_NAME, note_of
from app.other_apps import lm_studio_dirs
from app.vault import KEY_FILE_NAME, Vault
from engine.backends.llama_cpp.trial import _read_memory
from engine.disk_cache.ledger import _is_current
from engine.errors import ModelLoadError
from engine.small_file import read_small

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes among files")


def test_a_file_and_a_link_to_one_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_small(file, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_small(file, 4)
    if sys.platform != "win32":
        (tmp_path / "link").symlink_to(file)
        assert read_small(tmp_path / "link") == b"12345"


@posix
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "nothing", "link to itself"])
def test_anything_else_is_told_at_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)         # a socket's path must be short
    path = Path("odd")
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "link to itself":
            path.symlink_to(path)
    with pytest.raises(OSError):
        read_small(path)


@posix
def test_nobody_waits_for_a_pipe_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would be awaited for ever."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (KEY_FILE_NAME, LOCK_FILE_NAME, ".lmstudio-home-pointer", "about.json", "trials.json"):
        os.mkfifo(tmp_path / name)
    assert Vault(tmp_path).open("sealed") is None
    assert note_of(tmp_path) is None
    assert lm_studio_dirs() == (Path("~/.lmstudio"), Path("~/.cache/lm-studio"))
    assert not _is_current(tmp_path)
    assert _read_memory(tmp_path) == {}


@posix
def test_a_pipe_among_a_model_s_files_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from engine.backends.torch import tokenizer
    from engine.backends.torch.model_config import read_json

    for name, read in (("config.json", read_json), ("tokenizer.json", tokenizer._read)):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ModelLoadError, match="cannot be read"):
            read(tmp_path / name)


def test_a_description_of_a_cache_that_is_nested_without_end_is_none(tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text("[" * 100_000)
    assert not _is_current(tmp_path)
    (tmp_path / "about.json").write_text(json.dumps({"files": 1}))
    assert not _is_current(tmp_path)
