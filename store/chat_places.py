"""Where a conversation lies: folder, pin, archive, tags. Read for exports, and made again for one that is imported.

Called by `app.services.exports`, and by `store.imports` for what is new here; on a store thread.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from store import folders
from store.organise import tags_of
from store.tables import Conversation, ConversationTag, Folder, Tag

MAX_NAME_CHARS = 100
MAX_TAGS = 20
UNNAMED = "Imported"            # a folder of which the source tells no more than that there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlace:
    """In words, so that it means the same elsewhere."""

    folder: tuple[str, ...] = ()                # names, from the outermost on; two at most
    folder_source_id: str = ""                  # there; stands for a folder where no more is known of it
    is_pinned: bool = False
    pin_position: int | None = None
    archived_at: datetime | None = None
    tags: tuple[str, ...] = ()


def place_of(session: Session, conversation: Conversation) -> ChatPlace:
    names: list[str] = []
    folder = session.get(Folder, conversation.folder_id) if conversation.folder_id else None
    while folder is not None:
        names.insert(0, folder.name)
        folder = session.get(Folder, folder.parent_id) if folder.parent_id else None
    return ChatPlace(
        folder=tuple(names),
        folder_source_id=conversation.folder_id or "",
        is_pinned=conversation.pin_position is not None,
        pin_position=conversation.pin_position,
        archived_at=conversation.archived_at,
        tags=tuple(tags_of(session, conversation.user_id, [conversation.id]).get(conversation.id, ())),
    )


def place_imported(session: Session, conversation: Conversation, place: ChatPlace) -> None:
    conversation.archived_at = place.archived_at
    if place.is_pinned:
        conversation.pin_position = _pin_position(session, conversation.user_id, place.pin_position)
    conversation.folder_id = _folder(session, conversation.user_id, place)
    for tag in _tags(session, conversation.user_id, place.tags):
        session.add(ConversationTag(conversation_id=conversation.id, tag_id=tag.id))
    session.flush()


def name_key(name: str) -> str:
    """What makes two names the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def _pin_position(session: Session, user_id: str, wanted: int | None) -> int:
    """As at the source, where it tells; between what is pinned here. Else under it."""
    if wanted is not None:
        return wanted
    last = session.exec(select(func.max(Conversation.pin_position)).where(Conversation.user_id == user_id)).one()
    return 0 if last is None else last + 1


def _folder(session: Session, user_id: str, place: ChatPlace) -> str | None:
    names = [clean for name in place.folder[:2] if (clean := " ".join(name.split())[:MAX_NAME_CHARS])]
    if not names and not place.folder_source_id:
        return None
    if not names:
        known = folders.get_folder(session, user_id, place.folder_source_id)        # our own export, come home
        if known is not None:
            return known.id
        names = [UNNAMED]
    parent_id: str | None = None
    for name in names:
        found = _named(session, user_id, parent_id, name)
        if found is None:
            made = folders.create_folder(session, user_id, name, parent_id=parent_id)
            found = made[0] if made is not None else None
        if found is None:
            break
        parent_id = found.id
    return parent_id


def _named(session: Session, user_id: str, parent_id: str | None, name: str) -> Folder | None:
    siblings = folders.list_folders(session, user_id)
    key = name_key(name)
    return next((each for each in siblings if each.parent_id == parent_id and name_key(each.name) == key), None)


def _tags(session: Session, user_id: str, names: Sequence[str]) -> list[Tag]:
    wanted = {name_key(clean): clean for name in names if (clean := " ".join(name.split())[:MAX_NAME_CHARS])}
    wanted = dict([*wanted.items()][:MAX_TAGS])
    known = {
        tag.name_key: tag
        for tag in session.exec(select(Tag).where(Tag.user_id == user_id, col(Tag.name_key).in_(list(wanted))))
    }
    for key, name in wanted.items():
        if key not in known:
            known[key] = Tag(user_id=user_id, name=name, name_key=key)
            session.add(known[key])
    session.flush()
    return [*known.values()]
