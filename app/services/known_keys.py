"""Whose an API key is: asked of the database once, and again after any process has written to it.

So a key that is revoked, or whose owner is disabled, demoted or removed, is found so by the next request, as if the
database were asked each time; which takes a millisecond of a thread. Owned by `AccountService`, on the event loop.
"""

from __future__ import annotations

from typing import TypeAlias

from store import accounts
from store.database import Database
from store.tables import ApiKey, User

Known: TypeAlias = tuple[User, ApiKey]


class KnownKeys:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._by_hash: dict[str, Known] = {}        # good ones only: as many as there are
        self._version: int | None = None            # of the database, in which they were found

    async def find(self, key_hash: str) -> Known | None:
        """None: no good key, or not any more."""
        version = self._db.version()                # first: what is written while the query runs makes another one
        if version is None or version != self._version:
            self._by_hash.clear()
            self._version = version
        if (known := self._by_hash.get(key_hash)) is not None:
            return known
        found = await self._db.read(accounts.user_of_key, key_hash)
        if found is not None and version is not None and version == self._version:
            self._by_hash[key_hash] = found
        return found
