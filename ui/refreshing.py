"""Brings an open page up to date, once for however much changed meanwhile. On the event loop; a page has one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import Client, background_tasks
from nicegui.element import Element


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
