"""Brings an open page up to date, once for however much changed meanwhile. On the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import Client, background_tasks
from nicegui.element import Element

from app.services.changes import Change
from app.services.container import Services


def show_changes(
    services: Services, client: Client, user_id: str, place: Element, kinds: set[str],
    show: Callable[[], Awaitable[None]],
) -> None:
    """While the page is there, `show()` reads the services again whenever something of these kinds changed."""
    refreshing = Refreshing(client, "refresh page", lambda _stale: show())

    def on_change(change: Change) -> None:
        if change.kind in kinds:
            refreshing.mark(change.kind, place)

    client.on_delete(services.changes.watch(user_id, on_change))


class Refreshing:
    """`show(kinds)` reads the services again, and shows what differs in what was marked."""

    def __init__(self, client: Client, name: str, show: Callable[[set[str]], Awaitable[None]]) -> None:
        self._client = client
        self._name = name
        self._show = show
        self._stale: set[str] = set()       # kinds of changes that are not shown yet
        self._is_running = False

    def mark(self, kind: str, place: Element) -> None:
        """`place`: in which element's context it is shown."""
        self._stale.add(kind)
        if not self._is_running and not self._client.is_deleted:
            self._is_running = True
            background_tasks.create(self._run(), name=self._name, context=place)

    async def _run(self) -> None:
        try:
            while self._stale and not self._client.is_deleted:
                stale, self._stale = self._stale, set()
                await self._show(stale)
        finally:
            self._is_running = False
