"""The answer: answer.js shows it, this side says which message it is and what became of it.

Used by the thread, and by the stream route for what stands around the text.
"""

from __future__ import annotations

from typing import Any

from nicegui.element import Element

from app.language import Said, said_again
from app.schemas import ThreadMessage
from app.services.absent_models import ModelName
from app.services.generation import TOO_LONG
from app.services.model_facts import version_in_words
from store.tables import Message, MessageStatus
from ui.language import in_words
from ui.theme import ASSETS

TALK = str(ASSETS / "scripts" / "talk")         # what answers and one's own messages share in the browser


def answer_state(message: Message, model: ModelName | None) -> dict[str, Any]:
    """What answer.js shows around the text. Sent with the page, and by the stream when the answer is done."""
    return {
        "status": message.status,
        "finish": message.finish_reason,
        "hopeless": is_hopeless(message),
        "error": in_words(message.error) if message.error else None,
        "thought": message.reasoning,
        "edited": message.is_edited,
        "figures": answer_figures(message, model),
    }


def is_hopeless(message: Message) -> bool:
    """Whether to ask the same again can only fail again."""
    return isinstance(error := said_again(message.error or ""), Said) and error.message_id == TOO_LONG


def answer_figures(message: Message, model: ModelName | None) -> dict[str, Any]:
    """How it was made, as far as that is known. In numbers: the browser puts those that are seen into words."""
    name = message.model_id if model is None else ", ".join(filter(None, (model.name, model.quantisation)))
    figures = {
        "model": name,
        "version": version_in_words(message.model_version or ""),
        "connection": message.connection,
        "tokens": message.completion_tokens,
        "read": message.prompt_tokens,
        "known": message.cached_tokens,
        "first_s": _rounded(message.time_to_first_token_s),
        "thought_s": _rounded(message.reasoning_s),
        "all_s": _rounded(message.duration_s),
        "left_out": message.num_left_out,
    }
    return {key: value for key, value in figures.items() if value}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else max(round(seconds, 2), 0.01)       # what was measured is never nothing


class Answer(
    Element,
    component="answer.js",
    esm={"inglenook-markdown": str(ASSETS / "vendor" / "markdown"), "inglenook-talk": TALK},
):
    """Emits `again` (with a model's id, or null), `continue`, `branch` (-1 or 1), `edit` (with the text), `remove`."""

    def __init__(self, item: ThreadMessage, model: ModelName | None) -> None:
        super().__init__()
        message = item.message
        self._props["messageId"] = message.id
        # Of an answer that is being written the stream brings the text, from its beginning: it is sent once.
        self._props["content"] = "" if message.status is MessageStatus.STREAMING else message.content
        self.show(item, model, last=False)

    def refuse(self, reason: str) -> None:
        """What was edited cannot be saved; it stays in its field."""
        self.run_method("refuse", reason)

    def show(self, item: ThreadMessage, model: ModelName | None, *, last: bool) -> None:
        """Bring what may change to the page. Nothing is sent where nothing did."""
        wanted = {
            "state": answer_state(item.message, model),
            "version": item.sibling_index + 1,
            "versions": len(item.sibling_ids),
            "last": last,
        }
        if any(self._props.get(key) != value for key, value in wanted.items()):
            self._props.update(wanted)
            self.update()
