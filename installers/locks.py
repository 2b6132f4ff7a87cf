"""One at a time over a folder; the kernel drops the lock when its holder ends, however. Standard library only."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_one(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold `folder` (itself: no lock file is left behind). Waits, and says so, while another set-up has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another set-up is at work in {folder}. Waiting until it is done …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
