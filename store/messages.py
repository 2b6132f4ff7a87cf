"""A conversation's tree of messages. Called by services through `Database.read` and `Database.run`, on a store thread.

Edits and regenerations are siblings; a *branch* is the path from a root to a leaf, and the conversation remembers which
is shown. Functions that take a `user_id` see that person's own undeleted conversations only, and answer None for any
other. What the server's own generations write is in `store.answers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from sqlalchemy import update
from sqlmodel import Session, col, select

from store import conversations
from store.conversations import Setup
from store.errors import AnswerInProgress
from store.sqlite import storable
from store.tables import Conversation, Message, MessageRole, MessageStatus, now
from store.tree import Tree


@dataclass(frozen=True, slots=True)
class Turn:
    """What was just written: a person's message, and the empty answer to it that is now STREAMING."""

    conversation: Conversation
    user_message: Message
    answer: Message


# --- reading ---------------------------------------------------------------------------------------------------------


def get(session: Session, user_id: str, message_id: str) -> Message | None:
    return session.exec(
        select(Message)
        .join(Conversation, col(Conversation.id) == Message.conversation_id)
        .where(
            Message.id == message_id,
            Conversation.user_id == user_id,
            col(Conversation.deleted_at).is_(None),
            col(Message.deleted_at).is_(None),
        )
    ).first()


def branch(
    session: Session, user_id: str, conversation_id: str, leaf_id: str | None = None
) -> list[tuple[Message, tuple[str, ...]]] | None:
    """The messages from the root down to `leaf_id`, each with its siblings' ids (itself included), oldest first.

    Without `leaf_id`, the branch that is shown. None if the conversation or that message is not there.
    """
    conversation = conversations.get(session, user_id, conversation_id)
    if conversation is None:
        return None
    tree = Tree.load(session, conversation_id)
    leaf_id = leaf_id or conversation.current_message_id
    if leaf_id is None:
        return []
    if leaf_id not in tree.parents:
        return None
    path = tree.path(leaf_id)
    rows = {row.id: row for row in session.exec(select(Message).where(col(Message.id).in_(path)))}
    return [(rows[message_id], tree.siblings(message_id)) for message_id in path]


def tree(session: Session, user_id: str, conversation_id: str) -> tuple[Conversation, list[Message]] | None:
    """A conversation with all its messages, each after its parent. None if it is not there."""
    conversation = conversations.get(session, user_id, conversation_id)
    if conversation is None:
        return None
    rows = {row.id: row for row in session.exec(select(Message).where(Message.conversation_id == conversation_id))}
    return conversation, [rows[message_id] for message_id in Tree.load(session, conversation_id).parents_first()]


# --- writing turns ---------------------------------------------------------------------------------------------------


def add_turn(
    session: Session,
    user_id: str,
    conversation_id: str,
    content: str,
    *,
    model_id: str | None,
    parent_id: str | None = None,
) -> Turn | None:
    """Append to the branch that is shown, or under `parent_id`. AnswerInProgress if that is still being written."""
    conversation = conversations.get(session, user_id, conversation_id)
    if conversation is None:
        return None
    parent_id = parent_id or conversation.current_message_id
    if parent_id is None:
        return _write_turn(session, conversation, None, content, model_id)
    parent = get(session, user_id, parent_id)
    if parent is None or parent.conversation_id != conversation.id:
        return None
    if parent.status is MessageStatus.STREAMING:
        raise AnswerInProgress("The answer above is still being written. Stop it, or wait for its end.")
    return _write_turn(session, conversation, parent.id, content, model_id)


def start_conversation(
    session: Session, user_id: str, title: str, content: str, **setup: Unpack[Setup]
) -> Turn:
    """A new conversation with its first turn."""
    conversation = conversations.create(session, user_id, title=title, **setup)
    return _write_turn(session, conversation, None, content, setup.get("model_id"))


def edit_turn(session: Session, user_id: str, message_id: str, content: str, *, model_id: str | None) -> Turn | None:
    """A person's message said otherwise: its sibling, with an answer of its own. None if it is not theirs."""
    original = get(session, user_id, message_id)
    if original is None or original.role is not MessageRole.USER:
        return None
    conversation = session.get_one(Conversation, original.conversation_id)
    return _write_turn(session, conversation, original.parent_id, content, model_id)


def add_answer(session: Session, user_id: str, answer_id: str, *, model_id: str | None) -> Turn | None:
    """Another answer to the same message: a sibling of `answer_id`. None if that is not an answer of this person's."""
    original = get(session, user_id, answer_id)
    if original is None or original.role is not MessageRole.ASSISTANT or original.parent_id is None:
        return None
    conversation = session.get_one(Conversation, original.conversation_id)
    question = session.get_one(Message, original.parent_id)
    return Turn(conversation, question, _write_answer(session, conversation, question.id, model_id))


def answer_turn(session: Session, user_id: str, message_id: str, *, model_id: str | None) -> Turn | None:
    """An answer to a person's message that has none any more, or another. None if it is not theirs."""
    question = get(session, user_id, message_id)
    if question is None or question.role is not MessageRole.USER:
        return None
    conversation = session.get_one(Conversation, question.conversation_id)
    return Turn(conversation, question, _write_answer(session, conversation, question.id, model_id))


def edit_answer(session: Session, user_id: str, answer_id: str, content: str) -> tuple[Conversation, str] | None:
    """An answer's text as its reader wants it: a sibling, shown in its place, to which what follows now belongs.

    With the new one's id. The old text stays, as a version. None if it is not an answer of this person's. Raises
    AnswerInProgress.
    """
    original = get(session, user_id, answer_id)
    if original is None or original.role is not MessageRole.ASSISTANT or original.parent_id is None:
        return None
    if original.status is MessageStatus.STREAMING:
        raise AnswerInProgress("This answer is still being written. Stop it, or wait for its end.")
    conversation = session.get_one(Conversation, original.conversation_id)
    edited = Message(
        conversation_id=conversation.id,
        parent_id=original.parent_id,
        role=MessageRole.ASSISTANT,
        content=storable(content),
        reasoning=original.reasoning,
        reasoning_s=original.reasoning_s,
        is_edited=True,
        model_id=original.model_id,
        model_version=original.model_version,
        connection=original.connection,
        num_left_out=original.num_left_out,
        first_message_id=original.first_message_id,
    )
    session.add(edited)
    session.flush()
    session.exec(update(Message).where(col(Message.parent_id) == original.id).values(parent_id=edited.id))
    tree = Tree.load(session, conversation.id)
    under = tree.under(edited.id)
    _forget_summaries(session, conversation.id, under)      # they tell of the old text
    if conversation.current_message_id not in under:
        conversation.current_message_id = tree.newest_leaf(edited.id)
    conversation.updated_at = now()
    return conversation, edited.id


def _forget_summaries(session: Session, conversation_id: str, message_ids: set[str]) -> None:
    summed_up = select(Message).where(Message.conversation_id == conversation_id, Message.summary != "")
    for message in session.exec(summed_up):
        if message.id in message_ids:
            message.summary = ""


def reopen_answer(session: Session, user_id: str, answer_id: str) -> Turn | None:
    """Make an ended answer STREAMING again, to go on with its text. Raises AnswerInProgress if it is already."""
    answer = get(session, user_id, answer_id)
    if answer is None or answer.role is not MessageRole.ASSISTANT or answer.parent_id is None:
        return None
    if answer.status is MessageStatus.STREAMING:
        raise AnswerInProgress("This answer is still being written. Stop it, or wait for its end.")
    answer.status, answer.error, answer.finish_reason = MessageStatus.STREAMING, None, None
    conversation = session.get_one(Conversation, answer.conversation_id)
    conversation.current_message_id = Tree.load(session, conversation.id).newest_leaf(answer.id)
    conversation.updated_at = now()
    return Turn(conversation, session.get_one(Message, answer.parent_id), answer)


def show_branch(session: Session, user_id: str, message_id: str) -> Conversation | None:
    """Show the branch through this message, down to the newest leaf under it."""
    message = get(session, user_id, message_id)
    if message is None:
        return None
    conversation = session.get_one(Conversation, message.conversation_id)
    conversation.current_message_id = Tree.load(session, conversation.id).newest_leaf(message.id)
    return conversation


def _write_turn(
    session: Session, conversation: Conversation, parent_id: str | None, content: str, model_id: str | None
) -> Turn:
    question = Message(
        conversation_id=conversation.id, parent_id=parent_id, role=MessageRole.USER, content=storable(content)
    )
    session.add(question)
    session.flush()
    return Turn(conversation, question, _write_answer(session, conversation, question.id, model_id))


def _write_answer(session: Session, conversation: Conversation, parent_id: str, model_id: str | None) -> Message:
    answer = Message(
        conversation_id=conversation.id,
        parent_id=parent_id,
        role=MessageRole.ASSISTANT,
        status=MessageStatus.STREAMING,
        model_id=model_id,
    )
    session.add(answer)
    session.flush()
    conversation.current_message_id = answer.id
    conversation.model_id = model_id
    conversation.updated_at = now()
    conversation.archived_at = None         # who writes in it is not done with it
    return answer
