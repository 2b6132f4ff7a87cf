"""A person's presets: ways to set up chats. Called by pages, on the event loop."""

from __future__ import annotations

from typing import Any, TypeVar

from app.errors import InvalidInput, NotFound
from app.language import Said
from app.names import clean_label
from app.services.changes import Change, Changes
from app.services.setup import ChatSetup
from store import library
from store.database import Database
from store.tables import Preset

MAX_NAME_CHARS = 80

T = TypeVar("T")


class PresetService:
    """Whatever belongs to somebody else does not exist here: NotFound."""

    def __init__(self, db: Database, changes: Changes) -> None:
        self._db = db
        self._changes = changes

    async def list(self, user_id: str) -> list[Preset]:
        return await self._db.read(library.list_items, user_id, Preset)

    async def get(self, user_id: str, preset_id: str) -> Preset:
        return _found(await self._db.read(library.get_item, user_id, Preset, preset_id))

    async def default(self, user_id: str) -> Preset | None:
        return await self._db.read(library.find_default, user_id)

    async def create(self, user_id: str, name: str, setup: ChatSetup) -> Preset:
        preset = await self._db.run(library.add_item, user_id, Preset, _values(name, setup))
        self._announce(user_id)
        return preset

    async def change(self, user_id: str, preset_id: str, name: str, setup: ChatSetup) -> Preset:
        """Chats that were set up from it stay as they are."""
        preset = _found(await self._db.run(library.change_item, user_id, Preset, preset_id, _values(name, setup)))
        self._announce(user_id)
        return preset

    async def duplicate(self, user_id: str, preset_id: str, name: str) -> Preset:
        return await self.create(user_id, name, ChatSetup.of(await self.get(user_id, preset_id)))

    async def set_default(self, user_id: str, preset_id: str | None) -> None:
        """New chats begin with it; None: with nothing."""
        _must(await self._db.run(library.set_default, user_id, preset_id))
        self._announce(user_id)

    async def delete(self, user_id: str, preset_id: str) -> None:
        """Out of sight at once; `restore` brings it back until it is purged."""
        _must(await self._db.run(library.mark_item_deleted, user_id, Preset, preset_id))
        self._announce(user_id)

    async def restore(self, user_id: str, preset_id: str) -> None:
        _found(await self._db.run(library.restore_item, user_id, Preset, preset_id))
        self._announce(user_id)

    def _announce(self, user_id: str) -> None:
        self._changes.announce(user_id, Change("library"))


def _values(name: str, setup: ChatSetup) -> dict[str, Any]:
    name = clean_label(name, max_chars=MAX_NAME_CHARS)
    if not name:
        raise InvalidInput(Said("error-preset-name"), field="name")
    columns: dict[str, Any] = {**setup.checked().columns()}
    del columns["preset_id"]
    return {"name": name, **columns}


def _found(value: T | None) -> T:
    if value is None:
        raise NotFound(Said("error-no-preset"))
    return value


def _must(done: bool) -> None:
    _found(done or None)
