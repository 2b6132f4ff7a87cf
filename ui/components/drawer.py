"""A panel at the page's end side; see drawer.js. Buttons with `data-nk-drawer` open and close it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui.element import Element


class Drawer(Element, component="drawer.js"):
    """`on_open` fills it, when it is first opened: most pages are left without."""

    def __init__(self, title: str, on_open: Callable[[], None]) -> None:
        super().__init__()
        self._props["title"] = title
        self._is_filled = False
        self._on_open = on_open
        self.on("open", self._open, args=[])

    def _open(self) -> None:
        if not self._is_filled:
            self._is_filled = True
            with self:
                self._on_open()
