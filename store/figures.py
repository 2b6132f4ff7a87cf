"""What stored answers tell of how fast models write here. Called by `app.services.model_speeds`, on a store thread."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlmodel import Session, col, select

from store.tables import Message, MessageRole, MessageStatus

LEAST_TOKENS = 16           # of an answer: a shorter one's time is mostly its beginning
NUM_LOOKED_AT = 2000        # of the newest messages


@dataclass(frozen=True, slots=True)
class AnswerSpeed:
    model_id: str
    version: str
    tokens_per_s: float         # after its first token


def answer_speeds(session: Session) -> list[AnswerSpeed]:
    """Of the latest whole answers, newest first."""
    newest = select(Message.id).order_by(text("rowid DESC")).limit(NUM_LOOKED_AT)      # in the order of being written
    speed = (col(Message.completion_tokens) - 1) / (col(Message.duration_s) - col(Message.time_to_first_token_s))
    rows = session.exec(
        select(col(Message.model_id), col(Message.model_version), speed)
        .where(
            col(Message.id).in_(newest),
            Message.role == MessageRole.ASSISTANT,
            Message.status == MessageStatus.COMPLETE,
            col(Message.completion_tokens) >= LEAST_TOKENS,
            col(Message.duration_s) > col(Message.time_to_first_token_s),
        )
        .order_by(text("message.rowid DESC"))
    )
    return [
        AnswerSpeed(model_id, version, float(tokens_per_s))
        for model_id, version, tokens_per_s in rows if model_id and version and tokens_per_s
    ]
