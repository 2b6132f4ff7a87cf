"""The sign of what is elsewhere, where models and answers are named. Used by the chat page."""

from __future__ import annotations

from collections.abc import Sequence

from ui.components.elements import icon, tag
from ui.language import t


def far_mark(connections: Sequence[str] = ()) -> None:
    """With its words, for who does not see it or wants to know; without connections, as they stand beside it."""
    if not connections:
        with tag("span", "nk-far", aria_hidden="true"):
            icon("globe", 14)
        return
    words = t("picker-elsewhere", connections=", ".join(connections))
    with tag("span", "nk-far", role="img", aria_label=words, title=words):
        icon("globe", 14)
