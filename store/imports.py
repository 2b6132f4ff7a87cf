"""A conversation from elsewhere becomes one of ours: its tree, times, models and titles. On a store thread.

Identity is what makes a second import harmless. A conversation's id follows from its owner and its id at the source; a
message's id from its parent's, its id at the source and its text. So whatever is here already is found again, and a
text that was changed at the source stands beside the old one, as an edit does. What is here is never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import insert
from sqlmodel import Session, col, select

from store import conversations, library
from store.answers import AnswerStats
from store.chat_places import ChatPlace, place_imported
from store.tables import Conversation, Message, MessageRole, MessageStatus, Preset, TitleSource, WhenFull

_PERSON = b"inglenook import"        # never to change: ids that were given out hang on it


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage:
    source_id: str
    parent_source_id: str | None
    role: MessageRole
    content: str
    created_at: datetime
    reasoning: str = ""
    status: MessageStatus = MessageStatus.COMPLETE
    stats: AnswerStats = field(default_factory=AnswerStats)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingSetup:
    """How it was answered there."""

    system_prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    when_full: WhenFull = WhenFull.LEAVE_OUT
    preset_name: str = ""                       # of one of the owner's, where there is one of that name


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingConversation:
    source_id: str
    title: str
    created_at: datetime
    updated_at: datetime
    messages: tuple[IncomingMessage, ...]       # at least one; each after its parent
    current_source_id: str                      # the leaf that is shown
    model_id: str | None = None
    title_source: TitleSource = TitleSource.PERSON
    setup: IncomingSetup = field(default_factory=IncomingSetup)
    place: ChatPlace = field(default_factory=ChatPlace)


class Merged(StrEnum):
    ADDED = "added"
    UPDATED = "updated"         # it was here, and has messages that were not
    KNOWN = "known"             # it was here, whole


def merge(session: Session, user_id: str, incoming: IncomingConversation) -> Merged:
    """Add the conversation, or what is new of it. One that its owner has just deleted comes back."""
    conversation = conversations.get_with_deleted(session, user_id, incoming.source_id)     # our own export, come home
    if conversation is None:
        derived_id = _derived_id(user_id, incoming.source_id)
        conversation = conversations.get_with_deleted(session, user_id, derived_id)
    if conversation is None:
        conversation = Conversation(
            id=derived_id, user_id=user_id, title=incoming.title, model_id=incoming.model_id,
            created_at=incoming.created_at, updated_at=incoming.updated_at, title_source=incoming.title_source,
            system_prompt=incoming.setup.system_prompt, parameters=dict(incoming.setup.parameters),
            when_full=incoming.setup.when_full, preset_id=_preset_id(session, user_id, incoming.setup.preset_name),
        )
        session.add(conversation)
        session.flush()
        place_imported(session, conversation, incoming.place)
        merged = Merged.ADDED
    else:
        merged = Merged.ADDED if conversation.deleted_at else Merged.KNOWN
    ids, rows = _place(session, conversation.id, incoming)
    if rows:
        session.connection().execute(insert(Message), rows)        # not through the ORM: a row a statement there
        conversation.current_message_id = ids[incoming.current_source_id]
        conversation.updated_at = max(conversation.updated_at, incoming.updated_at)
        merged = Merged.UPDATED if merged is Merged.KNOWN else merged
    conversation.deleted_at = None
    return merged


def _preset_id(session: Session, user_id: str, name: str) -> str | None:
    presets = library.list_items(session, user_id, Preset) if name else []
    return next((preset.id for preset in presets if preset.name == name), None)


def _place(
    session: Session, conversation_id: str, incoming: IncomingConversation
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Our id of each message, by the source's, and the rows that are not here yet, parents first."""
    here = {
        row.id: row for row in session.exec(select(Message).where(col(Message.conversation_id) == conversation_id))
    }
    ids: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    for message in incoming.messages:
        parent_id = ids[message.parent_source_id] if message.parent_source_id is not None else None
        same = here.get(message.source_id)
        if same is not None and same.parent_id == parent_id and _is_same(same, message):
            ids[message.source_id], same.deleted_at = same.id, None
            continue
        message_id = _derived_id(
            parent_id or conversation_id, message.source_id, message.role, message.content, message.reasoning
        )
        ids[message.source_id] = message_id
        if message_id in here:
            here[message_id].deleted_at = None      # as a chat, a message that is imported again is back
        else:
            rows[message_id] = _row(conversation_id, message_id, parent_id, message)
    return ids, list(rows.values())


def _is_same(row: Message, message: IncomingMessage) -> bool:
    """An answer that has been continued since it was exported is still that answer."""
    return (
        row.role is message.role
        and row.content.startswith(message.content)
        and row.reasoning.startswith(message.reasoning)
    )


def _row(conversation_id: str, message_id: str, parent_id: str | None, message: IncomingMessage) -> dict[str, Any]:
    return {
        "id": message_id,
        "conversation_id": conversation_id,
        "parent_id": parent_id,
        "role": message.role,
        "content": message.content,
        "reasoning": message.reasoning,
        "status": message.status,
        "created_at": message.created_at,
        **{name: message.stats.get(name) for name in AnswerStats.__annotations__},
        "connection": message.stats.get("connection") or "",
        "num_left_out": 0,
    }


def _derived_id(*parts: str) -> str:
    """Lengths in front, so that no two lists of parts read the same."""
    known_as = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(known_as.encode("utf-8", "surrogatepass"), digest_size=16, person=_PERSON).hexdigest()
