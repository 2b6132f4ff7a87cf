"""What the cache on disk holds, of all models together: how much, when each block was last used, and what must go.
The disk's thread.

    <folder>/<scope>/about.json      what the scope's blocks depend on
                     <name>          a block

A block's last use is its file's time of modification, so that it outlives a restart. What is removed: the least
recently used, where the budget or the disk is full; what nobody used for days, for what people wrote can be read out
of it; and all blocks of a model whose file is gone or another. What cannot be removed, or is no work of ours, stands
in the way of nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from engine.disk_cache.block_file import DRAFT_SUFFIX, is_block_name, open_private
from engine.prefix_index import NAME_BYTES
from engine.small_file import read_small

DEFAULT_LIMIT_BYTES = 4 << 30       # of the starter model 120 chats of 1,500 tokens, of an 8B 20 (F16)
DEFAULT_LIMIT_SHARE = 4             # but no more than one part in so many of what the disk has left
LEFT_FREE_BYTES = 2 << 30           # for everybody else, whatever the budget
MAX_AGE_S = 3 * 24 * 3600.0         # since the last use: from Friday to Monday
TOUCH_INTERVAL_S = 3600.0           # how exact the time of a last use is on disk
USE_STEP_S = 0.001                  # between two uses that came at once: they keep their order

_ABOUT_FILE = "about.json"
_MAX_ABOUT_BYTES = 1 << 20
_SPARE_SHARE = 20                   # once something must go, one part in so many goes: sorting is for more than one

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a model's KV depends on: blocks of another scope are of no use, and are never looked at."""

    files: tuple[Path, ...]         # the model's
    facts: tuple[str, ...]          # whatever else: library, type of KV, adapters, size of a block
    identities: tuple[str, ...]     # of the files, at the time

    @classmethod
    def of(cls, files: Iterable[Path], facts: Iterable[str]) -> Scope:
        """Raises OSError where a file is gone."""
        files = tuple(files)
        return cls(files, tuple(facts), identities_of(files))

    @property
    def key(self) -> bytes:
        what = json.dumps([list(map(str, self.files)), self.facts, self.identities])
        return blake2b(what.encode(), digest_size=NAME_BYTES).digest()

    @property
    def is_current(self) -> bool:
        """Whether the files are still those."""
        try:
            return self.identities == identities_of(self.files)
        except OSError:
            return False


@dataclass(slots=True)
class _Entry:
    num_bytes: int
    used_s: float
    saved_s: float                  # the same as its file has it, not quite as exact


class Ledger:
    """`on_gone` is told of each block that was removed here."""

    def __init__(
        self, folder: Path, limit_bytes: int | None, on_gone: Callable[[Path], None], *, max_age_s: float = MAX_AGE_S
    ) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._on_gone = on_gone
        self._max_age_s = max_age_s
        self._entries: dict[Path, _Entry] = {}
        self.num_bytes = 0

    def survey(self) -> None:
        """Learn what lies there, and remove what a process left half done. Raises OSError, once it has seen all."""
        make_private(self._folder)
        do_each(self._scopes(), lambda scope: do_each(scope.iterdir(), self._survey))

    def tidy(self, in_use: Iterable[Path]) -> None:
        """Remove what is too old, more than is allowed, or of a model that is not there any more.

        What somebody else removed is forgotten. Raises OSError, once all that can be removed is.
        """
        now_s = time.time()
        self._bring_back_to(now_s)
        oldest_s = now_s - self._max_age_s
        gone = [path for path, entry in self._entries.items() if entry.used_s < oldest_s or not os.path.lexists(path)]
        scopes = set(self._scopes()) - set(in_use)
        steps: tuple[Callable[[], object], ...] = (
            lambda: do_each(gone, self.remove),
            lambda: self.make_room(0),
            lambda: do_each(scopes, self._remove_if_idle),
        )
        do_each(steps, lambda step: step())

    def paths_in(self, scope: Path) -> list[Path]:
        return [path for path in self._entries if path.parent == scope]

    def add(self, path: Path, num_bytes: int, used_s: float) -> None:
        known = self._entries.get(path)
        self.num_bytes += num_bytes - (known.num_bytes if known else 0)
        self._entries[path] = _Entry(num_bytes, used_s, saved_s=used_s)

    def touch(self, path: Path, used_s: float) -> None:
        """A block was used; if there is one. That a disk cannot write it down is no failure: it holds till the end."""
        entry = self._entries.get(path)
        if entry is None:
            return
        entry.used_s = used_s
        if abs(used_s - entry.saved_s) > TOUCH_INTERVAL_S:      # not since the use before: that may be minutes ago
            try:
                os.utime(path, (used_s, used_s))
            except FileNotFoundError:
                self.remove(path)
            except OSError:
                return
            entry.saved_s = used_s

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        entry = self._entries.pop(path, None)
        if entry is not None:
            self.num_bytes -= entry.num_bytes
            self._on_gone(path)

    def make_room(self, num_bytes: int) -> bool:
        """Whether so many bytes may be written. The least recently used make way.

        Raises OSError where too few can be removed.
        """
        allowed_bytes = self._allowed_bytes()
        if num_bytes > allowed_bytes:
            return False
        if self.num_bytes + num_bytes > allowed_bytes:
            wanted_bytes = max(0, allowed_bytes - allowed_bytes // _SPARE_SHARE - num_bytes)
            failure: OSError | None = None
            for path, _ in sorted(self._entries.items(), key=lambda item: item[1].used_s):
                if self.num_bytes <= wanted_bytes:
                    break
                try:
                    self.remove(path)
                except OSError as error:
                    failure = error
            if failure is not None and self.num_bytes + num_bytes > allowed_bytes:
                raise failure
        return True

    def _survey(self, path: Path) -> None:
        status = path.lstat()
        if path.suffix == DRAFT_SUFFIX and not stat.S_ISDIR(status.st_mode):
            path.unlink(missing_ok=True)
        elif is_block_name(path.name) and stat.S_ISREG(status.st_mode):
            self.add(path, status.st_size, status.st_mtime)

    def _bring_back_to(self, now_s: float) -> None:
        """A clock that was ahead wrote uses that are yet to come: as if they were now, in their order.

        Else they would stay longer than anybody was promised, and all that is new would go before them.
        """
        ahead = [path for path, entry in self._entries.items() if entry.used_s > now_s]
        for rank, path in enumerate(sorted(ahead, key=lambda path: self._entries[path].used_s, reverse=True)):
            self.touch(path, now_s - rank * USE_STEP_S)

    def _allowed_bytes(self) -> int:
        available_bytes = self.num_bytes + shutil.disk_usage(self._folder).free
        limit_bytes = self._limit_bytes
        if limit_bytes is None:
            limit_bytes = min(DEFAULT_LIMIT_BYTES, available_bytes // DEFAULT_LIMIT_SHARE)
        return max(0, min(limit_bytes, available_bytes - LEFT_FREE_BYTES))

    def _scopes(self) -> Iterator[Path]:
        """Ours alone, whatever else somebody put here."""
        return (
            path for path in self._folder.iterdir()
            if is_block_name(path.name) and path.is_dir() and not path.is_symlink()
        )

    def _remove_if_idle(self, scope: Path) -> None:
        if _is_current(scope) and self.paths_in(scope):
            return
        for path in self.paths_in(scope):
            self.remove(path)
        shutil.rmtree(scope)


def do_each(things: Iterable[T], do: Callable[[T], object]) -> None:
    """All of them, whatever becomes of one. Then raises the first OSError that there was."""
    failures: list[OSError] = []
    for thing in things:
        try:
            do(thing)
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def identities_of(files: Iterable[Path]) -> tuple[str, ...]:
    """They change with the files' content. Raises OSError."""
    statuses = [file.stat() for file in files]
    return tuple(f"{status.st_size} {status.st_mtime_ns} {status.st_ino}" for status in statuses)


def make_private(folder: Path) -> None:
    """Raises OSError; also where it is a link: what that leads to may be anybody's, and is not ours to change."""
    if folder.is_symlink():
        raise OSError(f"{folder} is a link: nothing is cached there. Remove it, or move the whole data folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def write_about(folder: Path, scope: Scope) -> None:
    about = {"files": list(map(str, scope.files)), "facts": scope.facts, "identities": scope.identities}
    with open(folder / _ABOUT_FILE, "w", opener=open_private) as file:
        json.dump(about, file, indent=1)


def _is_current(folder: Path) -> bool:
    try:
        about = json.loads(read_small(folder / _ABOUT_FILE, _MAX_ABOUT_BYTES))
        scope = Scope(tuple(map(Path, about["files"])), tuple(about["facts"]), tuple(about["identities"]))
        return scope.key.hex() == folder.name and scope.is_current
    except (OSError, ValueError, TypeError, KeyError, RecursionError):      # half written, or none of ours
        return False
