"""Holds each websocket to the page that it was opened for. `ui.install` calls this; the checks run on the event loop.

NiceGUI takes the page's id from every message that comes in. The door (`app.door`) lets a person open sockets for
their own pages only; here a message that names another page than its socket's is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import core

Handler = Callable[[str, Any], Any]

_HANDLERS: dict[str, Handler] = {
    name: core.sio.handlers["/"][name] for name in ("event", "javascript_response", "ack", "log")
}


def hold_sockets_to_their_pages() -> None:
    for name, handler in _HANDLERS.items():
        core.sio.handlers["/"][name] = _for_own_page(handler)


def _for_own_page(handler: Handler) -> Handler:
    def handle(socket_id: str, message: Any) -> Any:
        page_id = message.get("client_id") if isinstance(message, dict) else None
        if page_id is not None and page_id in core.sio.rooms(socket_id):     # the handshake put it into that room
            return handler(socket_id, message)
        return None

    return handle
