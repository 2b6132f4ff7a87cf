"""What the sidebar shows: how the chats lie, in numbers, and any stretch of any list. On a store thread.

Thousands of chats are never read at once: the outline says how many there are where, and pages are read as they come
into sight. A chat stands in one place: in the archive, else among the pinned, else in its folder, else by its day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, UnaryExpression, and_, case, literal, or_
from sqlalchemy import select as sql_select
from sqlmodel import Session, col, func, select

from store.tables import Conversation


@dataclass(frozen=True, slots=True)
class Place:
    """One list of chats. `folder_id` belongs to "folder"."""

    kind: str                                             # "pinned", "folder", "days" or "archive"
    folder_id: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Standing:
    """One chat, and what is to be known of where it stands."""

    id: str
    title: str
    is_pinned: bool
    is_archived: bool
    above_id: str | None                                  # the pinned one that it comes next to, if there is one


@dataclass(frozen=True, slots=True)
class Counts:
    num_pinned: int
    num_archived: int
    of_folders: dict[str, int]
    num_by_day: int                                       # the days' list, whole
    since: tuple[int, ...]                                # of it, as new as each of the moments, or newer


def counts(session: Session, user_id: str, moments: Sequence[datetime]) -> Counts:
    """`moments`: at least one, from the newest to the oldest."""
    kind = _kind()
    rows = session.exec(
        select(kind, func.count())
        .where(Conversation.user_id == user_id, col(Conversation.deleted_at).is_(None))
        .group_by(kind)
    )
    numbers = dict(row for row in rows)
    newer = [func.count().filter(col(Conversation.updated_at) >= moment) for moment in moments]
    since = session.connection().execute(sql_select(*newer).where(*_within(user_id, Place("days")))).one()
    return Counts(
        num_pinned=numbers.get("pinned", 0),
        num_archived=numbers.get("archive", 0),
        of_folders={name[1:]: number for name, number in numbers.items() if name.startswith("/")},
        num_by_day=numbers.get("days", 0),
        since=tuple(since),
    )


def page(session: Session, user_id: str, place: Place, *, offset: int, limit: int) -> list[Listed]:
    """A stretch of one list, in its order: the pinned by hand, the archive by when it was put there, else newest."""
    order: tuple[UnaryExpression[Any], ...]
    if place.kind == "pinned":
        order = (col(Conversation.pin_position).asc(), col(Conversation.id).asc())
    elif place.kind == "archive":
        order = (col(Conversation.archived_at).desc(), col(Conversation.id).desc())
    else:
        order = (col(Conversation.updated_at).desc(), col(Conversation.id).desc())
    statement = select(Conversation.id, Conversation.title).where(*_within(user_id, place))
    return [Listed(*row) for row in session.exec(statement.order_by(*order).offset(offset).limit(limit))]


def standing(session: Session, user_id: str, conversation_id: str) -> Standing | None:
    """None where there is no such chat of this person."""
    kind, pin = _kind(), col(Conversation.pin_position)
    row = session.exec(
        select(Conversation.title, kind, pin)
        .where(
            Conversation.id == conversation_id, Conversation.user_id == user_id,
            col(Conversation.deleted_at).is_(None),
        )
    ).first()
    if row is None:
        return None
    title, where, position = row
    above_id = None
    if where == "pinned":
        is_before = or_(pin < position, and_(pin == position, col(Conversation.id) < conversation_id))
        above_id = session.exec(
            select(Conversation.id)
            .where(*_within(user_id, Place("pinned")), is_before)
            .order_by(pin.desc(), col(Conversation.id).desc())
        ).first()
    return Standing(conversation_id, title, where == "pinned", where == "archive", above_id)


def _kind() -> ColumnElement[str]:
    """Where a chat stands; of a folder "/" and its id."""
    return case(
        (col(Conversation.archived_at).is_not(None), "archive"),
        (col(Conversation.pin_position).is_not(None), "pinned"),
        else_=func.coalesce(literal("/") + col(Conversation.folder_id), "days"),
    )


def _within(user_id: str, place: Place) -> list[ColumnElement[bool]]:
    archived, pin = col(Conversation.archived_at), col(Conversation.pin_position)
    where = [col(Conversation.user_id) == user_id, col(Conversation.deleted_at).is_(None)]
    if place.kind == "archive":
        return [*where, archived.is_not(None)]
    where.append(archived.is_(None))
    if place.kind == "pinned":
        return [*where, pin.is_not(None)]
    where.append(pin.is_(None))
    return [*where, col(Conversation.folder_id) == place.folder_id]
