"""Computes the hash by which the hub names a file, on a thread of an executor: a GB takes half a second and more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from app.hub.files import RemoteFile

READ_BYTES = 4 << 20


class Stopped(Exception):
    """The reader was told to end."""


def is_right(path: Path, file: RemoteFile, on_bytes: Callable[[int], bool]) -> bool:
    """Whether the content is what the hub promised. `on_bytes` hears how many more were read, and says if to go on.

    Raises OSError, or Stopped.
    """
    # SHA-1 is Git's, and all that the hub tells of small files; what is loaded as weights always has SHA-256.
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(b"blob %d\0" % file.size_bytes, usedforsecurity=False)
    num_bytes = 0
    buffer = memoryview(bytearray(READ_BYTES))
    with path.open("rb", buffering=0) as source:
        while num_read := source.readinto(buffer):
            digest.update(buffer[:num_read])
            num_bytes += num_read
            if not on_bytes(num_read):
                raise Stopped
    return num_bytes == file.size_bytes and digest.hexdigest() == file.etag
