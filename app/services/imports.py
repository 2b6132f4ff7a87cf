"""A person's chats from elsewhere: a file is received, read bit by bit, and stored a conversation at a time.

An import belongs to the server, as an answer does: its page may go. Each conversation is one transaction, so whatever
ends the process leaves whole ones; the same file once more adds only what is missing. On the event loop; the file is
read and parsed on one thread for all imports, whose turns are a conversation long.
"""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections.abc import AsyncIterable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import TypeAlias

import structlog

from app.errors import Conflict, InvalidInput, TooLarge, said
from app.formats.archive import Progress, UnreadableFile
from app.formats.file_names import safe_name
from app.formats.reader import Skipped, read_conversations
from app.language import Said
from app.names import clean_label
from app.services.changes import Change, Changes
from app.services.chunks import in_pieces, on_disk, write_whole
from app.services.conversations import NEW_TITLE, title_from
from app.services.parameters import MAX_SYSTEM_PROMPT_CHARS, checked_system_prompt, fitting_parameters
from app.settings import Settings
from store import imports
from store.database import Database
from store.errors import StoreError
from store.imports import IncomingConversation, IncomingSetup, Merged
from store.tables import MessageRole, TitleSource, new_id

MAX_LISTED = 500                # of what was skipped; the rest is only counted
ANNOUNCE_INTERVAL_S = 0.5
KEPT_FREE_BYTES = 256 * 2**20   # on the disk, beside an upload and what becomes of it

log = structlog.get_logger(__name__)


class ImportState(StrEnum):
    RECEIVING = "receiving"
    READING = "reading"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"           # `problem` says why; what was stored by then is stored


@dataclass(slots=True)
class Import:
    """How far one file has got. Its service writes it, pages read it."""

    file_name: str
    state: ImportState = ImportState.RECEIVING
    progress: Progress = field(default_factory=Progress)
    counts: dict[Merged, int] = field(default_factory=lambda: dict.fromkeys(Merged, 0))
    num_skipped: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    problem: str = ""

    @property
    def is_running(self) -> bool:
        return self.state in (ImportState.RECEIVING, ImportState.READING)

    @property
    def fraction(self) -> float:
        return min(1.0, self.progress.num_bytes_read / self.progress.num_bytes) if self.progress.num_bytes else 0.0

    def skip(self, skipped: Skipped) -> None:
        self.num_skipped += 1
        if len(self.skipped) < MAX_LISTED:
            self.skipped.append(skipped)


class ImportService:
    def __init__(self, db: Database, changes: Changes, settings: Settings) -> None:
        self._db = db
        self._changes = changes
        self._folder = settings.imports_dir
        self.max_bytes = settings.import_max_bytes
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="import")
        self._latest: dict[str, Import] = {}                    # by user: the one that runs, or ran last
        self._tasks: dict[str, asyncio.Task[None]] = {}         # by user, while it is being read
        self._is_closing = False

    def latest(self, user_id: str) -> Import | None:
        return self._latest.get(user_id)

    async def receive(
        self, user_id: str, file_name: str, chunks: AsyncIterable[bytes], *, num_bytes: int | None
    ) -> Import:
        """Keep the file, then read it in the background. `num_bytes` is what was announced, if anything was.

        Raises Conflict while another one is running, TooLarge, InvalidInput where the disk is full.
        """
        ongoing = self._begin(user_id, file_name)
        path = self._folder / f"{user_id}-{new_id()}.part"      # whose it is, for the next start
        try:
            await self._receive(ongoing, path, chunks, num_bytes)
        except BaseException:
            self._latest.pop(user_id, None)
            await self._remove(path)
            self._announce(user_id)
            raise
        ongoing.state = ImportState.READING
        self._tasks[user_id] = asyncio.create_task(self._read_and_remove(user_id, ongoing, path))
        self._announce(user_id)
        return ongoing

    async def read_here(self, user_id: str, path: Path) -> Import:
        """Read a file that stays where it is, to its end. For the command line."""
        ongoing = self._begin(user_id, path.name)
        ongoing.state = ImportState.READING
        await self._read(user_id, ongoing, path)
        return ongoing

    async def cancel(self, user_id: str) -> None:
        """Returns when it has ended. What was stored stays."""
        if task := self._tasks.get(user_id):
            task.cancel()
            await asyncio.wait({task})

    def forget(self, user_id: str) -> None:
        """The result has been seen."""
        ongoing = self._latest.get(user_id)
        if ongoing is not None and not ongoing.is_running:
            del self._latest[user_id]
            self._announce(user_id)

    def access_ended(self, user_id: str, token_hash: str | None) -> None:
        """Of a person who is shut out; a session that ends ends nothing here."""
        task = self._tasks.get(user_id)
        if token_hash is None and task is not None:
            task.cancel()

    async def remove_leftovers(self) -> None:
        """At start: files that the last end of the process has left. Whose import was cut short is told so."""
        for user_id in await asyncio.to_thread(_take_away, self._folder):
            self._latest[user_id] = Import("", ImportState.FAILED, problem=Said("error-import-cut"))

    async def close(self) -> None:
        self._is_closing = True
        for user_id in list(self._tasks):
            await self.cancel(user_id)
        self._reader.shutdown(wait=False)

    # --- receiving ----------------------------------------------------------------------------------------------------

    def _begin(self, user_id: str, file_name: str) -> Import:
        ongoing = self._latest.get(user_id)
        if ongoing is not None and ongoing.is_running:
            raise Conflict(Said("error-import-running"))
        started = self._latest[user_id] = Import(safe_name(file_name, otherwise="Your file"))
        return started

    async def _receive(
        self, ongoing: Import, path: Path, chunks: AsyncIterable[bytes], num_bytes: int | None
    ) -> None:
        ongoing.progress.num_bytes = num_bytes or 0
        num_received = 0
        file = await on_disk(self._create, path, num_bytes or 0)
        try:
            async for piece in in_pieces(chunks):
                num_received += len(piece)
                if num_received > self.max_bytes:
                    raise TooLarge(Said("error-import-large", count=self.max_bytes))
                await on_disk(write_whole, file, piece)
        finally:
            await asyncio.to_thread(file.close)
        if num_received == 0:
            raise InvalidInput(Said("error-file-empty"), field="file")

    def _create(self, path: Path, num_bytes: int) -> FileIO:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if shutil.disk_usage(self._folder).free < num_bytes + KEPT_FREE_BYTES:
            raise OSError(errno.ENOSPC, "no space")
        path.touch(mode=0o600)
        return path.open("wb", buffering=0)

    async def _remove(self, path: Path) -> None:
        with suppress(OSError):         # a leftover goes at the next start
            await asyncio.to_thread(path.unlink, missing_ok=True)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def _read_and_remove(self, user_id: str, ongoing: Import, path: Path) -> None:
        try:
            await self._read(user_id, ongoing, path)
        finally:
            self._tasks.pop(user_id, None)
            if not self._is_closing:        # else the next start finds it, and tells
                await self._remove(path)

    async def _read(self, user_id: str, ongoing: Import, path: Path) -> None:
        """Never raises, unless cancelled: how it ended stands in `ongoing`."""
        loop = asyncio.get_running_loop()
        ongoing.progress = Progress()
        source = read_conversations(path, ongoing.progress)
        next_announcement_s = loop.time()
        try:
            while (item := await loop.run_in_executor(self._reader, _next, source)) is not _END:
                if isinstance(item, Skipped):
                    ongoing.skip(item)
                elif isinstance(item, IncomingConversation):
                    await self._store(user_id, ongoing, replace(_named(item), setup=_checked(item.setup)))
                if loop.time() >= next_announcement_s:
                    next_announcement_s = loop.time() + ANNOUNCE_INTERVAL_S
                    self._announce(user_id)
            ongoing.state = ImportState.DONE
        except asyncio.CancelledError:
            ongoing.state = ImportState.CANCELLED
            raise
        except (UnreadableFile, StoreError) as error:
            self._fail(ongoing, said(error))
        except OSError as error:
            self._fail(ongoing, Said("error-file-unreadable", detail=str(error.strerror or error)))
        except Exception:
            log.exception("an import broke")
            self._fail(ongoing, Said("error-import-broke"))
        finally:
            await loop.run_in_executor(self._reader, source.close)
            self._announce(user_id)

    async def _store(self, user_id: str, ongoing: Import, incoming: IncomingConversation) -> None:
        try:
            merged = await self._db.run(imports.merge, user_id, incoming)
        except StoreError:              # a full disk, say: the next would fare no better
            raise
        except Exception:
            log.exception("an imported chat could not be stored")
            ongoing.skip(Skipped(Said("skipped-not-stored"), title=incoming.title))
        else:
            ongoing.counts[merged] += 1

    def _fail(self, ongoing: Import, problem: str) -> None:
        ongoing.state, ongoing.problem = ImportState.FAILED, problem

    def _announce(self, user_id: str) -> None:
        self._changes.announce(user_id, Change("import"))


class _End:
    pass


_END = _End()
_Source: TypeAlias = Generator[IncomingConversation | Skipped | None, None, None]


def _take_away(folder: Path) -> list[str]:
    """The ids of those whose files were there."""
    user_ids = [path.name.partition("-")[0] for path in folder.glob("*-*.part")]
    shutil.rmtree(folder, ignore_errors=True)
    return user_ids


def _next(source: _Source) -> IncomingConversation | Skipped | _End | None:
    return next(source, _END)


def _checked(setup: IncomingSetup) -> IncomingSetup:
    """What can be used of it here; what cannot is left out."""
    system_prompt = checked_system_prompt(setup.system_prompt[:MAX_SYSTEM_PROMPT_CHARS])
    return replace(setup, parameters=fitting_parameters(setup.parameters), system_prompt=system_prompt)


def _named(incoming: IncomingConversation) -> IncomingConversation:
    """With a title, folders and tags that can be seen."""
    place = incoming.place
    folder, tags = (tuple(filter(None, map(clean_label, names))) for names in (place.folder, place.tags))
    incoming = replace(incoming, place=replace(place, folder=folder, tags=tags))
    title = clean_label(incoming.title)
    if not title:
        asked = (message.content for message in incoming.messages if message.role is MessageRole.USER)
        title = title_from(next(asked, "")) or NEW_TITLE
        return replace(incoming, title=title, title_source=TitleSource.WORDS)
    return replace(incoming, title=title)
