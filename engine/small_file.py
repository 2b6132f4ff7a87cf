"""Small files of ours and of others, read whole: nothing in their place is waited for, and nothing is too much.

A pipe would keep its reader for ever, and a device gives without end. Called on any thread, by `app` too.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 16 * 2**20


def read_small(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Of a regular file, or of a link to one. Raises OSError, also for what is none and for one that is larger."""
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(path))
    return content


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
