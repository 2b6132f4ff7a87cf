"""Markdown of a stranger's, shown as answers are; see card.js. On a model's page at the hub."""

from __future__ import annotations

from nicegui.element import Element

from ui.theme import ASSETS


class CardText(
    Element,
    component="card.js",
    esm={"inglenook-markdown": str(ASSETS / "vendor" / "markdown")},
):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._props["text"] = text
