"""Brings an open page up to date, once for however much changed meanwhile, and no longer than it is there: what it has
begun to read then is dropped. On the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import Client
from nicegui import app as nicegui_app
from nicegui.element import Element

from app.services.changes import Change
from app.services.container import Services
from store.errors import DatabaseClosed


def on_gone(client: Client, stop: Callable[[], object]) -> None:
    """`stop()` when this page is closed, or was never opened; at once where that has happened: it is told only once."""
    if client.is_deleted:
        stop()
    else:
        client.on_delete(stop)


def show_changes(
    services: Services, client: Client, user_id: str, place: Element, kinds: set[str],
    show: Callable[[], Awaitable[None]],
) -> None:
    """While the page is there, `show()` reads the services again whenever something of these kinds changed."""
    refreshing = Refreshing(client, "refresh page", lambda _stale: show())

    def on_change(change: Change) -> None:
        if change.kind in kinds:
            refreshing.mark(change.kind, place)

    on_gone(client, services.changes.watch(user_id, on_change))


class Refreshing:
    """`show(kinds)` reads the services again, and shows what differs in what was marked."""

    def __init__(self, client: Client, name: str, show: Callable[[set[str]], Awaitable[None]]) -> None:
        self._client = client
        self._name = name
        self._show = show
        self._stale: set[str] = set()       # kinds of changes that are not shown yet
        self._task: asyncio.Task[None] | None = None        # while it runs
        on_gone(client, self._stop)

    def mark(self, kind: str, place: Element) -> None:
        """`place`: in which element's context it is shown. Called on the loop that the page lives on."""
        self._stale.add(kind)
        if self._task is None and not self._client.is_deleted:
            # On this loop: NiceGUI's `background_tasks` takes that of the app that began last in this process, which
            # may have ended by now, and then nothing is awaited.
            self._task = asyncio.get_running_loop().create_task(self._run(place), name=self._name)
            self._task.add_done_callback(self._ended)

    async def _run(self, place: Element) -> None:
        with self._client, place:
            while self._stale and not self._client.is_deleted:
                stale, self._stale = self._stale, set()
                await self._show(stale)
        self._task = None       # at once: what is marked from here on begins another

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Also one that was cancelled before it began, or failed, which is told as of any handler of a page; but for a
        server that has ended meanwhile, when nobody looks any more.
        """
        if self._task is task:
            self._task = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and not isinstance(error, DatabaseClosed):
            nicegui_app.handle_exception(error)
