"""The tree of messages: turns, versions, branches, and answers as they are written."""

from __future__ import annotations

import pytest
from sqlmodel import Session, col, select

from store import answers, conversations, messages
from store.errors import AnswerInProgress
from store.messages import Turn
from store.tables import Conversation, Message, MessageRole, MessageStatus, User


def start(session: Session, user: User, question: str = "Hello?", answer: str = "Hello!") -> Turn:
    return answered(session, messages.start_conversation(session, user.id, "Greetings", question, model_id="m"), answer)


def ask(session: Session, user: User, conversation_id: str, question: str, answer: str) -> Turn:
    turn = messages.add_turn(session, user.id, conversation_id, question, model_id="m")
    assert turn is not None
    return answered(session, turn, answer)


def answered(session: Session, turn: Turn, answer: str) -> Turn:
    assert answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content=answer)
    return turn


def texts(session: Session, user: User, conversation_id: str, leaf_id: str | None = None) -> list[str] | None:
    branch = messages.branch(session, user.id, conversation_id, leaf_id)
    return None if branch is None else [message.content for message, _ in branch]


def test_a_first_turn_makes_the_conversation_and_an_empty_answer(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m")
    assert (turn.conversation.title, turn.conversation.model_id) == ("Greetings", "m")
    assert (turn.user_message.role, turn.user_message.content) == (MessageRole.USER, "Hello?")
    assert (turn.answer.role, turn.answer.content) == (MessageRole.ASSISTANT, "")
    assert turn.answer.status is MessageStatus.STREAMING
    assert turn.answer.parent_id == turn.user_message.id
    assert turn.conversation.current_message_id == turn.answer.id


def test_turns_line_up_from_root_to_leaf(session: Session, anna: User) -> None:
    chat = start(session, anna).conversation
    ask(session, anna, chat.id, "And now?", "Now this.")
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!", "And now?", "Now this."]


def test_a_new_turn_makes_the_conversation_the_most_recent(session: Session, anna: User) -> None:
    first, second = start(session, anna).conversation, start(session, anna).conversation
    assert [row.id for row in conversations.list_recent(session, anna.id, limit=9)] == [second.id, first.id]
    ask(session, anna, first.id, "And now?", "Now this.")
    assert [row.id for row in conversations.list_recent(session, anna.id, limit=9)] == [first.id, second.id]


def test_an_empty_conversation_has_an_empty_branch(session: Session, anna: User) -> None:
    assert texts(session, anna, conversations.create(session, anna.id).id) == []


def test_an_edit_is_a_sibling_with_an_answer_of_its_own(session: Session, anna: User) -> None:
    turn = start(session, anna)
    chat = turn.conversation
    ask(session, anna, chat.id, "And now?", "Now this.")
    edit = messages.edit_turn(session, anna.id, turn.user_message.id, "Good day?", model_id="m")
    assert edit is not None
    answered(session, edit, "Good day!")
    assert texts(session, anna, chat.id) == ["Good day?", "Good day!"]
    branch = messages.branch(session, anna.id, chat.id)
    assert branch is not None
    assert [siblings for _, siblings in branch] == [
        (turn.user_message.id, edit.user_message.id), (edit.answer.id,),
    ]


def test_an_answer_cannot_be_edited_nor_a_question_answered_anew(session: Session, anna: User) -> None:
    turn = start(session, anna)
    assert messages.edit_turn(session, anna.id, turn.answer.id, "Better!", model_id="m") is None
    assert messages.add_answer(session, anna.id, turn.user_message.id, model_id="m") is None
    assert messages.reopen_answer(session, anna.id, turn.user_message.id) is None


def test_another_answer_stands_beside_the_first(session: Session, anna: User) -> None:
    turn = start(session, anna)
    again = messages.add_answer(session, anna.id, turn.answer.id, model_id="other")
    assert again is not None
    answered(session, again, "Hi!")
    assert again.user_message.id == turn.user_message.id
    assert texts(session, anna, turn.conversation.id) == ["Hello?", "Hi!"]
    branch = messages.branch(session, anna.id, turn.conversation.id)
    assert branch is not None
    assert branch[1][1] == (turn.answer.id, again.answer.id)
    assert branch[1][0].model_id == "other"


def test_a_branch_can_be_read_down_to_any_message(session: Session, anna: User) -> None:
    turn = start(session, anna)
    ask(session, anna, turn.conversation.id, "And now?", "Now this.")
    assert texts(session, anna, turn.conversation.id, turn.answer.id) == ["Hello?", "Hello!"]
    assert texts(session, anna, turn.conversation.id, "unknown") is None


def test_showing_an_earlier_version_shows_the_newest_that_hangs_under_it(session: Session, anna: User) -> None:
    turn = start(session, anna)
    chat = turn.conversation
    second = ask(session, anna, chat.id, "And now?", "Now this.")
    answered(session, messages.add_answer(session, anna.id, second.answer.id, model_id="m") or second, "Now that.")
    answered(session, messages.edit_turn(session, anna.id, turn.user_message.id, "Hi?", model_id="m") or turn, "Hi!")
    assert texts(session, anna, chat.id) == ["Hi?", "Hi!"]

    assert messages.show_branch(session, anna.id, turn.user_message.id) is chat
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!", "And now?", "Now that."]
    messages.show_branch(session, anna.id, second.answer.id)
    assert texts(session, anna, chat.id) == ["Hello?", "Hello!", "And now?", "Now this."]


def test_a_turn_can_be_put_under_any_message_of_its_conversation(session: Session, anna: User) -> None:
    turn, elsewhere = start(session, anna), start(session, anna)
    ask(session, anna, turn.conversation.id, "And now?", "Now this.")
    chat_id = turn.conversation.id
    aside = messages.add_turn(session, anna.id, chat_id, "Or so?", model_id="m", parent_id=turn.answer.id)
    assert aside is not None
    answered(session, aside, "So be it.")
    assert texts(session, anna, chat_id) == ["Hello?", "Hello!", "Or so?", "So be it."]
    stray = messages.add_turn(session, anna.id, chat_id, "Or so?", model_id="m", parent_id=elsewhere.answer.id)
    assert stray is None


def test_nothing_is_appended_to_an_answer_that_is_being_written(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m")
    with pytest.raises(AnswerInProgress, match="Stop it"):
        messages.add_turn(session, anna.id, turn.conversation.id, "Well?", model_id="m")
    with pytest.raises(AnswerInProgress):
        messages.reopen_answer(session, anna.id, turn.answer.id)
    assert len(session.exec(select(Message)).all()) == 2


def test_progress_is_saved_until_the_answer_ends(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m").answer
    other = messages.start_conversation(session, anna.id, "Greetings", "Hi?", model_id="m").answer
    so_far = {answer.id: answers.SoFar("Hel", "Say hello."), other.id: answers.SoFar("Hi")}
    assert answers.save_progress(session, so_far) == set()
    session.refresh(answer)
    assert (answer.content, answer.reasoning, answer.status) == ("Hel", "Say hello.", MessageStatus.STREAMING)
    assert answers.finish(
        session, answer.id, MessageStatus.STOPPED, content="Hello", reasoning="Say hello.", finish_reason="stop",
        model_version="m.gguf 98 MB", prompt_tokens=12, cached_tokens=4, completion_tokens=2, duration_s=0.5,
    )
    assert (answer.content, answer.status, answer.prompt_tokens) == ("Hello", MessageStatus.STOPPED, 12)
    texts = {answer.id: answers.SoFar("late"), "nobody": answers.SoFar(""), other.id: answers.SoFar("Hi!")}
    assert answers.save_progress(session, texts) == {answer.id, "nobody"}
    for each in (answer, other):
        session.refresh(each)
    assert other.content == "Hi!"
    assert not answers.finish(session, answer.id, MessageStatus.COMPLETE, content="late")
    assert (answer.content, answer.status) == ("Hello", MessageStatus.STOPPED)


def test_an_answer_cannot_end_as_streaming(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m").answer
    with pytest.raises(ValueError, match="does not end"):
        answers.finish(session, answer.id, MessageStatus.STREAMING, content="")


def test_an_ended_answer_can_go_on(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m").answer
    answers.finish(session, answer.id, MessageStatus.FAILED, content="Hel", error="no memory", finish_reason="error")
    turn = messages.reopen_answer(session, anna.id, answer.id)
    assert turn is not None
    assert turn.answer is answer
    assert (answer.content, answer.status) == ("Hel", MessageStatus.STREAMING)
    assert (answer.error, answer.finish_reason) == (None, None)
    assert answers.finish(session, answer.id, MessageStatus.COMPLETE, content="Hello")


def test_after_a_crash_what_was_being_written_is_interrupted_with_its_text(session: Session, anna: User) -> None:
    done = start(session, anna).answer
    cut = messages.start_conversation(session, anna.id, "Greetings", "Hello?", model_id="m").answer
    answers.save_progress(session, {cut.id: answers.SoFar("Hel")})
    session.refresh(cut)
    assert answers.interrupt_streaming(session) == 1
    assert (cut.content, cut.status) == ("Hel", MessageStatus.INTERRUPTED)
    assert done.status is MessageStatus.COMPLETE
    assert answers.interrupt_streaming(session) == 0


def test_broken_text_is_kept_as_well_as_it_can_be(session: Session, anna: User) -> None:
    turn = start(session, anna, "a\0b \ud83d\ude00 \ud800", "ok \udfff")
    session.expire_all()
    assert texts(session, anna, turn.conversation.id) == ["a\0b 😀 \ufffd", "ok \ufffd"]


def test_a_chat_of_three_thousand_messages_is_read_and_removed_whole(session: Session, anna: User) -> None:
    chat = conversations.create(session, anna.id, title="Long")
    parent_id = None
    for number in range(3000):
        row = Message(conversation_id=chat.id, parent_id=parent_id, role=MessageRole.USER, content=f"word {number}")
        session.add(row)
        parent_id = row.id
    chat.current_message_id = parent_id
    session.flush()
    assert texts(session, anna, chat.id) == [f"word {number}" for number in range(3000)]
    session.delete(session.get_one(Conversation, chat.id))
    session.flush()
    assert session.exec(select(Message).where(col(Message.conversation_id) == chat.id)).all() == []
