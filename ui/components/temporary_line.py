"""What a temporary chat is, under its composer. Used by the chat page."""

from __future__ import annotations

from ui.components.elements import icon, tag
from ui.language import t


def temporary_line() -> None:
    with tag("p", "nk-fine"):
        icon("message-circle-dashed", 14)
        tag("span", text=t("temporary-line"))
