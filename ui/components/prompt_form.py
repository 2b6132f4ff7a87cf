"""Asks for a prompt's variables, in the browser; see prompt_form.js. The composer makes one, which goes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from nicegui.element import Element

from app.services.prompts import Variable


class PromptForm(Element, component="prompt_form.js"):
    """`selected` is what its reader had marked in the chat."""

    def __init__(self, name: str, parts: Sequence[str | Variable], selected: str) -> None:
        super().__init__()
        self._props.update(
            name=name, parts=[part if isinstance(part, str) else asdict(part) for part in parts], selected=selected
        )
        self.on("closed", self.delete)
