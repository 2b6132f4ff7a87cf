"""The native window: a child process that shows the pages with pywebview, and the handle by which its parent holds it.

A child, because a toolkit wants the main thread, which is the server's, and aborts its process where the system lacks
one of its libraries. A pipe joins the two: when one end goes, the other side knows. Used by `app.desktop`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

TITLE = "Inglenook"
ICON = Path(__file__).resolve().parent.parent / "assets" / "brand" / "icon-192.png"
SIZE_PX = (1180, 820)
SMALLEST_PX = (380, 480)
NATIVE_LIBRARIES = "libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1"        # Debian's names; Qt aborts without them

_SHOWN = "shown"
_RAISE = "raise"


def has_display() -> bool:
    """Whether a window or a browser could be seen at all."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_installed() -> bool:
    """Whether the extra `desktop` is here."""
    return find_spec("webview") is not None


class Window:
    """`open`, then `wait_until_closed` on the same thread; `bring_to_front` from any."""

    def __init__(self, url: str, data_dir: Path) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pipe, self._childs_end = spawn.Pipe()
        self._process = spawn.Process(
            target=_show, args=(url, str(data_dir / "window"), self._childs_end), name="window", daemon=True
        )

    def open(self) -> bool:
        """True once the window is on the screen; False where there can be none, whatever the reason."""
        self._process.start()
        self._childs_end.close()             # so that the pipe ends with the child
        try:
            return bool(self._pipe.recv() == _SHOWN)
        except EOFError:
            return False

    def wait_until_closed(self) -> None:
        self._process.join()

    def bring_to_front(self) -> None:
        self._pipe.send(_RAISE)

    def close(self) -> None:
        self._pipe.close()                   # the child's end of its pipe: it goes
        self._process.join()


def _show(url: str, storage: str, pipe: Connection) -> None:
    """The child's whole life, on its main thread."""
    import webview  # noqa: PLC0415  only this process has a use for it

    logging.getLogger("pywebview").setLevel(logging.CRITICAL)     # it tries one toolkit after another, aloud
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # Ctrl-C is the parent's to answer, and closes the pipe
    window = webview.create_window(
        TITLE, url, width=SIZE_PX[0], height=SIZE_PX[1], min_size=SMALLEST_PX, text_select=True
    )
    window.events.shown += lambda: pipe.send(_SHOWN)
    threading.Thread(target=_obey, args=(window, pipe), daemon=True).start()
    webview.start(private_mode=False, storage_path=storage, icon=str(ICON))


def _obey(window: Any, pipe: Connection) -> None:
    try:
        while pipe.recv() == _RAISE:
            window.restore()
            window.show()
    except EOFError:
        window.destroy()                     # the server is gone, however it ended
