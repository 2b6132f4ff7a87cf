"""How a person keeps their chats: folders, pins, archive, tags, many at once, and all of it undone. On the event loop.

Each use case is one transaction and gives back what can be put back with `undo`. Whatever belongs to somebody else does
not exist here: ids of others count for nothing, and NotFound is raised where none is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

from sqlmodel import Session

from app.errors import InvalidInput, NotFound
from app.language import Said
from app.names import clean_label
from app.services.changes import Change, Changes
from app.services.conversations import ConversationService, checked_title
from store import folders, organise, undo
from store.chat_places import MAX_NAME_CHARS, name_key
from store.database import Database
from store.tables import Folder, Tag
from store.undo import Before

P = ParamSpec("P")

MAX_AT_ONCE = 20_000        # SQLite takes about 32,000 values in one statement
MAX_FOLDERS = 500


@dataclass(frozen=True, slots=True)
class Labels:
    """A person's folders, each after its parent; their tags with how many chats carry each; and their chats' models."""

    folders: list[Folder]
    tags: list[tuple[Tag, int]]
    models: list[str]


class OrganiseService:
    def __init__(self, db: Database, conversations: ConversationService, changes: Changes) -> None:
        self._db = db
        self._conversations = conversations
        self._changes = changes

    async def labels(self, user_id: str) -> Labels:
        return await self._db.read(_labels, user_id)

    async def tags_of(self, user_id: str, ids: Sequence[str]) -> dict[str, list[str]]:
        return await self._db.read(organise.tags_of, user_id, ids[:MAX_AT_ONCE])

    # --- chats --------------------------------------------------------------------------------------------------------

    async def rename(self, user_id: str, conversation_id: str, title: str) -> Before:
        """Raises InvalidInput for an empty title."""
        return await self._do(organise.rename, user_id, conversation_id, checked_title(title))

    async def move(self, user_id: str, ids: Sequence[str], folder_id: str | None) -> Before:
        """Into a folder, or with None to where the days are; out of the archive and from among the pinned."""
        return await self._do(organise.move, user_id, ids[:MAX_AT_ONCE], folder_id)

    async def pin(self, user_id: str, ids: Sequence[str], before_id: str | None = None) -> Before:
        """In front of the pinned `before_id`, or last."""
        return await self._do(organise.pin, user_id, ids[:MAX_AT_ONCE], before_id=before_id)

    async def unpin(self, user_id: str, ids: Sequence[str]) -> Before:
        return await self._do(organise.unpin, user_id, ids[:MAX_AT_ONCE])

    async def archive(self, user_id: str, ids: Sequence[str], *, is_archived: bool = True) -> Before:
        return await self._do(organise.archive, user_id, ids[:MAX_AT_ONCE], is_archived=is_archived)

    async def delete(self, user_id: str, ids: Sequence[str]) -> Before:
        """Out of sight at once, what is being written there stops, and `purge_deleted` takes them for good. Until then
        `undo` brings them back.
        """
        before = await self._do(organise.delete, user_id, ids[:MAX_AT_ONCE])
        for conversation_id in before.conversation_ids:
            self._conversations.deleted(user_id, conversation_id)
        return before

    async def tag(self, user_id: str, ids: Sequence[str], name: str) -> Before:
        """The tag is made where there is none of that name, whatever its capitals."""
        name = _checked_name(name.lstrip("# "), Said("error-tag-unnamed"))
        return await self._do(organise.tag, user_id, ids[:MAX_AT_ONCE], name, name_key(name))

    async def untag(self, user_id: str, ids: Sequence[str], tag_id: str) -> Before:
        """A tag that no chat carries any more is gone."""
        return await self._do(organise.untag, user_id, ids[:MAX_AT_ONCE], tag_id)

    # --- folders ------------------------------------------------------------------------------------------------------

    async def create_folder(
        self, user_id: str, name: str, *, parent_id: str | None = None
    ) -> tuple[Folder, Before]:
        name = _checked_name(name, Said("error-folder-unnamed"))
        if len((await self.labels(user_id)).folders) >= MAX_FOLDERS:
            raise InvalidInput(Said("error-folders-full", count=MAX_FOLDERS), field="name")
        made = await self._db.run(folders.create_folder, user_id, name, parent_id=parent_id)
        if made is None:
            raise _no_folder()
        self._changes.announce(user_id, Change("conversations"))
        return made

    async def rename_folder(self, user_id: str, folder_id: str, name: str) -> Before:
        name = _checked_name(name, Said("error-folder-unnamed"))
        return await self._do_folder(folders.rename_folder, user_id, folder_id, name)

    async def delete_folder(self, user_id: str, folder_id: str) -> Before:
        """What is in it stays."""
        return await self._do_folder(folders.delete_folder, user_id, folder_id)

    async def place_folder(
        self, user_id: str, folder_id: str, *, parent_id: str | None, before_id: str | None = None
    ) -> Before:
        """Among the folders of `parent_id`, in front of `before_id`, or last. Folders lie one in another at most."""
        return await self._do_folder(
            folders.place_folder, user_id, folder_id, parent_id=parent_id, before_id=before_id
        )

    async def undo(self, user_id: str, before: Before) -> None:
        """Raises NotFound where nothing of it is left."""
        if not await self._db.run(undo.put_back, user_id, before):
            raise NotFound(Said("error-not-undone"))
        self._announce(user_id, before)

    # --- helpers ------------------------------------------------------------------------------------------------------

    async def _do(
        self, query: Callable[Concatenate[Session, str, P], Before | None], user_id: str,
        *args: P.args, **kwargs: P.kwargs,
    ) -> Before:
        before = await self._db.run(query, user_id, *args, **kwargs)
        if before is None:
            raise NotFound(Said("error-no-place"))
        self._announce(user_id, before)
        return before

    async def _do_folder(
        self, query: Callable[Concatenate[Session, str, P], Before | None], user_id: str,
        *args: P.args, **kwargs: P.kwargs,
    ) -> Before:
        before = await self._db.run(query, user_id, *args, **kwargs)
        if before is None:
            raise _no_folder()
        self._announce(user_id, before)
        return before

    def _announce(self, user_id: str, before: Before) -> None:
        for conversation_id in before.conversation_ids:
            self._changes.announce(user_id, Change("conversations", conversation_id))
        if not before.conversation_ids:
            self._changes.announce(user_id, Change("conversations"))


def _labels(session: Session, user_id: str) -> Labels:
    return Labels(
        folders.list_folders(session, user_id), organise.list_tags(session, user_id),
        organise.list_models(session, user_id),
    )


def _checked_name(name: str, advice: Said) -> str:
    name = clean_label(name, max_chars=MAX_NAME_CHARS)
    if not name:
        raise InvalidInput(advice, field="name")
    return name


def _no_folder() -> NotFound:
    return NotFound(Said("error-no-folder"))
