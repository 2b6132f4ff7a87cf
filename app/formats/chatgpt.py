"""What ChatGPT exports: conversations.json, or conversations-000.json and so on in a ZIP, each a list of conversations.

    {id, title, create_time, update_time, default_model_slug, is_archived, is_starred, current_node,
     mapping: {node: {parent, children, message:
        {author: {role}, recipient, create_time, status, metadata, content: {content_type, parts, …}}}}}

One answer there is a row of nodes: thoughts, calls of tools, what came back, the text. Here it is one message: nodes of
one row become one, as far as the row does not branch. What the page there hides is left out. Any field may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.formats.chatgpt_content import Piece, piece_of
from app.formats.tree import forest_of, in_order_of_time, newest_leaf
from app.formats.values import BadEntry, mapping, name, text, time
from app.language import Said
from store.answers import AnswerStats
from store.chat_places import ChatPlace
from store.imports import IncomingConversation, IncomingMessage
from store.tables import MessageRole, MessageStatus

_ROLES = {"system": MessageRole.SYSTEM, "user": MessageRole.USER}       # any other is a part of an answer
_SLUG = re.compile(r"[\w.:/-]{1,100}")


@dataclass(slots=True)
class _Growing:
    """A message here, made of one node or more there. The first node is its name."""

    source_id: str
    parent_source_id: str | None
    role: MessageRole
    created_at: datetime
    pieces: list[Piece] = field(default_factory=list)
    model_id: str | None = None
    status: MessageStatus = MessageStatus.COMPLETE
    finish_reason: str | None = None


def is_conversation(entry: Mapping[str, Any]) -> bool:
    return "mapping" in entry


def read_conversation(entry: Mapping[str, Any]) -> IncomingConversation:
    """Raises BadEntry."""
    nodes = {node_id: node for node_id, node in mapping(entry.get("mapping")).items() if isinstance(node, dict)}
    default_model = _slug(entry.get("default_model_slug"))
    created_at, updated_at = time(entry.get("create_time")), time(entry.get("update_time"))
    growing, places = _gather(nodes, created_at, default_model)
    if not any(message.role is not MessageRole.SYSTEM for message in growing.values()):
        raise BadEntry(Said("skipped-empty"))
    messages = [_grown(message) for message in growing.values()]
    ordered = in_order_of_time(messages)
    moments = [message.created_at for message in ordered]
    current_node = entry.get("current_node")
    current_id = places.get(current_node) if isinstance(current_node, str) else None
    last_model = next((message.model_id for message in reversed(growing.values()) if message.model_id), None)
    first_node = next(iter(nodes))
    return IncomingConversation(
        source_id=name(entry.get("conversation_id")) or name(entry.get("id")) or f"chatgpt:{text(first_node)}",
        title=text(entry.get("title")),
        created_at=created_at or min(moments),
        updated_at=updated_at or max(moments),
        messages=ordered,
        current_source_id=current_id or newest_leaf(messages),
        model_id=default_model or last_model,
        place=ChatPlace(
            is_pinned=entry.get("is_starred") is True,
            archived_at=(updated_at or max(moments)) if entry.get("is_archived") is True else None,
        ),
    )


def _gather(
    nodes: Mapping[str, Mapping[str, Any]], created_at: datetime | None, default_model: str | None
) -> tuple[dict[str, _Growing], dict[str, str | None]]:
    """The messages by their names, each after its parent; and for every node the message in which it is, or hangs."""
    forest = forest_of(nodes, parent="parent", children="children")
    num_children = forest.num_children()
    growing: dict[str, _Growing] = {}
    places: dict[str, str | None] = {}
    in_row: dict[str, bool] = {}        # nothing has branched off since that message
    for node_id in forest.order:
        parent_node_id = forest.parents[node_id]
        above = places[parent_node_id] if parent_node_id is not None else None
        is_only_child = parent_node_id is not None and in_row[parent_node_id] and num_children[parent_node_id] == 1
        message = mapping(nodes[node_id].get("message"))
        piece = piece_of(message)
        if piece is None:
            places[node_id], in_row[node_id] = above, is_only_child
            continue
        role = MessageRole.SYSTEM if piece.is_system else _ROLES.get(_role(message), MessageRole.ASSISTANT)
        if above is not None and is_only_child and growing[above].role is role is MessageRole.ASSISTANT:
            into = growing[above]
        else:
            at = time(message.get("create_time")) or (growing[above].created_at if above else created_at)
            into = growing[node_id] = _Growing(node_id, above, role, at or datetime.now(UTC))
        places[node_id], in_row[node_id] = into.source_id, True
        into.pieces.append(piece)
        if role is MessageRole.ASSISTANT:
            _note_ending(into, message, default_model)
    return growing, places


def _note_ending(answer: _Growing, message: Mapping[str, Any], default_model: str | None) -> None:
    """Of a row of nodes the last one tells how it ended."""
    metadata = mapping(message.get("metadata"))
    answer.model_id = _slug(metadata.get("model_slug")) or answer.model_id or default_model
    ended_by = text(mapping(metadata.get("finish_details")).get("type"))
    answer.finish_reason = {"max_tokens": "length", "stop": "stop"}.get(ended_by)
    answer.status = MessageStatus.COMPLETE
    if ended_by == "interrupted":
        answer.status = MessageStatus.STOPPED
    elif message.get("status") == "in_progress":
        answer.status = MessageStatus.INTERRUPTED


def _grown(message: _Growing) -> IncomingMessage:
    stats = AnswerStats(model_id=message.model_id, finish_reason=message.finish_reason)
    return IncomingMessage(
        source_id=message.source_id,
        parent_source_id=message.parent_source_id,
        role=message.role,
        content="\n\n".join(piece.content for piece in message.pieces if piece.content),
        reasoning="\n\n".join(piece.reasoning for piece in message.pieces if piece.reasoning),
        created_at=message.created_at,
        status=message.status,
        stats=stats if message.role is MessageRole.ASSISTANT else AnswerStats(),
    )


def _role(message: Mapping[str, Any]) -> str:
    return text(mapping(message.get("author")).get("role"))


def _slug(value: Any) -> str | None:
    """A model's name; "auto" names none."""
    slug = name(value)
    return slug if slug and slug != "auto" and _SLUG.fullmatch(slug) else None
