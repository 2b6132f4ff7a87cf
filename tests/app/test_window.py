"""The window's process, with a stand-in for pywebview: when it is shown, raised, closed, and when either side dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.window import Window, is_installed

PATIENCE_S = 60

TOOLKIT = '''
import os, pathlib, threading

class Event:
    def __init__(self): self.handlers = []
    def __iadd__(self, handler): self.handlers.append(handler); return self

class Window:
    def __init__(self): self.events, self.closed = type("Events", (), {"shown": Event()})(), threading.Event()
    def show(self): pathlib.Path(os.environ["SEEN"]).write_text("raised"); self.closed.set()
    def restore(self): pass
    def destroy(self): self.closed.set()

def create_window(title, url, **options):
    global window
    window = Window()
    return window

def start(**options):
    if os.environ.get("CRASH"):
        os.abort()
    for handler in window.events.shown.handlers:
        handler()
    window.closed.wait()
'''

PARENT = """
import os, sys
from pathlib import Path
from app.window import Window
if __name__ == "__main__":
    window = Window("http://127.0.0.1:1", Path(sys.argv[1]))
    assert window.open()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `webview` before all others; returns the file that it writes when the window is raised."""
    (tmp_path / "webview.py").write_text(TOOLKIT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    yield tmp_path / "seen"


def test_open_returns_when_it_is_shown_and_raising_reaches_it(tmp_path: Path, toolkit: Path) -> None:
    window = Window("http://127.0.0.1:1", tmp_path)
    assert is_installed()
    assert window.open()
    window.bring_to_front()
    window.wait_until_closed()
    assert toolkit.read_text() == "raised"


def test_a_toolkit_that_aborts_is_no_window_and_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH", "1")
    assert not Window("http://127.0.0.1:1", tmp_path).open()


def test_closing_the_handle_closes_the_window(tmp_path: Path) -> None:
    window = Window("http://127.0.0.1:1", tmp_path)
    assert window.open()
    window.close()
    window.wait_until_closed()


def test_the_window_goes_when_its_server_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path.cwd())))}
    # The window has inherited the parent's output: this returns when the last of the two is gone.
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
