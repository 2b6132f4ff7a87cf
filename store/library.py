"""Rows of `preset` and `prompt`. Called by services through `Database.read` and `Database.run`, on a store thread.

Every function takes `user_id`, and answers None or False for what is another's; but admins' presets may be a model's,
for everybody. `kind` says which of the two tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from store.tables import Preset, Prompt, User, UserRole, now

Item = TypeVar("Item", Preset, Prompt)


def list_items(session: Session, user_id: str, kind: type[Item]) -> list[Item]:
    """By name."""
    statement = select(kind).where(col(kind.user_id) == user_id, col(kind.deleted_at).is_(None))
    return sorted(session.exec(statement), key=lambda item: (item.name.casefold(), item.id))


def get_item(session: Session, user_id: str, kind: type[Item], item_id: str) -> Item | None:
    item = _get_with_deleted(session, user_id, kind, item_id)
    return None if item is None or item.deleted_at else item


def find_command(session: Session, user_id: str, command: str) -> Prompt | None:
    return session.exec(
        select(Prompt).where(
            Prompt.user_id == user_id, Prompt.command == command, col(Prompt.deleted_at).is_(None)
        )
    ).first()


def find_default(session: Session, user_id: str) -> Preset | None:
    return session.exec(
        select(Preset).where(
            Preset.user_id == user_id, col(Preset.is_default).is_(True), col(Preset.deleted_at).is_(None)
        )
    ).first()


def list_of_admins(session: Session) -> list[Preset]:
    """Those that can be a model's default, by name."""
    statement = select(Preset).join(User, col(User.id) == col(Preset.user_id)).where(
        User.role == UserRole.ADMIN, col(User.is_active), col(Preset.deleted_at).is_(None)
    )
    return sorted(session.exec(statement), key=lambda item: (item.name.casefold(), item.id))


def add_item(session: Session, user_id: str, kind: type[Item], values: Mapping[str, Any]) -> Item:
    item = kind(user_id=user_id, **values)
    session.add(item)
    session.flush()
    return item


def change_item(
    session: Session, user_id: str, kind: type[Item], item_id: str, values: Mapping[str, Any]
) -> Item | None:
    item = get_item(session, user_id, kind, item_id)
    if item is not None:
        for column, value in values.items():
            setattr(item, column, value)
        item.updated_at = now()
    return item


def set_default(session: Session, user_id: str, item_id: str | None) -> bool:
    """The preset that new chats begin with; None: none. False, and nothing changed, where there is no such preset."""
    preset = None if item_id is None else get_item(session, user_id, Preset, item_id)
    if item_id is not None and preset is None:
        return False
    session.exec(update(Preset).where(col(Preset.user_id) == user_id).values(is_default=False))
    if preset is not None:
        preset.is_default = True
    return True


def mark_item_deleted(session: Session, user_id: str, kind: type[Item], item_id: str) -> bool:
    item = get_item(session, user_id, kind, item_id)
    if item is None:
        return False
    item.deleted_at = now()
    return True


def restore_item(session: Session, user_id: str, kind: type[Item], item_id: str) -> Item | None:
    """It comes back as the default only where no other has taken that place. None where there is none."""
    item = _get_with_deleted(session, user_id, kind, item_id)
    if item is not None and item.deleted_at is not None:
        if isinstance(item, Preset) and find_default(session, user_id) is not None:
            item.is_default = False
        item.deleted_at = None
    return item


def purge(session: Session, deleted_before: datetime) -> int:
    """Remove for good what was deleted before then, whosever it was. How many there were."""
    return sum(
        session.exec(delete(kind).where(col(kind.deleted_at) < deleted_before)).rowcount for kind in (Preset, Prompt)
    )


def _get_with_deleted(session: Session, user_id: str, kind: type[Item], item_id: str) -> Item | None:
    return session.exec(select(kind).where(col(kind.id) == item_id, col(kind.user_id) == user_id)).first()
