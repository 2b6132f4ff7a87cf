"""The blocks of one scope on disk: reading and writing of files. The disk's thread; `DiskCache` makes it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from engine.disk_cache.block_file import DamagedBlock, file_bytes, file_name, read_block, read_content, write_block
from engine.disk_cache.ledger import USE_STEP_S, Ledger, Scope, do_each, make_private, write_about
from engine.prefix_index import BlockContent

PAUSE_S = 60.0                      # after a write that failed

logger = structlog.get_logger(__name__)


def used_s(text_used_s: float, depth: int) -> float:
    """When a block counts as used, by the clock on the wall: the deeper in its text, the earlier.

    So ends go first, and the beginning, which other texts may share, stays. However long the writing of a text takes,
    all its blocks are given the same `text_used_s`.
    """
    return text_used_s - depth * USE_STEP_S


class BlockFolder:
    """`on_gone` is told the name of each block that was removed, for whatever reason."""

    def __init__(
        self, path: Path, scope: Scope, ledger: Ledger, *, block_size: int, token_bytes: int,
        on_gone: Callable[[int], None],
    ) -> None:
        self.path = path
        self.on_gone = on_gone
        self.gave_up = False                # set by any thread: nothing more is written
        self._scope = scope
        self._key = scope.key
        self._ledger = ledger
        self._block_size = block_size
        self._token_bytes = token_bytes
        self._resumes_s = 0.0

    def open(self) -> list[BlockContent]:
        """What is here, by the files' own word. Raises OSError: then nothing is written here, either."""
        try:
            self._make()
        except OSError:
            self.gave_up = True
            raise
        contents: list[BlockContent] = []
        damages: list[str] = []
        for path in self._ledger.paths_in(self.path):
            try:
                contents.append(read_content(path, block_size=self._block_size, token_bytes=self._token_bytes))
            except (DamagedBlock, OSError) as error:
                damages.append(str(error))
                with suppress(OSError):         # then it stays, and is of no use
                    self._ledger.remove(path)
        _tell(damages)
        return contents

    def read(self, uses: Iterable[tuple[int, float]]) -> dict[int, memoryview]:
        """KV of the blocks that can be read, of (name, `used_s`).

        The others are for `drop`: what is computed again is written again.
        """
        found: dict[int, memoryview] = {}
        damages: list[str] = []
        for name, last_used_s in uses:
            path = self._path_of(name)
            try:
                found[name] = read_block(
                    path, block_size=self._block_size, token_bytes=self._token_bytes, key=self._key
                )
            except (DamagedBlock, OSError) as error:
                damages.append(str(error))
            else:
                self._ledger.touch(path, last_used_s)
        _tell(damages)
        return found

    def write(self, content: BlockContent, last_used_s: float, buffers: Sequence[memoryview]) -> bool:
        """Whether it is on disk now. After a failure nothing is tried for a while. Raises OSError."""
        num_bytes = file_bytes(len(content.token_ids), self._token_bytes)
        if self.gave_up or time.monotonic() < self._resumes_s:
            return False
        path = self._path_of(content.name)
        try:
            if not self.path.is_dir():              # somebody emptied the cache
                self._make()
            if not self._ledger.make_room(num_bytes):
                return False
            write_block(path, content, buffers, key=self._key)
        except OSError:
            self._resumes_s = time.monotonic() + PAUSE_S
            raise
        self._ledger.add(path, num_bytes, last_used_s)
        with suppress(OSError):                     # then it counts as used when it was written
            os.utime(path, (last_used_s, last_used_s))
        return True

    def touch(self, uses: Iterable[tuple[int, float]]) -> None:
        """(name, `used_s`) of blocks that were used in memory: here they are not to be forgotten either."""
        for name, last_used_s in uses:
            self._ledger.touch(self._path_of(name), last_used_s)

    def drop(self, names: Iterable[int]) -> None:
        do_each(map(self._path_of, names), self._ledger.remove)

    def _make(self) -> None:
        make_private(self.path.parent)
        make_private(self.path)
        write_about(self.path, self._scope)

    def _path_of(self, name: int) -> Path:
        return self.path / file_name(name)


def _tell(damages: list[str]) -> None:
    """One line, however many they are. What they held is computed again."""
    if damages:
        logger.warning("kv_blocks_damaged", number=len(damages), first=damages[0])
