"""The menu behind a row's three dots, made when it is first asked for: a list has many rows, and few are opened."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui
from nicegui.element import Element

from ui.components.elements import icon_button, menu


class RowMenu:
    """`fill` makes what it offers."""

    def __init__(self, label: str, fill: Callable[[], None]) -> None:
        self._fill = fill
        self._popup: ui.menu | None = None
        self._button: Element = icon_button("ellipsis", label).on("click", self._open, args=[])

    def renew(self) -> None:
        """Something else is offered now. If it is open it goes: it was chosen from."""
        if self._popup is not None:
            self._popup.delete()
            self._popup = None

    def _open(self) -> None:
        if self._popup is not None:             # from the second time on it opens by itself
            return
        with self._button, menu("bottom right", "top right") as self._popup:
            self._fill()
        self._popup.open()
