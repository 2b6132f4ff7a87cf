"""OpenAI's messages, in all forms that clients send, as the engine's plain ones. InvalidRequest says which is wrong."""

from __future__ import annotations

from typing import Any, get_args

from engine.engine import ChatMessage, Role
from engine.errors import InvalidRequest

_ROLES: dict[str, Role] = {role: role for role in get_args(Role)} | {"developer": "system"}
MAX_MESSAGES = 10_000           # more than any model's window holds, and few enough to be read in a moment
_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")


def parse_messages(messages: Any) -> tuple[ChatMessage, ...]:
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest("messages must be a list of at least one message.", param="messages")
    if len(messages) > MAX_MESSAGES:
        raise InvalidRequest(f"At most {MAX_MESSAGES:,} messages in one request.", param="messages")
    return tuple(_message(message, f"messages[{index}]") for index, message in enumerate(messages))


def _message(message: Any, place: str) -> ChatMessage:
    if not isinstance(message, dict):
        raise InvalidRequest(f"{place} must be an object with role and content.", param=place)
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidRequest(f"{place}.role must be one of {', '.join(sorted(_ROLES))}.", param=f"{place}.role")
    return ChatMessage(
        role=_ROLES[role],
        content=_content(message.get("content"), f"{place}.content", may_be_null=role == "assistant"),
        reasoning=_optional_text(message, "reasoning_content", place) or _optional_text(message, "reasoning", place),
        name=_optional_text(message, "name", place) or None,
        tool_calls=_tool_calls(message.get("tool_calls"), f"{place}.tool_calls") if role == "assistant" else (),
        tool_call_id=_optional_text(message, "tool_call_id", place) or None,
    )


def _content(content: Any, place: str, *, may_be_null: bool) -> str:
    if isinstance(content, str):
        return content
    if content is None and may_be_null:
        return ""
    if isinstance(content, list):
        return "".join(_part(part, f"{place}[{index}]") for index, part in enumerate(content))
    raise InvalidRequest(f"{place} must be a string or a list of parts.", param=place)


def _part(part: Any, place: str) -> str:
    if not isinstance(part, dict):
        raise InvalidRequest(f"{place} must be an object with a type.", param=place)
    kind = part.get("type")
    if kind not in _TEXT_PARTS:
        raise InvalidRequest(f"{place} is of type {_shown(kind)}; this model reads text only.", param=f"{place}.type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if not isinstance(text, str):
        raise InvalidRequest(f"{place}.text must be a string.", param=f"{place}.text")
    return text


def _tool_calls(calls: Any, place: str) -> tuple[dict[str, Any], ...]:
    if calls is None:
        return ()
    if not isinstance(calls, list) or not all(_is_tool_call(call) for call in calls):
        raise InvalidRequest(
            f"{place} must be a list of objects with id, type and a function of name and arguments (a JSON string).",
            param=place,
        )
    return tuple({"type": "function"} | call for call in calls)


def _is_tool_call(call: Any) -> bool:
    if not isinstance(call, dict) or not isinstance(function := call.get("function"), dict):
        return False
    return isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)


def _optional_text(message: dict[str, Any], name: str, place: str) -> str:
    value = message.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    raise InvalidRequest(f"{place}.{name} must be a string.", param=f"{place}.{name}")


def _shown(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, str) else type(value).__name__
