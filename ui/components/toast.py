"""A word of confirmation at the foot of the page; see toast.js. Never for errors: those stand where they arose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element


class Toast(Element, component="toast.js"):
    """`on_act` gets the subject of the toast whose action (Undo) was chosen."""

    def __init__(self, on_act: Callable[[str], Awaitable[None]] | None = None) -> None:
        super().__init__()
        if on_act is not None:
            self.on("act", lambda event: on_act(event.args))

    def show(self, text: str, *, action: str = "", subject: str = "") -> None:
        self.run_method("show", text, action, subject)
