"""What happens when Inglenook is started while it runs: the second start asks the first to come to the front, and ends.

Both ends of that talk, over a socket of this machine that needs the secret of the lock file. Used by `app.cli`, and by
`app.desktop` on a thread of its own.
"""

from __future__ import annotations

import threading
import time
import webbrowser
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Listener
from pathlib import Path

from app.instance import AlreadyRunning, Note, note_of
from app.window import has_display

LOOPBACK = "127.0.0.1"
PATIENCE_S = 20                  # for a first start that is still on its way
POLL_S = 0.1
_RAISE = b"raise"
_RAISED = b"raised"


def show_first(data_dir: Path, running: AlreadyRunning) -> None:
    """Bring the Inglenook that runs already to the front. Raises AlreadyRunning when it does not get ready."""
    note = _wait_until_ready(data_dir)
    if note is None or note.url is None:
        raise running
    print(f"Inglenook is running already: {note.url}", flush=True)
    has_answered = note.control_port is not None and _ask(note.control_port, note.secret)
    if not has_answered and has_display():
        webbrowser.open(note.url)


def answer_second_starts(secret: str, bring_to_front: Callable[[], None]) -> int:
    """Listen from now on; the port. `bring_to_front` is called on a thread of its own."""
    listener = Listener((LOOPBACK, 0), authkey=secret.encode())
    threading.Thread(target=_answer, args=(listener, bring_to_front), name="second starts", daemon=True).start()
    return int(listener.address[1])


def _answer(listener: Listener, bring_to_front: Callable[[], None]) -> None:
    while True:
        try:
            with listener.accept() as connection:
                if connection.recv_bytes(maxlength=16) == _RAISE:
                    bring_to_front()
                    connection.send_bytes(_RAISED)
        except (AuthenticationError, EOFError, OSError):
            continue             # somebody else knocked, or went away: wait for the next


def _wait_until_ready(data_dir: Path) -> Note | None:
    """The first start's note once it has an address; another process's progress has no event to wait for."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        note = note_of(data_dir)
        if note is not None and note.url is not None:
            return note
        time.sleep(POLL_S)
    return None


def _ask(port: int, secret: str) -> bool:
    try:
        with Client((LOOPBACK, port), authkey=secret.encode()) as connection:
            connection.send_bytes(_RAISE)
            return connection.recv_bytes(maxlength=16) == _RAISED
    except (AuthenticationError, EOFError, OSError):
        return False
