"""What models do at the moment, brought up to date each second in the rows of an open page. On the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from nicegui import Client, background_tasks

from ui.models.row import ModelRow
from ui.refreshing import on_gone

LOOK_INTERVAL_S = 1.0


def keep_figures_fresh(client: Client, rows: Callable[[], Iterable[ModelRow]]) -> None:
    """Until the page is gone: NiceGUI drops one that was closed, or never opened, and with it this task."""

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            for row in rows():
                row.tick()

    looking = background_tasks.create(look(), name="figures of models")
    on_gone(client, looking.cancel)
