"""When people were last here, and keys last used: noted to a few minutes, so that a look-up costs no write.

Owned by `AccountService`, on the event loop. Written in the background, all that are due together: nobody waits for it.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from app.services.changes import Change, Changes
from store import accounts
from store.database import Database
from store.errors import StoreError
from store.tables import now

NOTED_EVERY = timedelta(minutes=5)

log = structlog.get_logger(__name__)


class Sightings:
    def __init__(self, db: Database, changes: Changes) -> None:
        self._db = db
        self._changes = changes
        self._noted: dict[str, datetime] = {}           # by the id of a person or key, when one was last noted
        self._people: dict[str, datetime] = {}          # what is to be written, by their ids
        self._keys: dict[str, datetime] = {}
        self._writing: asyncio.Task[None] | None = None

    def of_person(self, user_id: str) -> None:
        self._note(user_id, self._people)

    def of_key(self, key_id: str) -> None:
        self._note(key_id, self._keys)

    def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()

    def _note(self, row_id: str, due: dict[str, datetime]) -> None:
        at = now()
        if row_id in self._noted and at - self._noted[row_id] < NOTED_EVERY:
            return
        self._noted[row_id] = due[row_id] = at
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="note who was seen")

    async def _write(self) -> None:
        try:
            while self._people or self._keys:
                people, keys = dict(self._people), dict(self._keys)
                self._people.clear()
                self._keys.clear()
                await self._db.run(accounts.note_seen, people, keys)
                self._changes.announce_all(Change("people"))
        except StoreError as error:         # a full disk, say; the next time may do
            log.warning("who was here could not be noted", reason=str(error))
        finally:
            self._writing = None
