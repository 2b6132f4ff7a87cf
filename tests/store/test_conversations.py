"""Rows of conversations: order, pages, deleting with undo, purging."""

from __future__ import annotations

from datetime import timedelta

from sqlmodel import Session, select

from store import conversations, messages, organise, undo
from store.tables import Conversation, Message, User, now


def add(session: Session, user: User, *titles: str) -> list[Conversation]:
    added = [conversations.create(session, user.id, title=title) for title in titles]
    for age, conversation in enumerate(reversed(added)):
        conversation.updated_at = now() - timedelta(minutes=age)
    session.flush()
    return added


def titles(rows: list[Conversation]) -> list[str]:
    return [row.title for row in rows]


def test_the_list_is_newest_first_and_comes_in_pages(session: Session, anna: User) -> None:
    add(session, anna, "one", "two", "three")
    page = conversations.list_recent(session, anna.id, limit=2)
    assert titles(page) == ["three", "two"]
    assert titles(conversations.list_recent(session, anna.id, limit=2, before=page[-1].updated_at)) == ["one"]


def test_a_new_title_does_not_move_it_in_the_list(session: Session, anna: User) -> None:
    one, _ = add(session, anna, "one", "two")
    organise.rename(session, anna.id, one.id, "uno")
    assert titles(conversations.list_recent(session, anna.id, limit=9)) == ["two", "uno"]


def test_what_is_deleted_is_out_of_sight_until_restored(session: Session, anna: User) -> None:
    (one,) = add(session, anna, "one")
    before = organise.delete(session, anna.id, [one.id])
    assert before is not None
    assert conversations.list_recent(session, anna.id, limit=9) == []
    assert conversations.get(session, anna.id, one.id) is None
    assert organise.rename(session, anna.id, one.id, "uno") is None
    assert organise.delete(session, anna.id, [one.id]) is None
    assert undo.put_back(session, anna.id, before)
    assert titles(conversations.list_recent(session, anna.id, limit=9)) == ["one"]


def test_a_purge_takes_long_deleted_ones_with_all_their_messages(session: Session, anna: User) -> None:
    gone, recent, kept = [
        messages.start_conversation(session, anna.id, title, "Hello?", model_id=None).conversation
        for title in ("gone", "recent", "kept")
    ]
    gone.deleted_at = now() - timedelta(days=31)
    recent.deleted_at = now() - timedelta(days=1)
    session.flush()
    assert conversations.purge(session, now() - timedelta(days=30)) == 1
    session.expire_all()
    assert sorted(session.exec(select(Conversation.title)).all()) == ["kept", "recent"]
    assert set(session.exec(select(Message.conversation_id)).all()) == {recent.id, kept.id}
