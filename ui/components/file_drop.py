"""Takes a file by choice or by drop, and sends it as the body of one request; see file_drop.js. Settings and models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui.element import Element


class FileDrop(Element, component="file_drop.js"):
    """What then becomes of the file, `Changes` tell; `on_sent()` where the answer to the request is the end of it."""

    def __init__(
        self, *, url: str, max_bytes: int, accept: str, on_sent: Callable[[], Awaitable[None]] | None = None,
        takes_page: bool = False, takes_many: bool = False,
    ) -> None:
        """`takes_page`: a file may be dropped anywhere on the page while this is there. `takes_many`: each is sent, one
        after the other.
        """
        super().__init__()
        self._props.update(url=url, maxBytes=max_bytes, accept=accept, busy=False)
        self._props.update(takesPage=takes_page, many=takes_many)
        if on_sent is not None:
            self.on("sent", lambda _event: on_sent())

    def show(self, *, busy: bool) -> None:
        if self._props["busy"] != busy:
            self._props["busy"] = busy
            self.update()
