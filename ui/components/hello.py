"""The empty page of a new chat: a greeting, the composer, and four ways to begin. Used by the chat page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from app.services.models import ModelEntry
from ui.components.composer import Composer
from ui.components.elements import icon, tag
from ui.words import greeting

OFFERS = (
    ("Write a letter", "mail", "Write a letter to "),
    ("Sum up a document", "file-text", "Sum up this text in five points:\n\n"),
    ("Explain some code", "code-xml", "Explain step by step what this code does:\n\n"),
    ("Think something through", "lightbulb", "Help me think this through: "),
)
NUM_ON_PHONE = 3


class Hello:
    def __init__(self, name: str, make_composer: Callable[[], Composer]) -> None:
        with tag("div", "nk-hello"), tag("div", "nk-hello-in"):
            tag("h1", "", greeting(name, datetime.now().astimezone()))
            tag("p", "nk-sub", "What shall we work on?")
            self.composer = make_composer()
            with tag("div", "nk-sugs"):
                for number, (text, icon_name, start) in enumerate(OFFERS):
                    classes = "nk-chip" if number < NUM_ON_PHONE else "nk-chip nk-not-sm"
                    with tag("button", classes, type="button") as chip:
                        icon(icon_name, 16)
                        tag("span", text=text)
                    chip.on("click", self._fill(start))
            self._note = tag("p", "nk-starter")

    def show_model(self, model: ModelEntry | None) -> None:
        """A word about the small model that came with us, or about none at all."""
        self._note.clear()
        self._note.set_visibility(model is None or model.model.is_starter)
        with self._note:
            small = "This model is for a first try: quick, but it knows little. "
            tag("span", text=small if model else "There is no model yet. ")
            tag("a", "", "Add a larger one" if model else "Add one", href="/models")

    def _fill(self, start: str) -> Callable[[], None]:
        return lambda: self.composer.fill(start)


def chat_not_found() -> None:
    with tag("div", "nk-hello"), tag("div", "nk-hello-in nk-empty"):
        with tag("div", "nk-glyph"):
            icon("file-text", 20)
        tag("h2", "", "This chat is not here")
        tag("p", "", "It may have been deleted, or it belongs to somebody else.")
        with tag("a", "nk-btn nk-btn-primary", href="/"):
            tag("span", text="New chat")
