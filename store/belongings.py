"""What there is of a person's, in numbers: an admin is told before it goes with them. On a store thread."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import Session, col, select

from store.tables import ApiKey, Conversation, Message, Preset, Prompt


@dataclass(frozen=True, slots=True)
class Belongings:
    num_chats: int
    num_messages: int           # in these chats
    num_prompts: int            # and presets
    num_keys: int


def belongings(session: Session, user_id: str) -> Belongings:
    """Without what they deleted themselves, which is on its way out."""
    chats = select(Conversation.id).where(Conversation.user_id == user_id, col(Conversation.deleted_at).is_(None))
    return Belongings(
        num_chats=session.exec(select(func.count()).select_from(chats.subquery())).one(),
        num_messages=session.exec(
            select(func.count()).where(col(Message.conversation_id).in_(chats), col(Message.deleted_at).is_(None))
        ).one(),
        num_prompts=sum(
            session.exec(select(func.count()).where(kind.user_id == user_id, col(kind.deleted_at).is_(None))).one()
            for kind in (Prompt, Preset)
        ),
        num_keys=session.exec(
            select(func.count()).where(ApiKey.user_id == user_id, col(ApiKey.revoked_at).is_(None))
        ).one(),
    )
