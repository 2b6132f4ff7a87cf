"""Taking a conversation in: once is enough, what is new joins what is here, and nothing here is changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlmodel import Session, select

from store import answers, conversations, imports, messages, organise, search
from store.answers import AnswerStats
from store.imports import IncomingConversation, IncomingMessage, Merged
from store.tables import Conversation, Message, MessageRole, MessageStatus, User

T0 = datetime(2025, 2, 19, 21, 20, 0, 250_000, tzinfo=UTC)


def said(source_id: str, parent: str | None, content: str, role: MessageRole = MessageRole.USER) -> IncomingMessage:
    return IncomingMessage(
        source_id=source_id, parent_source_id=parent, role=role, content=content, created_at=T0,
        stats=AnswerStats(model_id="o3") if role is MessageRole.ASSISTANT else AnswerStats(),
    )


ANSWER = said("a", "q", "A pearwood bowl.", MessageRole.ASSISTANT)
CHAT = IncomingConversation(
    source_id="source", title="Bowls", created_at=T0, updated_at=T0 + timedelta(hours=1),
    messages=(said("q", None, "Which bowl?"), ANSWER), current_source_id="a", model_id="o3",
)


def only(session: Session, user: User) -> Conversation:
    (conversation,) = conversations.list_recent(session, user.id, limit=9)
    return conversation


def texts(session: Session, user: User) -> list[str]:
    branch = messages.branch(session, user.id, only(session, user).id)
    assert branch is not None
    return [message.content for message, _ in branch]


def test_all_of_it_is_kept_and_can_be_found(session: Session, anna: User) -> None:
    assert imports.merge(session, anna.id, CHAT) is Merged.ADDED
    conversation = only(session, anna)
    assert (conversation.title, conversation.model_id) == ("Bowls", "o3")
    assert (conversation.created_at, conversation.updated_at) == (T0, T0 + timedelta(hours=1))
    _, answer = session.exec(select(Message).order_by(Message.role.desc())).all()       # type: ignore[attr-defined]
    assert (answer.model_id, answer.created_at, answer.id) == ("o3", T0, conversation.current_message_id)
    assert [hit.message_id for hit in search.search(session, anna.id, "pearwood", limit=5)] == [answer.id]


def test_twice_is_once(session: Session, anna: User) -> None:
    imports.merge(session, anna.id, CHAT)
    assert imports.merge(session, anna.id, CHAT) is Merged.KNOWN
    assert texts(session, anna) == ["Which bowl?", "A pearwood bowl."]
    assert len(session.exec(select(Message)).all()) == 2


def test_each_person_has_an_own_one(session: Session, anna: User, ben: User) -> None:
    assert imports.merge(session, anna.id, CHAT) is Merged.ADDED
    assert imports.merge(session, ben.id, CHAT) is Merged.ADDED
    assert only(session, anna).id != only(session, ben).id


def test_anothers_id_brings_nothing_of_theirs(session: Session, anna: User, ben: User) -> None:
    turn = messages.start_conversation(session, ben.id, "Secret", "My secret?", model_id=None)
    stolen = replace(
        CHAT, source_id=turn.conversation.id,
        messages=(
            said(turn.user_message.id, None, "My secret?"), replace(ANSWER, parent_source_id=turn.user_message.id),
        ),
    )
    assert imports.merge(session, anna.id, stolen) is Merged.ADDED
    assert only(session, anna).id != turn.conversation.id
    assert len(messages.tree(session, ben.id, turn.conversation.id)[1]) == 2       # type: ignore[index]


def test_what_went_on_at_the_source_is_added(session: Session, anna: User) -> None:
    imports.merge(session, anna.id, CHAT)
    organise.rename(session, anna.id, only(session, anna).id, "My own title")
    longer = replace(
        CHAT, messages=(*CHAT.messages, said("q2", "a", "And spoons?")), current_source_id="q2",
        updated_at=T0 + timedelta(days=2),
    )
    assert imports.merge(session, anna.id, longer) is Merged.UPDATED
    assert texts(session, anna) == ["Which bowl?", "A pearwood bowl.", "And spoons?"]
    assert (only(session, anna).title, only(session, anna).updated_at) == ("My own title", T0 + timedelta(days=2))


def test_a_text_changed_at_the_source_stands_beside_the_old_one(session: Session, anna: User) -> None:
    imports.merge(session, anna.id, CHAT)
    changed = replace(CHAT, messages=(CHAT.messages[0], replace(ANSWER, content="A cherry bowl.")))
    assert imports.merge(session, anna.id, changed) is Merged.UPDATED
    branch = messages.branch(session, anna.id, only(session, anna).id)
    assert branch is not None
    _, (answer, versions) = branch
    assert (answer.content, len(versions)) == ("A cherry bowl.", 2)
    assert imports.merge(session, anna.id, CHAT) is Merged.KNOWN
    assert imports.merge(session, anna.id, changed) is Merged.KNOWN


def test_our_own_export_is_known_also_where_an_answer_has_grown_since(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "Bowls", "Which bowl?", model_id="o3")
    answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content="A pearwood bowl.")
    session.expire_all()
    question, answer = turn.user_message.id, turn.answer.id
    exported = replace(
        CHAT, source_id=turn.conversation.id, current_source_id=answer,
        messages=(said(question, None, "Which bowl?"), replace(ANSWER, source_id=answer, parent_source_id=question,
                                                               content="A pear")),
    )
    assert imports.merge(session, anna.id, exported) is Merged.KNOWN
    assert texts(session, anna) == ["Which bowl?", "A pearwood bowl."]


def test_what_was_just_deleted_comes_back(session: Session, anna: User) -> None:
    imports.merge(session, anna.id, CHAT)
    organise.delete(session, anna.id, [only(session, anna).id])
    assert imports.merge(session, anna.id, CHAT) is Merged.ADDED
    assert texts(session, anna) == ["Which bowl?", "A pearwood bowl."]


def test_a_tree_is_told_parents_first(session: Session, anna: User) -> None:
    imports.merge(session, anna.id, CHAT)
    found = messages.tree(session, anna.id, only(session, anna).id)
    assert found is not None
    assert [message.content for message in found[1]] == ["Which bowl?", "A pearwood bowl."]
