"""Brings one model's files here: whole, checked, or not at all. On the hub's thread; hashing and syncing on others.

Each file is fetched in pieces over several connections into a `.part`, whose journal says what is there for certain.
Its hash follows what is there from the beginning on, while the system still has that in memory.
All files are checked against the hub's hashes before the first is moved to its place; the one to load is moved last.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from app.errors import HubBusy, HubDistrusted, HubError, HubRefused, NotFound, said
from app.hub.client import HubClient
from app.hub.disk import NO_SPACE, Disk, NoRoom
from app.hub.files import RemoteFile
from app.hub.journal import Journal, bytes_there
from app.hub.layout import Layout
from app.hub.pace import Pace, Patience
from app.hub.source import IgnoresRanges, Source, SourceChanged
from app.hub.verify import Check, to_its_end
from app.language import Said

NUM_CONNECTIONS = 4
PIECE_BYTES = 32 << 20
BLOCK_BYTES = 1 << 20               # read from a line before it is written
# Of a block, at once. Linux takes a stretch of memory of that size for it: larger ones are no cheaper, and on virtual
# machines, which give large free ones back to their host, ten times as dear (4 MB: 2.7 s a GB instead of 0.25).
WRITE_BYTES = 256 << 10
HASH_BYTES = 32 << 20               # so much more must be there before the hash follows
SAVE_INTERVAL_S = 1.0               # what `kill -9` costs at the most


class WrongContent(HubError):
    """All bytes came, and they are not what the hub promised."""


@dataclass(slots=True)
class Progress:
    """How far it has got. Written on the hub's thread, read anywhere."""

    total_bytes: int = 0
    done_bytes: int = 0
    checked_bytes: int = 0          # of the file whose hash is waited for
    is_verifying: bool = False
    note: str = ""                  # why nothing comes at the moment


@dataclass(slots=True, kw_only=True)
class Transfer:
    client: HubClient
    layout: Layout
    progress: Progress = field(default_factory=Progress)
    pace: Pace = field(default_factory=Pace)
    patience: Patience = field(default_factory=Patience)
    disk: Disk = field(default_factory=Disk)
    num_connections: int = NUM_CONNECTIONS
    piece_bytes: int = PIECE_BYTES
    save_interval_s: float = SAVE_INTERVAL_S
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self) -> None:
        """Returns when all files are in their places. Raises HubError, NotFound, NoRoom or OSError; what came by then
        stays as parts, and the next run goes on from there. May be cancelled at any time.
        """
        self.client.check_online()
        missing = [file for file in self.layout.files if not self.layout.is_placed(file)]
        self.progress.total_bytes = sum(file.size_bytes for file in self.layout.files)
        self.progress.done_bytes = await asyncio.to_thread(bytes_here, self.layout)
        needed_bytes = self.progress.total_bytes - self.progress.done_bytes
        await asyncio.to_thread(self.disk.check, self.layout.root, needed_bytes)
        for file in missing:
            await self._bring(file)
        for file in reversed(missing):
            await asyncio.to_thread(self.layout.put, file)

    async def _bring(self, file: RemoteFile) -> None:
        """To its part, or blob, checked."""
        if (blob := self.layout.blob(file)) is not None and await self._is_right(Check(blob, file)):
            return
        part = self.layout.part(file)
        part.parent.mkdir(parents=True, exist_ok=True)
        fetch = _Fetch(self, file, await asyncio.to_thread(Journal.open, part, file))
        if fetch.journal.is_verified:
            return
        await fetch.run()
        if not await self._is_right(fetch.check):
            self.progress.done_bytes -= file.size_bytes
            fetch.journal.discard()
            raise WrongContent(Said("hub-wrong-content", file=file.name))
        await asyncio.to_thread(fetch.note_verified)

    async def _is_right(self, check: Check) -> bool:
        def tell(num_bytes: int) -> None:
            self.progress.checked_bytes = num_bytes

        self.progress.is_verifying, self.progress.checked_bytes = True, check.num_bytes
        try:
            return await check.is_right(tell)
        finally:
            self.progress.is_verifying = False


@dataclass(slots=True)
class _Fetch:
    """The bytes of one file."""

    transfer: Transfer
    file: RemoteFile
    journal: Journal
    source: Source = field(init=False)
    check: Check = field(init=False)
    grown: asyncio.Event = field(default_factory=asyncio.Event)     # HASH_BYTES more can be hashed
    is_whole: bool = False              # the source cannot be trusted with stretches
    has_restarted: bool = False

    def __post_init__(self) -> None:
        layout = self.transfer.layout
        self.source = Source(self.transfer.client, layout.repo, layout.commit_sha, self.file)
        self.check = Check(self.journal.part, self.file)

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            self.source.close()

    async def _run(self) -> None:
        waits = self.transfer.patience.waits()
        while not self._is_complete():
            had_bytes = self.journal.coverage.num_bytes
            try:
                await self._attempt()
            except (HubRefused, HubDistrusted):
                raise
            except IgnoresRanges:
                if self.is_whole:
                    raise
                self.is_whole = True
                self._begin_anew()
            except SourceChanged:
                self._begin_anew()
                if self.has_restarted:
                    raise
                self.has_restarted = True           # the hub is asked again: it says whether it is still this file
                self.source.forget_location()
            except HubError as error:
                if self.journal.coverage.num_bytes > had_bytes:
                    waits = self.transfer.patience.waits()
                await self._wait(error, waits)

    def note_verified(self) -> None:
        """So that a restart between here and the last file does not check it again."""
        self.journal.is_verified = True
        with self._telling_when_full():
            self.journal.save()

    def _is_complete(self) -> bool:
        if self.file.size_bytes == 0:
            self.journal.part.touch()
        return self.journal.coverage.num_bytes == self.file.size_bytes

    def _begin_anew(self) -> None:
        self.transfer.progress.done_bytes -= self.journal.coverage.num_bytes
        self.journal.discard()
        self.check = Check(self.journal.part, self.file)

    async def _wait(self, error: HubError, waits: Iterator[float]) -> None:
        wait_s = next(waits, None)
        if wait_s is None:
            raise error
        if isinstance(error, HubBusy) and error.retry_after_s:
            wait_s = max(wait_s, error.retry_after_s)
        self.source.forget_location()
        self.transfer.progress.note = Said("hub-next-attempt", reason=said(error), seconds=round(wait_s))
        try:
            await self.transfer.sleep(wait_s)
        finally:
            self.transfer.progress.note = ""

    async def _attempt(self) -> None:
        """Ends when all is there, or raises the gravest of what went wrong."""
        size = self.file.size_bytes
        if self.is_whole and self.journal.coverage.num_bytes:
            self._begin_anew()
        longest = size if self.is_whole else self.transfer.piece_bytes
        pieces = deque(self.journal.coverage.gaps(size, longest))
        num_workers = 1 if self.is_whole else min(self.transfer.num_connections, len(pieces))
        self.journal.part.touch(mode=0o644)
        with FileIO(self.journal.part, "r+") as out:
            try:
                async with asyncio.TaskGroup() as group:
                    workers = [group.create_task(self._work(pieces, out)) for _ in range(num_workers)]
                    beside = [group.create_task(self._keep_journal(out)), group.create_task(self._keep_hash())]
                    await asyncio.wait(workers)
                    for each in beside:
                        each.cancel()
            except BaseExceptionGroup as errors:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise asyncio.CancelledError from errors        # told to end in the same moment
                raise _gravest(errors) from None
            finally:
                with suppress(NoRoom):      # then the last one that could be written stands
                    await to_its_end(lambda: self._save(out))

    async def _work(self, pieces: deque[tuple[int, int]], out: FileIO) -> None:
        buffer, pace = memoryview(bytearray(BLOCK_BYTES)), self.transfer.pace
        while pieces:
            at, end = pieces.popleft()
            async with self.source.open(at, end, self.journal.etag) as body:
                self.journal.etag = self.journal.etag or body.response.headers.get("etag", "")
                while at < end:                 # a body may be longer than it should be
                    portion = pace.portion(min(end - at, _to_block_end(at)))
                    if not (num_bytes := await body.read_into(buffer[:portion])):
                        break
                    await pace.take(num_bytes)
                    self._write(out, at, buffer[:num_bytes])
                    at += num_bytes
            if at < end:
                raise HubError(Said("hub-cut", file=self.file.name))

    def _write(self, out: FileIO, at: int, piece: memoryview) -> None:
        with self._telling_when_full():
            out.seek(at)
            left = piece
            while left:
                left = left[out.write(left[:WRITE_BYTES]):]
        coverage = self.journal.coverage
        coverage.add(at, at + len(piece))
        self.transfer.progress.done_bytes += len(piece)
        if coverage.num_first_bytes - self.check.num_bytes >= HASH_BYTES:
            self.grown.set()

    def _save(self, out: FileIO) -> None:
        with self._telling_when_full():
            self.journal.save(out.fileno())

    @contextmanager
    def _telling_when_full(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in NO_SPACE:
                raise self.transfer.disk.full(self.transfer.layout.root) from error
            raise

    async def _keep_journal(self, out: FileIO) -> None:
        while True:
            await asyncio.sleep(self.transfer.save_interval_s)
            await to_its_end(lambda: self._save(out))
            await asyncio.to_thread(self.transfer.disk.check_while_running, self.transfer.layout.root)

    async def _keep_hash(self) -> None:
        """After the bytes from the beginning on, of this run and of earlier ones."""
        while True:
            self.grown.clear()          # before: what comes while it reads is not to be missed
            await self.check.read_to(self.journal.coverage.num_first_bytes)
            await self.grown.wait()


def bytes_here(layout: Layout) -> int:
    """Of all files, in their places or on the way."""
    return sum(
        file.size_bytes if layout.is_placed(file) or layout.blob(file) else bytes_there(layout.part(file), file)
        for file in layout.files
    )


def discard(layout: Layout, needed: Collection[Path] = ()) -> None:
    """Of a download that is given up: all that came of it, but for what others need. What is in its place in the cache
    that is shared stays: other programs may use it by now.
    """
    for file in layout.files:
        if layout.part(file) not in needed:
            layout.remove(file)
        if not layout.is_shared and layout.place(file) not in needed:
            layout.place(file).unlink(missing_ok=True)
    layout.remove_empty_folders()


def _gravest(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Several connections break at once; what tells most is what a person should read."""
    kinds = (NotFound, HubRefused, HubDistrusted, SourceChanged, IgnoresRanges, NoRoom, OSError)
    by_kind = (error for kind in kinds for error in errors.exceptions if isinstance(error, kind))
    return next(by_kind, errors.exceptions[0])


def _to_block_end(at: int) -> int:
    return BLOCK_BYTES - at % BLOCK_BYTES
