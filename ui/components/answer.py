"""The answer: answer.js shows it, this side says which message it is and what became of it.

Used by the thread, and by the stream route for what stands around the text.
"""

from __future__ import annotations

from typing import Any

from nicegui.element import Element

from app.schemas import ThreadMessage
from store.tables import Message, MessageStatus, Model
from ui.language import in_words
from ui.theme import ASSETS
from ui.words import answer_stats


def answer_state(message: Message, model: Model | None) -> dict[str, Any]:
    """What answer.js shows around the text. Sent with the page, and by the stream when the answer is done."""
    return {
        "status": message.status,
        "finish": message.finish_reason,
        "error": in_words(message.error) if message.error else None,
        "reasoning": message.reasoning,
        "stats": answer_stats(message, model),
    }


class Answer(
    Element,
    component="answer.js",
    esm={"inglenook-markdown": str(ASSETS / "vendor" / "markdown")},
):
    """Emits `again`, `continue` and `branch` (-1 or 1)."""

    def __init__(self, item: ThreadMessage, model: Model | None) -> None:
        super().__init__()
        message = item.message
        self._props["messageId"] = message.id
        # Of an answer that is being written the stream brings the text, from its beginning: it is sent once.
        self._props["content"] = "" if message.status is MessageStatus.STREAMING else message.content
        self.show(item, model, last=False)

    def show(self, item: ThreadMessage, model: Model | None, *, last: bool) -> None:
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
