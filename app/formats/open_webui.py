"""The JSON that Open WebUI exports and imports, and that is our own: a list of chats, each with a tree of messages.

    {id, title, created_at, updated_at, chat: {title, models, params: {system}, history: {currentId, messages: {id:
        {id, parentId, childrenIds, role, content, timestamp, model, done}}}}}

Thoughts stand in `content`, as a block that Open WebUI folds. What it has no place for stands under "inglenook",
so that an export comes home byte by byte. Times are seconds since 1970; Open WebUI wants whole ones for a chat.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from app.formats.tree import forest_of, in_order_of_time, newest_leaf
from app.formats.values import BadEntry, count, mapping, name, seconds, sequence, text, time
from store.chat_places import ChatPlace
from store.imports import IncomingConversation, IncomingMessage
from store.messages import AnswerStats
from store.tables import Conversation, Message, MessageRole, MessageStatus, TitleSource

OURS = "inglenook"
_COUNTS = ("cached_tokens",)
_SPANS_S = ("time_to_first_token_s", "duration_s")
_NAMES = ("model_version", "finish_reason")

_THOUGHT_BEGINS, _SUMMARY_ENDS, _THOUGHT_ENDS = '<details type="reasoning"', "</summary>", "</details>"
_QUOTE = re.compile(r"^(?:&gt;|>) ?", re.MULTILINE)


# --- out -------------------------------------------------------------------------------------------------------------


def write_chat(
    conversation: Conversation, messages: Sequence[Message], place: ChatPlace | None = None
) -> dict[str, Any]:
    """`messages`: all of them, each after its parent."""
    place = place or ChatPlace()
    system = _system_root(messages)
    turns = [message for message in messages if message is not system]
    models = dict.fromkeys(message.model_id for message in reversed(turns) if message.model_id)
    return {
        "id": conversation.id,
        "user_id": conversation.user_id,
        "title": conversation.title,
        "chat": {
            "id": conversation.id,
            "title": conversation.title,
            "models": [*dict.fromkeys([conversation.model_id, *models] if conversation.model_id else models)],
            "params": {"system": system.content} if system else {},
            "history": {"currentId": conversation.current_message_id, "messages": _write_messages(turns, system)},
            "tags": [*place.tags],
            "files": [],
            "timestamp": int(conversation.created_at.timestamp() * 1000),
            OURS: {
                "created_at": conversation.created_at.timestamp(),
                "updated_at": conversation.updated_at.timestamp(),
                "system": {"id": system.id, "timestamp": system.created_at.timestamp()} if system else None,
                "title_source": conversation.title_source.value,
                "folder": [*place.folder],
                "pin_position": place.pin_position,
                "archived_at": place.archived_at.timestamp() if place.archived_at else None,
                "tags": [*place.tags],
            },
        },
        "created_at": int(conversation.created_at.timestamp()),
        "updated_at": int(conversation.updated_at.timestamp()),
        "share_id": None,
        "archived": place.archived_at is not None,
        "pinned": place.is_pinned,
        "meta": {"tags": [_tag_id(tag) for tag in place.tags]} if place.tags else {},
        "folder_id": place.folder_source_id or None,
    }


def _tag_id(name: str) -> str:
    """As Open WebUI names tags: its own would not find one with capitals or spaces."""
    return name.replace(" ", "_").lower()


def _system_root(messages: Sequence[Message]) -> Message | None:
    """The system prompt, where all else stands under one: Open WebUI keeps it beside the messages, not among them."""
    roots = [message for message in messages if message.parent_id is None]
    is_alone = len(roots) == 1 and roots[0].role is MessageRole.SYSTEM and len(messages) > 1
    return roots[0] if is_alone else None


def _write_messages(turns: Sequence[Message], system: Message | None) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for message in turns:
        parent_id = None if system and message.parent_id == system.id else message.parent_id
        written[message.id] = _write_message(message, parent_id)
        if parent_id is not None:
            written[parent_id]["childrenIds"].append(message.id)
    return written


def _write_message(message: Message, parent_id: str | None) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": message.id,
        "parentId": parent_id,
        "childrenIds": [],
        "role": message.role.value,
        "content": _thought_block(message.reasoning) + message.content,
        "timestamp": message.created_at.timestamp(),
    }
    if message.role is not MessageRole.ASSISTANT:
        return written | ({OURS: {"reasoning": message.reasoning}} if message.reasoning else {})
    written |= {"model": message.model_id, "modelName": message.model_id, "done": True}
    if message.completion_tokens is not None or message.prompt_tokens is not None:
        written["usage"] = {
            "prompt_tokens": message.prompt_tokens, "completion_tokens": message.completion_tokens
        }
    if message.error is not None:
        written["error"] = {"content": message.error}
    own = {key: getattr(message, key) for key in (*_NAMES, *_COUNTS, *_SPANS_S)}
    return written | {OURS: {"status": message.status.value, "reasoning": message.reasoning, **own}}


def _thought_block(reasoning: str) -> str:
    if not reasoning:
        return ""
    quoted = "\n".join(f"> {line}" for line in reasoning.split("\n"))
    return (
        f'<details type="reasoning" done="true" duration="0">\n<summary>Thought for 0 seconds</summary>\n{quoted}\n'
        "</details>\n"
    )


# --- in --------------------------------------------------------------------------------------------------------------


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
        raise BadEntry("It holds no messages.")
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
    content = text(mapping(chat.get("params")).get("system")) or text(chat.get("system"))
    if not content:
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
    content, reasoning = _split_thoughts(_content_of(node), own.get("reasoning", None if is_answer else ""))
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


def _split_thoughts(content: str, known: Any) -> tuple[str, str]:
    """Where the thoughts are known, their block and nothing else; else what Open WebUI wrote where one thought."""
    if isinstance(known, str) and content.startswith(block := _thought_block(text(known))):
        return content[len(block):], text(known)
    return _pull_thoughts(content)


def _pull_thoughts(content: str) -> tuple[str, str]:
    """By plain search: a pattern would take hours over a text that only begins blocks."""
    rest, thoughts, at = [], [], 0
    while (start := content.find(_THOUGHT_BEGINS, at)) != -1 and (end := content.find(_THOUGHT_ENDS, start)) != -1:
        summary = content.find(_SUMMARY_ENDS, start, end)
        if summary == -1 or content[max(start - 1, 0):start] not in ("", "\n"):
            rest.append(content[at:start + 1])
            at = start + 1
            continue
        rest.append(content[at:start])
        thoughts.append(_unquoted(content[summary + len(_SUMMARY_ENDS):end].strip("\n")))
        at = end + len(_THOUGHT_ENDS)
    if not thoughts:
        return content, ""
    return ("".join(rest) + content[at:]).strip("\n"), "\n\n".join(thoughts)


def _unquoted(block: str) -> str:
    """Newer versions escape what stands in the block, older ones do not."""
    return _QUOTE.sub("", html.unescape(block) if block.startswith("&gt;") else block)


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
        **{key: name(own.get(key)) for key in _NAMES},
        **{key: count(own.get(key)) for key in _COUNTS},
        **{key: seconds(own.get(key)) for key in _SPANS_S},
    }
    return cast(AnswerStats, stats)


def _fingerprint(entry: Mapping[str, Any]) -> str:
    """Stands in for an id where the source gives none: the same entry is known again."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
