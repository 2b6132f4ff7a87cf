"""Import and export of the library; see library_file.js. Used by the library page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element


class LibraryFile(Element, component="library_file.js"):
    """`on_read` gets a file's text, `on_refused` hears of one that is too large."""

    def __init__(
        self, *, on_read: Callable[[str], Awaitable[None]], on_refused: Callable[[], None],
        on_export: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        self.on("read", lambda event: on_read(event.args))
        self.on("refused", on_refused)
        self.on("export", on_export)

    def save(self, name: str, text: str) -> None:
        self.run_method("save", name, text)
