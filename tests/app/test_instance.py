"""One Inglenook a data folder, and what a second start does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app import second_start
from app.instance import AlreadyRunning, Instance, Note, note_of

HOLD = """
import sys
from pathlib import Path
from app.instance import Instance
with Instance.claim(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_claimed_once_and_free_again_after_release(tmp_path: Path) -> None:
    with Instance.claim(tmp_path), pytest.raises(AlreadyRunning, match=rf"process {os.getpid()}"):
        Instance.claim(tmp_path)
    Instance.claim(tmp_path).release()


def test_a_killed_holder_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunning, match=rf"process {holder.pid}"):
            Instance.claim(tmp_path)
        holder.kill()
    Instance.claim(tmp_path).release()


def test_the_note_is_for_its_owner_only(tmp_path: Path) -> None:
    with Instance.claim(tmp_path) as instance:
        instance.publish(Note(os.getpid(), "http://127.0.0.1:8420", 5, "secret"))
        assert (tmp_path / "inglenook.lock").stat().st_mode & 0o077 == 0
        assert note_of(tmp_path) == Note(os.getpid(), "http://127.0.0.1:8420", 5, "secret")


def test_a_shorter_note_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    with Instance.claim(tmp_path) as instance:
        instance.publish(Note(1, "http://127.0.0.1:8420/" + "long" * 100))
        instance.publish(Note(1, "http://127.0.0.1:8420"))
        assert note_of(tmp_path) == Note(1, "http://127.0.0.1:8420")


class TestSecondStart:
    @pytest.fixture(autouse=True)
    def browser(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The addresses that were opened."""
        opened: list[str] = []
        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.setattr("webbrowser.open", opened.append)
        return opened

    def test_raises_the_window_of_the_first(self, tmp_path: Path, browser: list[str]) -> None:
        raised = threading.Event()
        port = second_start.answer_second_starts("secret", raised.set)
        with Instance.claim(tmp_path) as instance:
            instance.publish(Note(os.getpid(), "http://127.0.0.1:8420", port, "secret"))
            start_again(tmp_path)
        assert raised.is_set()
        assert browser == []

    def test_without_a_window_it_opens_the_browser(self, tmp_path: Path, browser: list[str]) -> None:
        with Instance.claim(tmp_path) as instance:
            instance.publish(Note(os.getpid(), "http://127.0.0.1:8420"))
            start_again(tmp_path)
        assert browser == ["http://127.0.0.1:8420"]

    def test_a_wrong_secret_raises_nothing_and_does_no_harm(self, tmp_path: Path, browser: list[str]) -> None:
        raised = threading.Event()
        port = second_start.answer_second_starts("secret", raised.set)
        with Instance.claim(tmp_path) as instance:
            instance.publish(Note(os.getpid(), "http://127.0.0.1:8420", port, "guessed"))
            start_again(tmp_path)
            assert not raised.is_set()
            instance.publish(Note(os.getpid(), "http://127.0.0.1:8420", port, "secret"))
            start_again(tmp_path)
        assert raised.is_set()

    def test_a_first_that_never_gets_ready_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(second_start, "PATIENCE_S", 0.0)
        with Instance.claim(tmp_path), pytest.raises(AlreadyRunning):
            start_again(tmp_path)


def start_again(data_dir: Path) -> None:
    with pytest.raises(AlreadyRunning) as refused:
        Instance.claim(data_dir)
    second_start.show_first(data_dir, refused.value)
