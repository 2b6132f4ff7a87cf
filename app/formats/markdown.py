"""A chat as Markdown: the branch that is shown, for people. Pure functions, used by `app.services.exports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.language import said_again
from store.tables import Conversation, Message, MessageRole

_HEADINGS = {MessageRole.SYSTEM: "System prompt", MessageRole.USER: "You"}


def write_markdown(conversation: Conversation, branch: Sequence[Message], model_names: Mapping[str, str]) -> str:
    """`branch`: from the root to the leaf. `model_names`: by id, as far as they are known."""
    parts = [f"# {_one_line(conversation.title)}", f"*{conversation.created_at:%Y-%m-%d %H:%M} UTC*"]
    if conversation.parameters:
        told = ", ".join(f"{name} {value}" for name, value in conversation.parameters.items())
        parts.append(f"*{_one_line(told)}*")
    if conversation.system_prompt:
        parts += [f"## {_HEADINGS[MessageRole.SYSTEM]}", conversation.system_prompt]
    for message in branch:
        model = model_names.get(message.model_id or "", message.model_id)
        parts.append(f"## {_HEADINGS.get(message.role) or _one_line(model or 'Answer')}")
        if message.reasoning:
            parts.append(f"<details>\n<summary>Thought first</summary>\n\n{message.reasoning}\n\n</details>")
        parts += [message.content] if message.content else []
        parts += [f"> No answer. {_one_line(said_again(message.error))}"] if message.error else []
    return "\n\n".join(parts) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
