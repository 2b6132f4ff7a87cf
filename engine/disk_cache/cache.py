"""The prefix cache on disk, of all models together: the thread that does its reading and writing, and its queue.

Made once, by `app.services.container`. Engines' threads ask for things here, through `DiskBlocks`, and never wait for
the disk: reads go before writes, and answers come by callbacks, on the disk's thread. A folder belongs to one process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import IntEnum
from itertools import count
from pathlib import Path
from queue import Empty, PriorityQueue
from shutil import rmtree

import structlog

from engine.disk_cache.folder import BlockFolder
from engine.disk_cache.ledger import MAX_AGE_S, Ledger, Scope
from engine.prefix_index import BlockContent

SETTLE_S = 2.0                      # from a text's end to its saving: what goes on at once is saved once
TIDY_INTERVAL_S = 3600.0
CLOSE_TIMEOUT_S = 5.0

logger = structlog.get_logger(__name__)


class Order(IntEnum):
    """Of jobs that wait."""

    READ = 0
    WRITE = 1
    END = 2


class DiskCache:
    """`limit_bytes`: None leaves it to the disk; 0 is off, and what was there is removed. A folder that is a link is
    left alone.
    """

    def __init__(
        self, folder: Path, limit_bytes: int | None = None, *, settle_s: float = SETTLE_S,
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self.settle_s = settle_s
        self._path = folder
        self._is_off = limit_bytes == 0
        self._is_link = folder.is_symlink()
        self._ledger = Ledger(folder, limit_bytes, self._on_gone, max_age_s=max_age_s)      # the thread's own
        self._folders: dict[Path, BlockFolder] = {}                                         # and so are these
        self._jobs: PriorityQueue[tuple[Order, int, Callable[[], object]]] = PriorityQueue()
        self._numbers = count()
        self._next_tidy_s = time.monotonic()
        self._lock = threading.Lock()                                                       # of the two below
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_on(self) -> bool:
        return not (self._is_off or self._is_link or self._is_closed)

    def start(self) -> None:
        """Tidy up, then wait for jobs; on a thread of its own. Idempotent."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._run, name="kv-disk", daemon=True)
                self._thread.start()

    def open(
        self, scope: Scope, *, block_size: int, token_bytes: int, on_open: Callable[[list[BlockContent]], None],
        on_gone: Callable[[int], None],
    ) -> BlockFolder:
        """`on_open` is told what is there already. Only where the cache is on."""
        self.start()
        folder = BlockFolder(
            self._path / scope.key.hex(), scope, self._ledger, block_size=block_size, token_bytes=token_bytes,
            on_gone=on_gone,
        )
        self.submit(Order.WRITE, lambda: self._open(folder, on_open))
        return folder

    def submit(self, order: Order, job: Callable[[], object]) -> None:
        """Have the thread do something. From any thread."""
        self._jobs.put((order, next(self._numbers), job))

    def finish(self, folder: BlockFolder, timeout_s: float) -> bool:
        """Wait until all that was asked for is done, then let go of a folder. False: some of it was given up."""
        is_done = threading.Event()
        self.submit(Order.WRITE, is_done.set)
        in_time = is_done.wait(timeout_s)
        folder.gave_up = True
        self.submit(Order.WRITE, lambda: self._close(folder))
        return in_time

    def close(self) -> None:
        """End the thread, after the engines. Idempotent. A disk that hangs is not waited for."""
        with self._lock:
            self._is_closed = True
        if self._thread is not None:
            self.submit(Order.END, lambda: None)
            self._thread.join(CLOSE_TIMEOUT_S)

    # -- on the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._is_link:
            self._attempt(self._ledger.survey)         # which says why it is refused
            return
        if self._is_off:
            rmtree(self._path, ignore_errors=True)
            return
        self._attempt(self._ledger.survey)
        while self._work():
            pass

    def _work(self) -> bool:
        """The next job, or what is due from time to time. False: that was the last."""
        due_in_s = self._next_tidy_s - time.monotonic()
        try:
            order, _, job = self._jobs.get(due_in_s > 0, due_in_s)
        except Empty:
            if due_in_s <= 0:
                self._next_tidy_s = time.monotonic() + TIDY_INTERVAL_S
                self._attempt(self._tidy)
            return True
        self._attempt(job)
        return order is not Order.END

    def _attempt(self, job: Callable[[], object]) -> None:
        """A disk that fails costs what is cached there, and so does a fault of ours: it is never an answer's end."""
        try:
            job()
        except OSError as error:
            logger.warning("kv_disk_failed", reason=str(error))
        except Exception:
            logger.exception("kv_disk_fault")

    def _tidy(self) -> None:
        self._ledger.tidy(self._folders)

    def _open(self, folder: BlockFolder, on_open: Callable[[list[BlockContent]], None]) -> None:
        contents: list[BlockContent] = []
        try:
            self._folders[folder.path] = folder
            self._attempt(self._tidy)           # a model that was replaced has another folder now
            contents = folder.open()
        finally:
            on_open(contents)

    def _close(self, folder: BlockFolder) -> None:
        if self._folders.get(folder.path) is folder:
            del self._folders[folder.path]

    def _on_gone(self, path: Path) -> None:
        folder = self._folders.get(path.parent)
        if folder is not None:
            folder.on_gone(int(path.name, 16))
