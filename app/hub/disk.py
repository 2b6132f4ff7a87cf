"""Whether there is room: checked with numbers before anything is fetched, and again while it comes. Any thread."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict
from app.language import Said
from engine.sizes import GIB, size

KEPT_FREE_BYTES = 2 * GIB         # of the volume: the database must go on being written
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class NoRoom(Conflict):
    pass


def free_bytes(folder: Path) -> int:
    """Of the volume on which it is, or will be. Raises OSError."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class Disk:
    kept_free_bytes: int = KEPT_FREE_BYTES
    free: Callable[[Path], int] = free_bytes

    def check(self, folder: Path, needed_bytes: int, promised_bytes: int = 0) -> None:
        """Raises NoRoom with numbers. `promised_bytes`: what other downloads are still to bring here."""
        free = self.free(folder)
        if needed_bytes + promised_bytes + self.kept_free_bytes <= free:
            return
        raise NoRoom(Said(
            "disk-no-room-beside" if promised_bytes else "disk-no-room",
            needed=size(needed_bytes), promised=size(promised_bytes), kept=size(self.kept_free_bytes),
            free=size(free), folder=str(folder),
            lacking=size(needed_bytes + promised_bytes + self.kept_free_bytes - free),
        ))

    def check_while_running(self, folder: Path) -> None:
        if (free := self.free(folder)) < self.kept_free_bytes:
            raise self.full(folder, free)

    def full(self, folder: Path, free: int | None = None) -> NoRoom:
        if free is None:
            return NoRoom(Said("disk-full", folder=str(folder)))
        kept = size(self.kept_free_bytes)
        return NoRoom(Said("disk-nearly-full", folder=str(folder), free=size(free), kept=kept))
