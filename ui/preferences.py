"""What a person has settled for all their devices: theme, language, size of text, what Enter does. Read by the frame.

Each is a small value in their settings (`AccountService`). An unknown one, of a later version say, counts as unset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from nicegui import ui

from ui.language import LANGUAGE_SETTING
from ui.theme import Theme

THEME_SETTING: Final = "theme"
TEXT_SETTING: Final = "text_percent"
ENTER_SETTING: Final = "enter"
TEXT_PERCENTS: Final = (90, 100, 110, 125)


class Enter(StrEnum):
    SEND = "send"
    NEW_LINE = "newline"        # and Ctrl or ⌘ with it sends

    @classmethod
    def of(cls, value: object) -> Enter:
        return next((choice for choice in cls if choice == value), cls.SEND)


@dataclass(frozen=True, slots=True)
class Preferences:
    theme: Theme = Theme.SYSTEM
    language: str | None = None             # a code; None: as the browser asks
    text_percent: int = 100
    enter: Enter = Enter.SEND

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Preferences:
        percent, language = settings.get(TEXT_SETTING), settings.get(LANGUAGE_SETTING)
        return cls(
            theme=Theme.of(settings.get(THEME_SETTING)),
            language=language if isinstance(language, str) else None,
            text_percent=percent if percent in TEXT_PERCENTS else 100,
            enter=Enter.of(settings.get(ENTER_SETTING)),
        )

    def put_on_page(self) -> None:
        """What the page's own scripts and styles follow, from before the first paint. `dress` does it for the theme."""
        ui.add_body_html(f"<script>{_script(self.text_percent, self.enter)}</script>")


def show_now(text_percent: int, enter: Enter) -> None:
    """The same on an open page."""
    ui.run_javascript(_script(text_percent, enter))


def _script(text_percent: int, enter: Enter) -> str:
    """In percent of what the browser is set to. Kept for the sign-in page of this browser: see gate.js."""
    return (
        f'document.documentElement.style.fontSize = "{text_percent}%"; '
        f'localStorage.setItem("inglenook.text", "{text_percent}"); '
        f"document.body.dataset.nkEnter = {json.dumps(enter.value)};"
    )
