"""Deleting a message with all that hangs under it, and undoing that. Called by `app.services.chat`, on a store thread.

What is deleted together has one time of deletion, by which it comes back together; `purge` removes it for good.
Whatever belongs to somebody else is answered with None or nothing.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from store import conversations, messages
from store.tables import Conversation, Message, MessageStatus, now
from store.tree import Tree

IDS_AT_ONCE = 10_000        # SQLite takes 32,766 variables a statement


def streaming_under(session: Session, user_id: str, message_id: str) -> list[str] | None:
    """The answers, it or under it, that are being written. None if it is not there."""
    message = messages.get(session, user_id, message_id)
    if message is None:
        return None
    under = Tree.load(session, message.conversation_id).under(message_id)
    streaming = select(Message.id).where(
        Message.conversation_id == message.conversation_id, Message.status == MessageStatus.STREAMING
    )
    return [each for each in session.exec(streaming) if each in under]


def mark_deleted(session: Session, user_id: str, message_id: str) -> Conversation | None:
    """Out of sight, with what hangs under it. Where it was shown, the version beside it is, or what stood above."""
    message = messages.get(session, user_id, message_id)
    if message is None:
        return None
    conversation = session.get_one(Conversation, message.conversation_id)
    tree = Tree.load(session, conversation.id)
    under, siblings = tree.under(message_id), tree.siblings(message_id)
    if conversation.current_message_id in under:
        index = siblings.index(message_id)
        beside = [*siblings[:index][::-1], *siblings[index + 1:]]
        conversation.current_message_id = tree.newest_leaf(beside[0]) if beside else message.parent_id
    deleted_at = now()
    ids = list(under)
    for start in range(0, len(ids), IDS_AT_ONCE):
        some = update(Message).where(col(Message.id).in_(ids[start:start + IDS_AT_ONCE]))
        # Apart, and in this order: the end of an answer puts it into the search index, its deletion takes it out.
        session.exec(some.where(col(Message.status) == MessageStatus.STREAMING).values(status=MessageStatus.STOPPED))
        session.exec(some.values(deleted_at=deleted_at))
    return conversation


def restore(session: Session, user_id: str, message_id: str) -> Conversation | None:
    """Bring it back, with what was deleted along with it, and show it. None also where what it hangs on is deleted."""
    message = session.get(Message, message_id)
    if message is None:
        return None
    conversation = conversations.get(session, user_id, message.conversation_id)
    if conversation is None:
        return None
    if message.deleted_at is None:
        return conversation
    parent = session.get(Message, message.parent_id) if message.parent_id is not None else None
    if parent is not None and parent.deleted_at is not None:
        return None
    session.exec(
        update(Message)
        .where(col(Message.conversation_id) == conversation.id, col(Message.deleted_at) == message.deleted_at)
        .values(deleted_at=None)
    )
    session.expire(message)
    conversation.current_message_id = Tree.load(session, conversation.id).newest_leaf(message_id)
    return conversation


def purge(session: Session, deleted_before: datetime) -> int:
    """Remove for good what was deleted before then: never a message before those under it. How many there were."""
    return session.exec(delete(Message).where(col(Message.deleted_at) < deleted_before)).rowcount
