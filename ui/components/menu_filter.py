"""A field that finds an item of a long menu; see menu_filter.js. Its menu's items carry `data-nk-filter`."""

from __future__ import annotations

from nicegui.element import Element


class MenuFilter(Element, component="menu_filter.js"):
    def __init__(self, label: str) -> None:
        super().__init__()
        self._props["label"] = label
