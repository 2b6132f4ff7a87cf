"""Notices what another process, the command line say, has done to models and connections, and tells the open pages.

In a server, on the event loop. What this process itself does it announces at once; here it is seen once more, and pages
that read it again find nothing new.
"""

from __future__ import annotations

import asyncio

import structlog

from app.services.changes import Change, Changes
from store import models
from store.database import Database
from store.errors import StoreError

LOOK_INTERVAL_S = 1.0           # one look at a file's date, as long as nobody writes

log = structlog.get_logger(__name__)


class OtherProcesses:
    def __init__(self, db: Database, changes: Changes) -> None:
        self._db = db
        self._changes = changes
        self._written_at: object = None         # when the database was, as it was last looked at
        self._seen: object = None               # what pages show of models, then

    async def keep_looking(self) -> None:
        """Until cancelled. A page that opens reads for itself: where none is open nothing is looked at."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            if self._changes.is_watched:
                try:
                    await self.look()
                except StoreError as error:         # a full disk, say: the next time may do
                    log.warning("the models could not be looked at", reason=str(error))

    async def look(self) -> None:
        """The first time, nothing is told: there is nothing to hold it against."""
        written_at = await asyncio.to_thread(self._db.written_at)
        if written_at == self._written_at:
            return
        seen, before = await self._db.read(models.glance), self._seen
        self._written_at, self._seen = written_at, seen
        if before is not None and seen != before:
            self._changes.announce_all(Change("models"))
