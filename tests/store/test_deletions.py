"""A message is deleted with all that hangs under it, comes back whole, and is gone for good once it is purged."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session, col, select

from store import answers, deletions, messages, search
from store.messages import Turn
from store.tables import Conversation, Message, MessageStatus, User, now
from tests.store.test_messages import answered, ask, start, texts


@pytest.fixture
def first(session: Session, anna: User) -> Turn:
    """Hello? Hello! And now? Now this."""
    turn = start(session, anna)
    ask(session, anna, turn.conversation.id, "And now?", "Now this.")
    return turn


def second_question(session: Session, first: Turn) -> Message:
    return session.exec(select(Message).where(Message.parent_id == first.answer.id)).one()


def found(session: Session, user: User, words: str) -> list[str | None]:
    return [hit.message_id for hit in search.search(session, user.id, words, limit=9)]


def test_what_follows_goes_and_comes_back_with_it(session: Session, anna: User, first: Turn) -> None:
    chat, question = first.conversation, second_question(session, first)
    assert deletions.mark_deleted(session, anna.id, question.id) is chat
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!"]
    assert messages.get(session, anna.id, question.id) is None
    assert found(session, anna, "now") == []
    tree = messages.tree(session, anna.id, chat.id)
    assert tree is not None
    assert len(tree[1]) == 2
    assert deletions.restore(session, anna.id, question.id) is chat
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!", "And now?", "Now this."]
    assert len(found(session, anna, "now")) == 1
    assert deletions.restore(session, anna.id, question.id) is chat        # undoing twice is no error


def test_the_version_beside_a_deleted_one_is_shown(session: Session, anna: User, first: Turn) -> None:
    chat = first.conversation
    other = messages.add_answer(session, anna.id, first.answer.id, model_id="m")
    assert other is not None
    answered(session, other, "Good day!")
    deletions.mark_deleted(session, anna.id, other.answer.id)
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!", "And now?", "Now this."]
    deletions.restore(session, anna.id, other.answer.id)
    assert texts(session, anna, chat.id) == ["Hello?", "Good day!"]


def test_a_chat_can_be_emptied_and_begun_again(session: Session, anna: User, first: Turn) -> None:
    deletions.mark_deleted(session, anna.id, first.user_message.id)
    assert texts(session, anna, first.conversation.id) == []
    ask(session, anna, first.conversation.id, "Anew?", "Yes.")
    assert texts(session, anna, first.conversation.id) == ["Anew?", "Yes."]


def test_what_was_deleted_before_stays_deleted_when_what_it_hung_on_comes_back(
    session: Session, anna: User, first: Turn
) -> None:
    question = second_question(session, first)
    deletions.mark_deleted(session, anna.id, question.id)
    deletions.mark_deleted(session, anna.id, first.answer.id)
    assert deletions.restore(session, anna.id, question.id) is None        # what it hangs on is not there
    deletions.restore(session, anna.id, first.answer.id)
    assert texts(session, anna, first.conversation.id) == ["Hello?", "Hello!"]
    deletions.restore(session, anna.id, question.id)
    assert texts(session, anna, first.conversation.id) == ["Hello?", "Hello!", "And now?", "Now this."]


def test_an_answer_that_is_being_written_ends_with_its_deletion(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m")
    assert deletions.streaming_under(session, anna.id, turn.user_message.id) == [turn.answer.id]
    deletions.mark_deleted(session, anna.id, turn.user_message.id)
    assert not answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content="too late")
    deletions.restore(session, anna.id, turn.user_message.id)
    session.refresh(turn.answer)
    assert turn.answer.status is MessageStatus.STOPPED


def test_purging_removes_for_good_what_was_deleted_long_ago(session: Session, anna: User, first: Turn) -> None:
    deletions.mark_deleted(session, anna.id, first.answer.id)
    assert deletions.purge(session, now() - timedelta(days=1)) == 0
    assert deletions.purge(session, now() + timedelta(seconds=1)) == 3
    assert deletions.restore(session, anna.id, first.answer.id) is None
    assert texts(session, anna, first.conversation.id) == ["Hello?"]
    assert session.exec(select(col(Conversation.id))).all() == [first.conversation.id]


def test_an_edited_answer_takes_the_place_of_the_old_one_and_keeps_what_follows(
    session: Session, anna: User, first: Turn
) -> None:
    chat = first.conversation
    answers.save_summary(session, second_question(session, first).id, "They greeted each other.")
    messages.edit_answer(session, anna.id, first.answer.id, "Good day, Anna.")
    assert texts(session, anna, chat.id) == ["Hello?", "Good day, Anna.", "And now?", "Now this."]
    branch = messages.branch(session, anna.id, chat.id)
    assert branch is not None
    (edited, versions), (question, _) = branch[1], branch[2]
    assert (edited.is_edited, edited.status, versions) == (True, MessageStatus.COMPLETE, (first.answer.id, edited.id))
    assert question.summary == ""           # it told of the old text
    assert texts(session, anna, chat.id, first.answer.id) == ["Hello?", "Hello!"]
    assert messages.edit_answer(session, anna.id, question.id, "No answer") is None
