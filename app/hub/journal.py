"""Which bytes of a file are on the disk for certain: a small JSON beside the `.part`, written after data was synced.

So whatever ends the process, and even the machine, all that the journal names is there; nothing is read again to find
out. On the hub's thread; `save` on another, for it waits for the disk.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.hub.files import RemoteFile
from app.hub.layout import journal_of
from engine.small_file import read_small

VERSION = 1


class Coverage:
    """A set of bytes, as stretches [start, end) that do not touch, in order."""

    def __init__(self, stretches: Iterator[tuple[int, int]] | tuple[tuple[int, int], ...] = ()) -> None:
        self._stretches: list[tuple[int, int]] = []
        for start, end in stretches:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        first = bisect_left(self._stretches, start, key=lambda stretch: stretch[1])
        last = first
        while last < len(self._stretches) and self._stretches[last][0] <= end:
            start, end = min(start, self._stretches[last][0]), max(end, self._stretches[last][1])
            last += 1
        self._stretches[first:last] = [(start, end)]

    @property
    def num_bytes(self) -> int:
        return sum(end - start for start, end in self._stretches)

    @property
    def num_first_bytes(self) -> int:
        """From the beginning on, without a gap."""
        return self._stretches[0][1] if self._stretches and not self._stretches[0][0] else 0

    def stretches(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._stretches)

    def gaps(self, size: int, longest: int) -> Iterator[tuple[int, int]]:
        """What is missing of `size` bytes, from the beginning on, in pieces of at most `longest`."""
        at = 0
        for start, end in (*self._stretches, (size, size)):
            while at < min(start, size):
                piece_end = min(at + longest, start, size)
                yield at, piece_end
                at = piece_end
            at = max(at, end)


@dataclass(slots=True)
class Journal:
    part: Path
    file: RemoteFile
    coverage: Coverage = field(default_factory=Coverage)
    etag: str = ""                  # of whoever serves the bytes, which may be another host than the hub
    is_verified: bool = False

    @classmethod
    def open(cls, part: Path, file: RemoteFile) -> Journal:
        """What is there of this very content; what is there of any other is removed."""
        journal = cls(part, file)
        try:
            stored = json.loads(read_small(journal_of(part)))
            size = _size_of(part)
        except (OSError, ValueError, RecursionError):
            journal.discard()
            return journal
        if not journal._read(stored, size):
            journal.discard()
        return journal

    def save(self, handle: int | None = None) -> None:
        """`handle`: the open part, whose bytes are made sure of first."""
        stretches = self.coverage.stretches()           # before: what comes meanwhile is not yet sure
        if handle is not None:
            os.fsync(handle)
        text = json.dumps({
            "version": VERSION, **self._identity(), "etag": self.etag, "is_verified": self.is_verified,
            "stretches": stretches,
        })
        path = journal_of(self.part)
        draft = path.with_name(path.name + ".new")
        draft.unlink(missing_ok=True)           # and whatever else has its name: a pipe would keep us for ever
        with draft.open("x", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)

    def discard(self) -> None:
        """Begin anew."""
        self.coverage, self.etag, self.is_verified = Coverage(), "", False
        for path in (journal_of(self.part), self.part):         # in this order: no journal ever speaks of lost bytes
            with suppress(FileNotFoundError):
                path.unlink()

    def _identity(self) -> dict[str, Any]:
        return {"size_bytes": self.file.size_bytes, "hash": self.file.etag}

    def _read(self, stored: Any, size: int) -> bool:
        if not isinstance(stored, dict) or stored.get("version") != VERSION:
            return False
        if any(stored.get(name) != value for name, value in self._identity().items()):
            return False
        try:
            stretches = [(int(start), int(end)) for start, end in stored["stretches"]]
            self.etag, self.is_verified = str(stored["etag"]), stored["is_verified"] is True
        except (KeyError, TypeError, ValueError, OverflowError):
            return False
        if any(not 0 <= start < end <= min(size, self.file.size_bytes) for start, end in stretches):
            return False
        self.coverage = Coverage(tuple(stretches))
        return True


def bytes_there(part: Path, file: RemoteFile) -> int:
    """Of a download that does not run. Removes nothing."""
    try:
        stored, size = json.loads(read_small(journal_of(part))), _size_of(part)
    except (OSError, ValueError, RecursionError):
        return 0
    journal = Journal(part, file)
    return journal.coverage.num_bytes if journal._read(stored, size) else 0


def _size_of(part: Path) -> int:
    """Raises OSError; also of what is no file, for that holds nothing of ours."""
    status = part.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(part))
    return status.st_size
