"""Chats as Open WebUI imports them: see this package's own words. Pure functions, used by `app.services.exports`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.formats.open_webui.notation import COUNTS, NAMES, OURS, SPANS_S
from app.formats.open_webui.setup import write_params, write_setup
from app.formats.open_webui.thoughts import thought_block
from app.language import said_again
from store.chat_places import ChatPlace
from store.tables import Conversation, Message, MessageRole


def write_chat(
    conversation: Conversation, messages: Sequence[Message], place: ChatPlace | None = None, preset_name: str = ""
) -> dict[str, Any]:
    """`messages`: all of them, each after its parent. `preset_name`: that it was set up from."""
    place = place or ChatPlace()
    system = None if conversation.system_prompt else _system_root(messages)
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
            "params": write_params(conversation.parameters, system.content if system else conversation.system_prompt),
            "history": {"currentId": conversation.current_message_id, "messages": _write_messages(turns, system)},
            "tags": [*place.tags],
            "files": [],
            "timestamp": int(conversation.created_at.timestamp() * 1000),
            OURS: {
                "created_at": conversation.created_at.timestamp(),
                "updated_at": conversation.updated_at.timestamp(),
                "system": {"id": system.id, "timestamp": system.created_at.timestamp()} if system else None,
                "setup": write_setup(conversation, preset_name),
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
        "content": thought_block(message.reasoning) + message.content,
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
        written["error"] = {"content": str(said_again(message.error))}
    own = {key: getattr(message, key) for key in (*NAMES, *COUNTS, *SPANS_S)}
    return written | {OURS: {"status": message.status.value, "reasoning": message.reasoning, **own}}



