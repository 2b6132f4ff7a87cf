"""Where people write; see composer.js. Used by the chat page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element


class Composer(Element, component="composer.js"):
    """`on_send` gets the text, which stays in the field until `accept` is called, or `refuse` with a reason to show."""

    def __init__(
        self,
        *,
        placeholder: str,
        draft: str,
        on_send: Callable[[str], Awaitable[None]],
        on_stop: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._props.update(placeholder=placeholder, draft=draft, writing=False)
        self.on("send", lambda event: on_send(event.args))
        self.on("stop", on_stop)

    def accept(self) -> None:
        self.run_method("accept")

    def refuse(self, problem: str) -> None:
        self.run_method("refuse", problem)

    def fill(self, text: str) -> None:
        self.run_method("fill", text)

    def show(self, *, writing: bool | None = None, placeholder: str | None = None) -> None:
        """While an answer is written, Send is Stop."""
        for key, value in (("writing", writing), ("placeholder", placeholder)):
            if value is not None and self._props.get(key) != value:
                self._props[key] = value
                self.update()
