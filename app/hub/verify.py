"""Computes the hash by which the hub names a file, on a thread of an executor: a GB takes half a second and more."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from app.hub.files import RemoteFile

T = TypeVar("T")

READ_BYTES = 1 << 20            # what a processor's own cache holds


@dataclass(slots=True)
class Check:
    """The hash of a file as far as it has been read: it can follow what is still being written. On the hub's thread."""

    path: Path
    file: RemoteFile
    num_bytes: int = 0              # read so far, from the beginning on; written on the thread that reads
    _stop: threading.Event = field(default_factory=threading.Event)
    _digest: hashlib._Hash = field(init=False)

    def __post_init__(self) -> None:
        # SHA-1 is Git's, and all that the hub tells of small files; what is loaded as weights always has SHA-256.
        self._digest = hashlib.sha256() if self.file.sha256 else hashlib.sha1(
            b"blob %d\0" % self.file.size_bytes, usedforsecurity=False
        )

    async def read_to(self, end: int, tell: Callable[[int], None] = lambda _num_bytes: None) -> None:
        """Go on to there, or to the file's end. Cancelled, it stops soon, and may go on another time. Raises OSError.

        `tell` hears how far it is, on the thread that reads.
        """
        self._stop.clear()
        await to_its_end(lambda: self._read_to(end, tell), self._stop.set)

    async def is_right(self, tell: Callable[[int], None]) -> bool:
        """Whether the whole content is what the hub promised; what is left of it is read first. Raises OSError."""
        await self.read_to(self.file.size_bytes + 1, tell)
        return self.num_bytes == self.file.size_bytes and self._digest.hexdigest() == self.file.etag

    def _read_to(self, end: int, tell: Callable[[int], None]) -> None:
        buffer = memoryview(bytearray(READ_BYTES))
        with self.path.open("rb", buffering=0) as source:
            source.seek(self.num_bytes)
            while not self._stop.is_set() and (num_read := source.readinto(buffer[: end - self.num_bytes])):
                self._digest.update(buffer[:num_read])
                self.num_bytes += num_read
                tell(self.num_bytes)


async def to_its_end(work: Callable[[], T], on_cancel: Callable[[], None] = lambda: None) -> T:
    """On a thread. Cancelled, it still returns when that has ended: it uses a file which is then closed or moved."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        on_cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()             # nobody waits for it any more
        raise
