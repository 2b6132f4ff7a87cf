"""Brings an open page up to date when something changed, once for however much changed meanwhile. On the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import Client, background_tasks
from nicegui.element import Element

from app.services.changes import Change
from app.services.container import Services


class Refresher:
    """`show()` reads the services again and shows what differs."""

    def __init__(
        self, services: Services, client: Client, user_id: str, place: Element, kinds: set[str],
        show: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._place = place
        self._kinds = kinds
        self._show = show
        self._is_refreshing = False
        self._is_stale = False
        client.on_delete(services.changes.watch(user_id, self._on_change))

    def _on_change(self, change: Change) -> None:
        if change.kind not in self._kinds:
            return
        self._is_stale = True
        if not self._is_refreshing and not self._client.is_deleted:
            self._is_refreshing = True
            background_tasks.create(self._refresh(), name="refresh models page", context=self._place)

    async def _refresh(self) -> None:
        try:
            while self._is_stale and not self._client.is_deleted:
                self._is_stale = False
                await self._show()
        finally:
            self._is_refreshing = False
