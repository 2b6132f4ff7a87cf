"""The questions of a person's chats, to measure with, and what was measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlmodel import Session

from store import benchmarks
from store.database import Database
from store.tables import Conversation, Message, MessageRole, now
from tests.app.measured import again, run_of
from tests.store.helpers import add_person

BEGAN = datetime(2026, 3, 3, tzinfo=UTC)


def _chat(session: Session, user_id: str, *texts: str, system: str = "", hours: int = 0, deleted: bool = False) -> None:
    chat = Conversation(user_id=user_id, title="x", deleted_at=now() if deleted else None)
    session.add(chat)
    session.flush()
    parent_id = None
    said = [(MessageRole.SYSTEM, system)] if system else []
    for index, (role, text) in enumerate([*said, *((MessageRole.USER, text) for text in texts)]):
        message = Message(
            conversation_id=chat.id, role=role, content=text, parent_id=parent_id,
            created_at=BEGAN + timedelta(hours=hours, minutes=index),
        )
        session.add(message)
        session.flush()
        parent_id = message.id


def test_the_first_question_of_each_of_ones_own_oldest_chats(database: Database) -> None:
    with database.session() as session:
        anna, ben = add_person(session, "Anna").id, add_person(session, "Ben").id
        _chat(session, anna, "Second", "Not this", hours=2)
        _chat(session, anna, "First", system="You are kind.", hours=1)
        _chat(session, anna, "Second", hours=3)
        _chat(session, anna, "Gone", deleted=True)
        _chat(session, ben, "Ben's")
        _chat(session, anna, "Third", hours=4)
        assert benchmarks.first_questions(session, anna, 9) == ["First", "Second", "Third"]
        assert benchmarks.first_questions(session, anna, 2) == ["First", "Second"]
        assert benchmarks.first_questions(session, "nobody", 9) == []


def test_runs_are_kept_newest_first(database: Database) -> None:
    row = run_of("parrot")
    later = again(row, 0.8, days=1)
    with database.session() as session:
        benchmarks.add(session, [row, later])
        assert [each.id for each in benchmarks.newest_first(session, 9)] == [later.id, row.id]
        assert [each.id for each in benchmarks.newest_first(session, 1)] == [later.id]
