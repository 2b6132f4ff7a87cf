"""Rows of `benchmark`, and the questions of a person's chats, to measure with. Called by `BenchmarkService`, on a store
thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, literal_column
from sqlmodel import Session, col, select

from store.tables import Benchmark, Conversation, Message, MessageRole

ROWID: ColumnElement[int] = literal_column("message.rowid")


def add(session: Session, rows: Sequence[Benchmark]) -> None:
    session.add_all(rows)


def newest_first(session: Session, limit: int) -> list[Benchmark]:
    """Rows of one run in the order in which its models were named."""
    newest = select(Benchmark).order_by(col(Benchmark.created_at).desc(), col(Benchmark.id)).limit(limit)
    return list(session.exec(newest))


def newest_of(session: Session, model_id: str, model_version: str) -> list[Benchmark]:
    """Of this very version."""
    of_it = select(Benchmark).where(Benchmark.model_id == model_id, Benchmark.model_version == model_version)
    return list(session.exec(of_it.order_by(col(Benchmark.created_at).desc(), col(Benchmark.id))))


def first_questions(session: Session, user_id: str, limit: int) -> list[str]:
    """Of a person's oldest chats, each text once: new chats do not change them, so that runs can be compared."""
    first = (
        select(func.min(ROWID))             # in the order of being written
        .select_from(Message)
        .join(Conversation, col(Conversation.id) == col(Message.conversation_id))
        .where(
            Conversation.user_id == user_id,
            col(Conversation.deleted_at).is_(None),
            col(Message.deleted_at).is_(None),
            Message.role == MessageRole.USER,
            Message.content != "",
        )
        .group_by(col(Message.conversation_id))
    )
    rows = session.exec(
        select(Message.content)
        .where(ROWID.in_(first))
        .order_by(col(Message.created_at), col(Message.id))
        .limit(10 * limit)                  # some say the same
    )
    return list(dict.fromkeys(rows))[:limit]
