"""The browser's address: which chat is shown, and where in it. `ChatPage` writes it without loading the page anew."""

from __future__ import annotations

from nicegui import Client


class Address:
    def __init__(self, client: Client) -> None:
        self._client = client

    def show(self, conversation_id: str | None, message_id: str | None = None, *, instead: bool = False) -> None:
        """`instead`: the browser's back does not lead to the one before.

        Through the client, since the element that the caller was called by may be gone by then.
        """
        path = "/" if conversation_id is None else f"/c/{conversation_id}" + (f"?m={message_id}" if message_id else "")
        how = "replaceState" if instead else "pushState"
        self._client.run_javascript(f'history.{how}({{}}, "", "{path}")')


def chat_at(address: str) -> tuple[str | None, str | None]:
    """(The chat, the message in it), or None for what the address does not name."""
    path, _, query = address.partition("?")
    return (
        path.removeprefix("/c/") if path.startswith("/c/") else None,
        query.removeprefix("m=") if query.startswith("m=") else None,
    )
