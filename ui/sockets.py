"""Holds each websocket to the page that it was opened for. `ui.install` calls this; the checks run on the event loop.

NiceGUI takes the page's id from every message that comes in. The door (`app.middleware`) lets a person open sockets for
their own pages only; here a message that names another page than its socket's is dropped. And what a person typed is
made text: half of a surrogate pair, which a browser can send, is read by no parser that pages use.
"""

from __future__ import annotations

import json
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
            return handler(socket_id, readable(message))
        return None

    return handle


def readable(message: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an event are JSON in JSON, and browsers escape there just the halves of pairs."""
    args = message.get("args")
    if not isinstance(args, list) or not any(isinstance(arg, str) and "\\ud" in arg for arg in args):
        return message
    return {**message, "args": [_whole(arg) if isinstance(arg, str) else arg for arg in args]}


def _whole(arg: str) -> str:
    """U+FFFD in the place of each half. What is no JSON at all is left for its reader to refuse."""
    try:
        text = json.dumps(json.loads(arg), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arg
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
