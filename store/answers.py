"""What the server's own generations write: the answers that they were begun for. Called by services, on a store thread.

Whoever began them was checked then: these functions ask for no person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict, Unpack

from sqlalchemy import bindparam, update
from sqlmodel import Session, col, select

from store.sqlite import storable
from store.tables import Message, MessageStatus


class AnswerStats(TypedDict, total=False):
    """Columns of `Message` that are known when an answer ends."""

    error: str | None
    model_id: str | None
    model_version: str | None
    connection: str
    finish_reason: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    time_to_first_token_s: float | None
    duration_s: float | None
    reasoning_s: float | None
    num_left_out: int
    first_message_id: str | None


class SoFar(NamedTuple):
    """Of an answer that is being written: its text, and the figures to which those of a continuation are added."""

    content: str
    reasoning: str = ""
    completion_tokens: int | None = None
    time_to_first_token_s: float | None = None
    duration_s: float | None = None
    reasoning_s: float | None = None


_SAVE_PROGRESS = (
    update(Message)
    .where(col(Message.id) == bindparam("row_id"), col(Message.status) == MessageStatus.STREAMING)
    .values({name: bindparam(f"new_{name}") for name in SoFar._fields})
)


def save_progress(session: Session, answers: Mapping[str, SoFar]) -> set[str]:
    """Each, by id. Of those that it gives, gone or ended, nothing is written."""
    rows = []
    for message_id, each in answers.items():
        kept = each._replace(content=storable(each.content), reasoning=storable(each.reasoning))._asdict()
        rows.append({"row_id": message_id, **{f"new_{name}": value for name, value in kept.items()}})
    num_saved = session.connection().execute(_SAVE_PROGRESS, rows).rowcount
    if num_saved == len(rows):
        return set()
    written = select(Message.id).where(col(Message.id).in_(answers), Message.status == MessageStatus.STREAMING)
    left: set[str] = set(session.exec(written).all())
    return answers.keys() - left


def finish(
    session: Session,
    message_id: str,
    status: MessageStatus,
    *,
    content: str,
    reasoning: str = "",
    **stats: Unpack[AnswerStats],
) -> bool:
    """The whole text and how it ended. False if the message is gone or was ended already; nothing is then written."""
    if status is MessageStatus.STREAMING:
        raise ValueError("an answer does not end as STREAMING")
    ending = {"status": status, "content": storable(content), "reasoning": storable(reasoning), **stats}
    return _update_streaming(session, ending, message_id) == 1


def save_summary(session: Session, message_id: str, summary: str) -> None:
    """Of the branch down to this message."""
    session.exec(update(Message).where(col(Message.id) == message_id).values(summary=storable(summary)))


def interrupt_streaming(session: Session) -> int:
    """At start: what a crash left STREAMING becomes INTERRUPTED, with its text. How many there were."""
    return _update_streaming(session, {"status": MessageStatus.INTERRUPTED})


def _update_streaming(session: Session, values: dict[str, Any], message_id: str | None = None) -> int:
    statement = update(Message).where(col(Message.status) == MessageStatus.STREAMING).values(**values)
    if message_id is not None:
        statement = statement.where(col(Message.id) == message_id)
    return session.exec(statement).rowcount
