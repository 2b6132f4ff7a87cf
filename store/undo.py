"""What rows were like before a person changed them, so that it can be taken back. On a store thread.

A `Recorder` makes the changes and remembers; `put_back` brings the old values again, and nothing but those: what was
changed elsewhere meanwhile, in other columns or other rows, stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlmodel import Session, SQLModel, col, select

from store.tables import Conversation, ConversationTag, Folder, Tag

Row: TypeAlias = Conversation | Folder | Tag | ConversationTag

_ORDER: tuple[type[SQLModel], ...] = (Folder, Tag, Conversation, ConversationTag)       # each after what it refers to


@dataclass(frozen=True, slots=True)
class RowBefore:
    """`values` are those columns that were changed; of a row that was removed all; None: the row was not there."""

    table: type[SQLModel]
    key: tuple[Any, ...]
    values: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Before:
    """One step that can be taken back. Falsy where nothing was changed."""

    user_id: str
    rows: tuple[RowBefore, ...] = ()
    conversation_ids: frozenset[str] = frozenset()      # whose place, name or tags were changed

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __add__(self, later: Before) -> Before:
        """Both, as one step."""
        return Before(self.user_id, self.rows + later.rows, self.conversation_ids | later.conversation_ids)


@dataclass(slots=True)
class Recorder:
    session: Session
    user_id: str
    _rows: list[RowBefore] = field(default_factory=list)
    _conversation_ids: set[str] = field(default_factory=set)

    def change(self, row: Row, **values: Any) -> None:
        before = {name: getattr(row, name) for name, value in values.items() if getattr(row, name) != value}
        if before:
            self._remember(row, before)
            for name in before:
                setattr(row, name, values[name])

    def add(self, row: Row) -> None:
        self._remember(row, None)
        self.session.add(row)
        self.session.flush()

    def remove(self, row: Row) -> None:
        self._remember(row, row.model_dump())
        self.session.delete(row)
        self.session.flush()

    def before(self) -> Before:
        self.session.flush()
        return Before(self.user_id, tuple(self._rows), frozenset(self._conversation_ids))

    def _remember(self, row: Row, values: Mapping[str, Any] | None) -> None:
        if isinstance(row, Conversation):
            self._conversation_ids.add(row.id)
        elif isinstance(row, ConversationTag):
            self._conversation_ids.add(row.conversation_id)
        self._rows.append(RowBefore(type(row), _key(row), values))


def put_back(session: Session, user_id: str, before: Before) -> bool:
    """False where it is not this person's, or nothing of it is there any more."""
    if before.user_id != user_id:
        return False
    back = [row for row in before.rows[::-1] if row.values is not None]
    in_place_of: dict[str, str] = {}
    for row in sorted(back, key=lambda row: _ORDER.index(row.table)):
        _bring_back(session, row, in_place_of)
    session.flush()
    for row in sorted((row for row in before.rows if row.values is None), key=lambda row: -_ORDER.index(row.table)):
        _take_away(session, row)
    for row in back:
        if row.table is Folder:
            _keep_two_levels(session, session.get(Folder, row.key))
    return _is_there(session, before, in_place_of)


def _bring_back(session: Session, before: RowBefore, in_place_of: dict[str, str]) -> None:
    """`in_place_of` remembers, of a tag that was made anew meanwhile, which one it is now."""
    values = dict(before.values or {})
    key = tuple(in_place_of.get(part, part) for part in before.key)
    for name, table in (("folder_id", Folder), ("parent_id", Folder)):
        if values.get(name) is not None and session.get(table, values[name]) is None:
            values[name] = None                         # that folder has gone for good meanwhile
    if before.table is ConversationTag:
        values["tag_id"] = key[1]
    row = session.get(before.table, key)
    if row is not None:
        for name, value in values.items():
            setattr(row, name, value)
    elif before.table is Tag and (same := _tag_named(session, values)) is not None:
        in_place_of[values["id"]] = same.id
    elif _is_whole(before) and _can_stand(session, before.table, values):
        session.add(before.table(**values))
    session.flush()


def _take_away(session: Session, before: RowBefore) -> None:
    """What the step had made; but nothing with it that others have hung on it since."""
    added = session.get(before.table, before.key)
    if added is None:
        return
    if isinstance(added, Folder):
        _empty(session, added)
    elif isinstance(added, Tag) and session.exec(
        select(ConversationTag).where(ConversationTag.tag_id == added.id)
    ).first():
        return
    session.delete(added)
    session.flush()


def _keep_two_levels(session: Session, folder: Folder | None) -> None:
    """Folders may have been put into one another meanwhile: this one then stays where it is seen, at the top."""
    if folder is None or folder.parent_id is None:
        return
    parent = session.get(Folder, folder.parent_id)
    holds_some = session.exec(select(Folder).where(col(Folder.parent_id) == folder.id)).first() is not None
    if holds_some or parent is None or parent.parent_id is not None:
        folder.parent_id = None
        session.flush()


def _tag_named(session: Session, values: Mapping[str, Any]) -> Tag | None:
    return session.exec(
        select(Tag).where(Tag.user_id == values.get("user_id"), Tag.name_key == values.get("name_key"))
    ).first()


def _empty(session: Session, folder: Folder) -> None:
    """What was put into it since stays."""
    for chat in session.exec(select(Conversation).where(Conversation.folder_id == folder.id)):
        chat.folder_id = folder.parent_id
    for inner in session.exec(select(Folder).where(Folder.parent_id == folder.id)):
        inner.parent_id = None
    session.flush()


def _is_whole(before: RowBefore) -> bool:
    return before.values is not None and before.values.keys() >= before.table.model_fields.keys()


def _can_stand(session: Session, table: type[SQLModel], values: Mapping[str, Any]) -> bool:
    """A tag of a chat that was purged, say, has nothing left to stand on."""
    if table is not ConversationTag:
        return True
    return (
        session.get(Conversation, values["conversation_id"]) is not None
        and session.get(Tag, values["tag_id"]) is not None
    )


def _is_there(session: Session, before: Before, in_place_of: Mapping[str, str]) -> bool:
    wanted = [row for row in before.rows if row.values is not None]
    keys = [(row.table, tuple(in_place_of.get(part, part) for part in row.key)) for row in wanted]
    return not wanted or any(session.get(table, key) is not None for table, key in keys)


def _key(row: Row) -> tuple[Any, ...]:
    if isinstance(row, ConversationTag):
        return row.conversation_id, row.tag_id
    return (row.id,)

