"""One Inglenook a data folder: a lock that the kernel keeps, and in it a note that tells a second start of the first.

However the holder ends, the lock ends too; a note without a lock means nothing. Claimed by `app.cli`, main thread.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from engine.small_file import read_small

LOCK_FILE_NAME = "inglenook.lock"
MAX_NOTE_BYTES = 65_536

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 30           # far behind the note: a locked byte cannot be read by others

    def _lock(handle: int) -> None:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@dataclass(frozen=True, slots=True)
class Note:
    """What the first start says of itself. Readable by its owner only: `secret` raises its window."""

    pid: int
    url: str | None = None           # None: still starting
    control_port: int | None = None  # of 127.0.0.1, where the window listens; None: there is no window
    secret: str = ""


class AlreadyRunning(Exception):
    """Another process serves this data folder."""

    def __init__(self, data_dir: Path, note: Note | None) -> None:
        self.note = note
        who = f" (process {note.pid}{f', {note.url}' if note.url else ''})" if note else ""
        self.fact = f"Inglenook runs already on {data_dir}{who}."       # which is as it should be for who only looks
        super().__init__(f"{self.fact} Use that one, end it first, or choose another --data-dir.")


class Instance:
    """The lock, held. A context manager."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.publish(Note(os.getpid()))

    @classmethod
    def claim(cls, data_dir: Path) -> Instance:
        """Raises AlreadyRunning, or OSError where the folder cannot be used."""
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(data_dir / LOCK_FILE_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError) as error:
            os.close(handle)
            raise AlreadyRunning(data_dir, note_of(data_dir)) from error
        return cls(handle)

    def publish(self, note: Note) -> None:
        text = json.dumps(asdict(note)).encode()
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, text)
        os.truncate(self._handle, len(text))

    def release(self) -> None:
        os.truncate(self._handle, 0)
        os.close(self._handle)

    def __enter__(self) -> Instance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def note_of(data_dir: Path) -> Note | None:
    """The note of whoever holds the folder; only worth something while somebody does."""
    try:
        return _parse(read_small(data_dir / LOCK_FILE_NAME, MAX_NOTE_BYTES))
    except OSError:
        return None


def _parse(text: bytes) -> Note | None:
    """None in the moment in which the other one is just starting or ending."""
    try:
        return Note(**json.loads(text))
    except (ValueError, TypeError):
        return None
