"""Rows of `conversation`. Called by services through `Database.read` and `Database.run`, on a store thread.

Every function over a person's conversations takes `user_id` and answers None or False for what is another's.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict, Unpack

from sqlalchemy import delete
from sqlmodel import Session, col, select

from store.tables import Conversation, Message, TitleSource, WhenFull


class Setup(TypedDict, total=False):
    """Columns that say how a conversation is to be answered."""

    preset_id: str | None
    model_id: str | None
    system_prompt: str
    parameters: dict[str, Any]
    when_full: WhenFull


def list_recent(session: Session, user_id: str, *, limit: int, before: datetime | None = None) -> list[Conversation]:
    """Newest first, without the archive. `before` is the `updated_at` of the last one seen, for the next page."""
    statement = select(Conversation).where(
        Conversation.user_id == user_id,
        col(Conversation.deleted_at).is_(None),
        col(Conversation.archived_at).is_(None),
    )
    if before is not None:
        statement = statement.where(Conversation.updated_at < before)
    return list(session.exec(statement.order_by(col(Conversation.updated_at).desc()).limit(limit)))


def list_ids(session: Session, user_id: str) -> list[str]:
    """Of all that are not deleted, oldest first."""
    statement = select(Conversation.id).where(Conversation.user_id == user_id, col(Conversation.deleted_at).is_(None))
    return list(session.exec(statement.order_by(col(Conversation.created_at), col(Conversation.id))))


def get(session: Session, user_id: str, conversation_id: str) -> Conversation | None:
    conversation = get_with_deleted(session, user_id, conversation_id)
    return None if conversation is None or conversation.deleted_at else conversation


def create(session: Session, user_id: str, *, title: str = "", **setup: Unpack[Setup]) -> Conversation:
    conversation = Conversation(user_id=user_id, title=title, **setup)
    session.add(conversation)
    session.flush()
    return conversation


def name_by_model(session: Session, user_id: str, conversation_id: str, title: str) -> bool:
    """False where it has a better name already: a person's, or a model's."""
    conversation = get(session, user_id, conversation_id)
    if conversation is None or conversation.title_source is not TitleSource.WORDS:
        return False
    conversation.title, conversation.title_source = title, TitleSource.MODEL
    return True


def set_up(
    session: Session, user_id: str, conversation_id: str, **setup: Unpack[Setup]
) -> Conversation | None:
    """Change what is given, from the next answer on. Leaves `updated_at` alone: that moves no chat in the list."""
    conversation = get(session, user_id, conversation_id)
    if conversation is not None:
        for column, value in setup.items():
            setattr(conversation, column, value)
    return conversation


def purge(session: Session, deleted_before: datetime) -> int:
    """Remove for good, with all messages, what was deleted before then. How many conversations there were."""
    return session.exec(delete(Conversation).where(col(Conversation.deleted_at) < deleted_before)).rowcount


def erase(session: Session, conversation_id: str) -> None:
    """At once, and with no way back: for chats that are not to be kept."""
    session.exec(delete(Message).where(col(Message.conversation_id) == conversation_id))
    session.exec(delete(Conversation).where(col(Conversation.id) == conversation_id))


def erase_some(session: Session, user_id: str, limit: int) -> int:
    """At once, and with no way back: up to so many of a person's chats. How many there were."""
    some = select(Conversation.id).where(Conversation.user_id == user_id).limit(limit)
    return session.exec(delete(Conversation).where(col(Conversation.id).in_(some))).rowcount


def get_with_deleted(session: Session, user_id: str, conversation_id: str) -> Conversation | None:
    """Also one that waits to be purged."""
    return session.exec(
        select(Conversation).where(Conversation.id == conversation_id, Conversation.user_id == user_id)
    ).first()
