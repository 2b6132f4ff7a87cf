"""Chats of Open WebUI, and our own come home: see this package's words. Pure functions, for `app.formats.reader`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from app.formats.open_webui.notation import COUNTS, NAMES, OURS, SPANS_S
from app.formats.open_webui.setup import read_setup
from app.formats.open_webui.thoughts import split_thoughts
from app.formats.tree import forest_of, in_order_of_time, newest_leaf
from app.formats.values import BadEntry, count, mapping, name, seconds, sequence, text, time
from app.language import Said
from store.answers import AnswerStats
from store.chat_places import ChatPlace
from store.imports import IncomingConversation, IncomingMessage
from store.tables import MessageRole, MessageStatus, TitleSource


def is_chat(entry: Mapping[str, Any]) -> bool:
    return "chat" in entry or "history" in entry


def read_chat(entry: Mapping[str, Any]) -> IncomingConversation:
    """Raises BadEntry. Also the older form, in which the chat itself stands in the list."""
    chat = mapping(entry.get("chat")) or entry
    own = mapping(chat.get(OURS))
    nodes = _nodes_of(chat)
    created_at = time(own.get("created_at")) or time(entry.get("created_at")) or time(chat.get("timestamp"))
    updated_at = time(own.get("updated_at")) or time(entry.get("updated_at"))
    messages = _read_system(chat, mapping(own.get("system")), created_at, nodes)
    root_id = messages[0].source_id if messages else None
    messages += _read_messages(nodes, root_id, created_at)
    if len(messages) == (1 if root_id else 0):
        raise BadEntry(Said("skipped-empty"))
    ordered = in_order_of_time(messages)
    moments = [message.created_at for message in ordered]
    current_id = mapping(chat.get("history")).get("currentId")
    models = [model for model in map(name, sequence(chat.get("models"))) if model]
    return IncomingConversation(
        source_id=name(entry.get("id")) or name(chat.get("id")) or _fingerprint(entry),
        title=text(entry.get("title")) or text(chat.get("title")),
        created_at=created_at or min(moments),
        updated_at=updated_at or max(moments),
        messages=ordered,
        current_source_id=current_id if isinstance(current_id, str) and current_id in nodes else newest_leaf(messages),
        model_id=models[0] if models else None,
        title_source=next((each for each in TitleSource if each == own.get("title_source")), TitleSource.PERSON),
        setup=read_setup(chat),
        place=_read_place(entry, own, updated_at or max(moments)),
    )


def _read_place(entry: Mapping[str, Any], own: Mapping[str, Any], updated_at: datetime) -> ChatPlace:
    """Of a folder Open WebUI tells only its id, of a tag a name without capitals and spaces."""
    tags = own.get("tags") or mapping(entry.get("meta")).get("tags")
    archived_at = time(own.get("archived_at")) or (updated_at if entry.get("archived") is True else None)
    return ChatPlace(
        folder=tuple(filter(None, map(name, sequence(own.get("folder"))))),
        folder_source_id=name(entry.get("folder_id")) or "",
        is_pinned=entry.get("pinned") is True,
        pin_position=count(own.get("pin_position")),
        archived_at=archived_at,
        tags=tuple(filter(None, map(name, sequence(tags)))),
    )


def _nodes_of(chat: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """By id. Very old exports have no tree, only the list of the branch that was shown."""
    history = mapping(chat.get("history")).get("messages")
    if isinstance(history, dict) and history:
        return {node_id: node for node_id, node in history.items() if isinstance(node, dict) and node_id}
    nodes: dict[str, Mapping[str, Any]] = {}
    before: str | None = None
    for place, node in enumerate(sequence(chat.get("messages"))):
        if isinstance(node, dict):
            node_id = name(node.get("id")) or str(place)
            nodes.setdefault(node_id, {**node, "parentId": before})
            before = node_id
    return nodes


def _read_system(
    chat: Mapping[str, Any], own: Mapping[str, Any], created_at: datetime | None, nodes: Container[str]
) -> list[IncomingMessage]:
    """Where it was a message. Elsewhere it is a part of the chat's set-up."""
    content = text(mapping(chat.get("params")).get("system"))
    if not content or not own:
        return []
    at = time(own.get("timestamp")) or created_at or datetime.now(UTC)
    source_id = name(own.get("id")) or "system"
    while source_id in nodes:
        source_id += "+"
    return [
        IncomingMessage(
            source_id=source_id, parent_source_id=None, role=MessageRole.SYSTEM, content=content, created_at=at
        )
    ]


def _read_messages(
    nodes: Mapping[str, Mapping[str, Any]], root_id: str | None, created_at: datetime | None
) -> list[IncomingMessage]:
    forest = forest_of(nodes, parent="parentId", children="childrenIds")
    moments: dict[str | None, datetime | None] = {None: created_at}
    messages = []
    for node_id in forest.order:
        parent_id = forest.parents[node_id]
        at = time(nodes[node_id].get("timestamp")) or moments[parent_id] or datetime.now(UTC)
        moments[node_id] = at
        messages.append(_read_message(node_id, parent_id if parent_id is not None else root_id, nodes[node_id], at))
    return messages


def _read_message(
    node_id: str, parent_id: str | None, node: Mapping[str, Any], created_at: datetime
) -> IncomingMessage:
    own = mapping(node.get(OURS))
    role = {"user": MessageRole.USER, "system": MessageRole.SYSTEM}.get(text(node.get("role")), MessageRole.ASSISTANT)
    is_answer = role is MessageRole.ASSISTANT
    content, reasoning = split_thoughts(_content_of(node), own.get("reasoning", None if is_answer else ""))
    return IncomingMessage(
        source_id=node_id,
        parent_source_id=parent_id,
        role=role,
        content=content + _attachments(node),
        reasoning=reasoning,
        created_at=created_at,
        status=_status(node, own) if is_answer else MessageStatus.COMPLETE,
        stats=_stats(node, own) if is_answer else AnswerStats(),
    )


def _content_of(node: Mapping[str, Any]) -> str:
    content = node.get("content")
    if isinstance(content, list):       # parts, as in requests
        return "\n\n".join(filter(None, (text(mapping(part).get("text")) for part in content)))
    return text(content)


def _attachments(node: Mapping[str, Any]) -> str:
    """Files are not in the export; that there were some is."""
    names = [text(mapping(file).get("name")) or "Image" for file in sequence(node.get("files"))]
    return "".join(f"\n\n*[Attachment: {each}]*" for each in names)


def _status(node: Mapping[str, Any], own: Mapping[str, Any]) -> MessageStatus:
    known = next((status for status in MessageStatus if status == own.get("status")), None)
    if known is not None and known is not MessageStatus.STREAMING:
        return known
    if node.get("error"):
        return MessageStatus.FAILED
    return MessageStatus.INTERRUPTED if known or node.get("done") is False else MessageStatus.COMPLETE


def _stats(node: Mapping[str, Any], own: Mapping[str, Any]) -> AnswerStats:
    usage = mapping(node.get("usage"))
    error = node.get("error")
    stats: dict[str, Any] = {
        "model_id": name(node.get("model")),
        "error": (text(mapping(error).get("content")) or text(error) or "It failed where it was made.")
        if error else None,
        "prompt_tokens": count(usage.get("prompt_tokens")),
        "completion_tokens": count(usage.get("completion_tokens")),
        **{key: name(own.get(key)) for key in NAMES},
        **{key: count(own.get(key)) for key in COUNTS},
        **{key: seconds(own.get(key)) for key in SPANS_S},
    }
    return cast(AnswerStats, stats)


def _fingerprint(entry: Mapping[str, Any]) -> str:
    """Stands in for an id where the source gives none: the same entry is known again."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
