"""The queue of downloads: two run at a time, within the hours that an admin allows. On the event loop; the bytes travel
on the hub's thread (`app.hub`). Called by `DownloadService` only.

The rows of `download` are its memory, and one process at a time has it: a server, or a command where no server runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog

from app.errors import Conflict
from app.hub.disk import Disk
from app.hub.layout import Layout
from app.hub.pace import Patience
from app.hub.transfer import Progress, Transfer, bytes_here
from app.instance import AlreadyRunning, Instance
from app.language import Said, kept
from app.services.changes import Change, Changes
from app.services.download_places import DownloadPlaces
from app.services.download_rules import DownloadRules, RuleBook
from app.services.download_status import DownloadStatus, Meter, status_of_row, status_of_running, stopped_by
from app.services.hub import HubService
from app.settings import Settings
from store import downloads
from store.database import Database
from store.errors import StoreError
from store.tables import Download, DownloadState

MAX_RUNNING = 2
ANNOUNCE_INTERVAL_S = 0.5
LOOK_AGAIN_S = 30.0             # whether the hours have come, or gone, or another process has ended

UNDER_WAY = (DownloadState.QUEUED, DownloadState.DOWNLOADING, DownloadState.VERIFYING)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Running:
    progress: Progress
    task: asyncio.Task[None]
    meter: Meter = field(default_factory=Meter)


class DownloadQueue:
    def __init__(
        self, db: Database, hub: HubService, changes: Changes, settings: Settings, disk: Disk, patience: Patience,
        register: Callable[[Download, Layout], Awaitable[str]],
    ) -> None:
        """`register` makes a model of files that are whole, and gives its id; it may raise AppError."""
        self._db = db
        self._hub = hub
        self._changes = changes
        self._settings = settings
        self._disk = disk
        self._patience = patience
        self._register = register
        self.rows: dict[str, Download] = {}             # all of them, oldest first; `change` keeps the database alike
        self.places = DownloadPlaces(db, settings)
        self._book = RuleBook(db, settings)
        self._running: dict[str, _Running] = {}
        self._ticker: asyncio.Task[None] | None = None
        self._instance: Instance | None = None          # held while this process has the queue
        self._runs_all = True
        self._wanted: set[str] = set()                  # those that run where not all do
        self._taking = asyncio.Lock()
        self._begun = asyncio.Event()                   # something has started to run
        self._is_closed = False

    async def start(self, *, runs_all: bool) -> None:
        """Take the queue, if nobody has it. What ran when the last process ended is at its front again; where not
        `runs_all`, only what is wanted from now on runs. Nothing is asked of the hub.
        """
        self._runs_all = runs_all
        await self._book.load()
        if not await self._take():
            await self._read_rows()
        self.pump()

    async def close(self) -> None:
        """Stop what runs; its rows say that it did, so that the next start goes on. Idempotent."""
        self._is_closed = True
        tasks = [running.task for running in self._running.values()]
        if self._ticker is not None:
            tasks.append(self._ticker)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._instance is not None:
            self._instance.release()
            self._instance = None

    async def check_is_ours(self) -> None:
        if not await self._take():
            raise Conflict(Said("download-by-other"))

    @property
    def rules(self) -> DownloadRules:
        return self._book.rules

    async def set_rules(self, rules: DownloadRules) -> None:
        """In force at once. Raises InvalidInput."""
        await self._book.change(rules)
        await self._mind_the_hours()
        self.pump()
        self.announce()

    # --- one download ------------------------------------------------------------------------------------------------

    def status(self, row: Download) -> DownloadStatus:
        if (running := self._running.get(row.id)) is not None:
            return status_of_running(row, running.progress, running.meter)
        return status_of_row(row, waits_for=self._waits_for(row) if row.state is DownloadState.QUEUED else "")

    async def enqueue(self, row: Download) -> None:
        """Raises NoRoom."""
        await self.count_bytes(row)
        await self.check_room(row)
        await self.change(row, state=DownloadState.QUEUED, reason="")
        self.want(row)

    def want(self, row: Download) -> None:
        """Have one that is QUEUED run, also where not all do."""
        self._wanted.add(row.id)
        self.pump()
        self.announce()

    async def stop(self, row: Download, state: DownloadState) -> None:
        """Returns when nothing of it runs any more. One that has ended meanwhile keeps the state in which it ended."""
        if (running := self._running.get(row.id)) is not None:
            running.task.cancel()
            await asyncio.wait({running.task})
        if row.state in UNDER_WAY:
            await self.change(row, state=state, reason="", done_bytes=row.done_bytes)
        self.announce()

    async def forget(self, row: Download) -> None:
        await self._db.run(downloads.remove, row.id)
        self.rows.pop(row.id, None)
        self.announce()

    async def change(self, row: Download, **values: Any) -> None:
        """Here at once, and in the database; if that cannot be written now, a later change may do it."""
        for name, value in values.items():
            setattr(row, name, value)
        try:
            stored = {name: kept(value) if isinstance(value, Said) else value for name, value in values.items()}
            await self._db.run(downloads.change, row.id, stored)
        except StoreError as error:
            log.warning("a download's state could not be stored", repo=row.repo, reason=str(error))

    def layout(self, row: Download) -> Layout:
        return self.places.layout(row)

    async def count_bytes(self, row: Download) -> None:
        """How much is there of one that does not run."""
        if row.state is not DownloadState.ON_DISK and row.id not in self._running:
            row.done_bytes = await asyncio.to_thread(bytes_here, self.layout(row))

    async def check_room(self, row: Download) -> None:
        """Beside what others are still to bring to the same place. Raises NoRoom with numbers."""
        promised_bytes = sum(
            other.total_bytes - (self._running[other.id].progress if other.id in self._running else other).done_bytes
            for other in self.rows.values()
            if other.id != row.id and other.state in UNDER_WAY and other.layout == row.layout
        )
        needed_bytes = row.total_bytes - row.done_bytes
        await asyncio.to_thread(self._disk.check, self.layout(row).root, needed_bytes, promised_bytes)

    def announce(self) -> None:
        self._changes.announce_all(Change("downloads"))

    # --- running -----------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Start what may run, and watch over what waits."""
        if self._is_closed:
            return
        if self._instance is not None and self._book.wait_s() == 0:
            waiting = [row for row in self.rows.values() if row.state is DownloadState.QUEUED and self._may_run(row)]
            for row in waiting:
                if len(self._running) < MAX_RUNNING and not self._is_brought_from(row.repo):
                    self._begin(row)
        if self._ticker is None and any(row.state in UNDER_WAY for row in self.rows.values()):
            self._ticker = asyncio.create_task(self._tick())

    def _is_brought_from(self, repo: str) -> bool:
        """Two models of one repository may share files, such as their vocabulary: one comes after the other."""
        return any(self.rows[each].repo == repo for each in self._running)

    def _may_run(self, row: Download) -> bool:
        return self._runs_all or row.id in self._wanted

    def _begin(self, row: Download) -> None:
        row.state = DownloadState.DOWNLOADING
        progress = Progress(total_bytes=row.total_bytes, done_bytes=row.done_bytes)
        task = asyncio.create_task(self._run(row, progress))
        self._running[row.id] = _Running(progress, task)
        task.add_done_callback(lambda _task: self._ended(row))
        self._begun.set()

    def _ended(self, row: Download) -> None:
        del self._running[row.id]
        self.announce()
        self.pump()

    async def _run(self, row: Download, progress: Progress) -> None:
        """To its end, which stands in the row. What cancels it says what its state is then."""
        layout = self.layout(row)
        await self.change(row, state=DownloadState.DOWNLOADING, reason="")
        try:
            await self._hub.run(lambda client: Transfer(
                client=client, layout=layout, progress=progress, pace=self._book.pace, disk=self._disk,
                patience=self._patience,
            ).run())
            model_id = await self._register(row, layout)
        except asyncio.CancelledError:
            row.done_bytes = progress.done_bytes
            raise
        except Exception as error:      # noqa: BLE001  whatever it was, the row says so
            state, reason = stopped_by(error)
            row.done_bytes = progress.done_bytes
            await self.change(row, state=state, reason=reason, done_bytes=progress.done_bytes)
            log.warning("a download stopped", repo=row.repo, label=row.label, state=state.value, reason=reason)
        else:
            await self.change(
                row, state=DownloadState.ON_DISK, reason="", model_id=model_id, done_bytes=row.total_bytes
            )
            log.info("a model was downloaded", repo=row.repo, label=row.label, model=model_id)

    async def _tick(self) -> None:
        """While something runs or waits: tell pages how far it is, and mind the hours."""
        loop = asyncio.get_running_loop()
        look_at_s = loop.time() + LOOK_AGAIN_S
        while any(row.state in UNDER_WAY for row in self.rows.values()):
            for running in self._running.values():
                running.meter.sample(loop.time(), running.progress.done_bytes)
            if self._running:
                self.announce()
            if loop.time() >= look_at_s:
                look_at_s = loop.time() + LOOK_AGAIN_S
                await self._look_again()
            if self._running:
                await asyncio.sleep(ANNOUNCE_INTERVAL_S)
                continue
            self._begun.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._begun.wait()
        self._ticker = None

    # --- hours, rules, and who has the queue -------------------------------------------------------------------------

    async def _look_again(self) -> None:
        try:
            await self._take()
        except (OSError, StoreError) as error:      # a full disk, say: the next time may do
            log.warning("the queue of downloads could not be taken", reason=str(error))
        await self._mind_the_hours()
        self.pump()

    async def _mind_the_hours(self) -> None:
        if self._book.wait_s() > 0:
            for download_id in list(self._running):
                await self.stop(self.rows[download_id], DownloadState.QUEUED)

    def _waits_for(self, row: Download) -> str:
        if not self._may_run(row):
            return Said("download-waits-for-start")
        if self._book.wait_s() > 0:
            return Said("download-waits-for-hours", hours=self.rules.hours)
        if self._instance is None:
            return Said("download-waits-for-process")
        return Said("download-waits-for-others")

    async def _take(self) -> bool:
        """Whether the queue is ours. If it was not until now, another process may have changed it."""
        async with self._taking:
            if self._instance is not None:
                return True
            instance = await asyncio.to_thread(self._claim)
            if instance is None:
                return False
            try:
                await self._read_rows()
            except BaseException:       # whoever has the queue must know what is in it
                instance.release()
                raise
            self._instance = instance
            for row in self.rows.values():
                if row.state in UNDER_WAY:
                    row.state = DownloadState.QUEUED    # as nothing runs; in the database it may stay as it is
            return True

    async def _read_rows(self) -> None:
        self.rows = {row.id: row for row in await self._db.read(downloads.list_all)}
        await self.places.load(self.rows)
        for row in self.rows.values():
            await self.count_bytes(row)

    def _claim(self) -> Instance | None:
        try:
            return Instance.claim(self._settings.data_dir / "downloads")
        except AlreadyRunning:
            return None
