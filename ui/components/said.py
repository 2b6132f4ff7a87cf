"""What a person said: said.js shows it, this side says which message it is and what stands around it.

Used by the thread. On the event loop.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from nicegui.element import Element

from app.schemas import ThreadMessage
from ui.components.answer import TALK
from ui.theme import ASSETS


@dataclass(frozen=True, slots=True)
class Limit:
    """The line above the oldest message that the newest answer was made from."""

    text: str
    summary: str        # of what stands above it, as the model was given it; "" where it was simply left out


class Said(
    Element,
    component="said.js",
    esm={"inglenook-markdown": str(ASSETS / "vendor" / "markdown"), "inglenook-talk": TALK},
):
    """Emits `edit` (with the text), `branch` (-1 or 1), `remove`, and `answer` where it has none."""

    def __init__(self, item: ThreadMessage) -> None:
        super().__init__()
        self._props["messageId"] = item.message.id
        self._props["content"] = item.message.content

    def refuse(self, reason: str) -> None:
        """What was edited cannot be sent; it stays in its field."""
        self.run_method("refuse", reason)

    def show(self, item: ThreadMessage, *, unanswered: bool, limit: Limit | None) -> None:
        """Bring what may change to the page. Nothing is sent where nothing did."""
        wanted = {
            "version": item.sibling_index + 1,
            "versions": len(item.sibling_ids),
            "unanswered": unanswered,
            "limit": asdict(limit) if limit else None,
        }
        if any(self._props.get(key) != value for key, value in wanted.items()):
            self._props.update(wanted)
            self.update()
