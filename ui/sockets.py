"""Holds each websocket to the page that it was opened for. `ui.install` calls this; the checks run on the event loop.

NiceGUI takes the page's id from every message that comes in. The door (`app.door`) lets a person open sockets for
their own pages only; here a message that names another page than its socket's is dropped. And what a person typed is
made text: half of a surrogate pair, which a browser can send, is read by no parser that pages use.

A page was made for what its reader may do. When they may do less, it is dropped, and their browser loads it anew.

An event is said again whenever a page's line is back, until the page hears that it was taken (line.js): it is numbered,
and so it happens once, in its turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client, background_tasks, core

from store.tables import User

Handler = Callable[[str, Any], Any]

_HANDLERS: dict[str, Handler] = {
    name: core.sio.handlers["/"][name] for name in ("event", "javascript_response", "ack", "log")
}
_taken: WeakKeyDictionary[Client, tuple[str, int]] = WeakKeyDictionary()    # its line, and the last number there


def hold_sockets_to_their_pages() -> None:
    for name, handler in _HANDLERS.items():
        core.sio.handlers["/"][name] = _for_own_page(once(handler) if name == "event" else handler)


def drop_pages_of(user_id: str) -> None:
    """Nothing that they send reaches their open pages any more."""
    for client in [each for each in Client.instances.values() if (owner := owner_of(each)) and owner.id == user_id]:
        for document_id in [*client._delete_tasks]:         # of a page whose line is lost, which waits for it no longer
            client._cancel_delete_task(document_id)
        client.delete()
        # Past the page's own queue, which has ended with it. Who has no line now is told to reload when it is back.
        reload = core.sio.emit("run_javascript", {"code": "location.reload()"}, room=client.id)
        background_tasks.create(reload, name="reload page")


def owner_of(client: Client) -> User | None:
    """For whom the page was made, as they were then."""
    user: User | None = client.request.state.user
    return user


def _for_own_page(handler: Handler) -> Handler:
    def handle(socket_id: str, message: Any) -> Any:
        page_id = message.get("client_id") if isinstance(message, dict) else None
        if page_id is not None and page_id in core.sio.rooms(socket_id):     # the handshake put it into that room
            return handler(socket_id, readable(message))
        return None

    return handle


def once(handler: Handler) -> Handler:
    """`handler`, called once for each event of a page, in the order of their numbers.

    What comes back goes to the browser: whether the event was taken, now or before. False: one before it is missing,
    or the page is not here any more.
    """

    def handle(socket_id: str, message: dict[str, Any]) -> bool:
        page = Client.instances.get(message["client_id"])
        if page is None or not page.has_socket_connection:
            return False
        line, number = message.get("line"), message.get("number")
        if not isinstance(line, str) or not isinstance(number, int):    # of a page that does not keep what it says
            handler(socket_id, message)
            return True
        last_line, last = _taken.get(page, ("", 0))
        last = last if line == last_line else 0
        if number == last + 1:
            _taken[page] = line, number
            handler(socket_id, message)
        return number <= last + 1

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
