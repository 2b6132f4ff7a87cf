"""Text in an element that stays where it is while its words change: sent to the page only where they did. Any page."""

from __future__ import annotations

from typing import Any

from nicegui.elements.mixins.text_element import TextElement

from ui.components.elements import tag


def live(name: str, classes: str = "", **attributes: Any) -> TextElement:
    element = tag(name, classes, "", **attributes)
    assert isinstance(element, TextElement)
    return element


def put(element: TextElement, text: str) -> None:
    """And it is hidden where there is nothing to say."""
    if element.text != text:
        element.set_text(text)
    if element.visible != bool(text):
        element.set_visibility(bool(text))
