"""Of a page that was closed, or fetched and never opened, nothing is left, and nothing is shown on it any more."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args, get_type_hints

import pytest
from nicegui import Client
from nicegui.helpers import warnings as nicegui_warnings

from app.services.changes import Change
from app.services.models import STARTER_ID
from tests.ui.conftest import Home, Person
from tests.ui.using import until
from ui.models.figures import keep_figures_fresh
from ui.refreshing import show_changes

PATHS = (
    "/", "/library", "/settings", "/models", f"/models/installed/{STARTER_ID}", "/models/find", "/models/bench",
    "/people",
)
KINDS = get_args(get_type_hints(Change)["kind"])
NUM_READERS = 3     # of the store


async def fetched(person: Person, path: str) -> Client:
    """Without a browser: its line is never opened."""
    before = set(Client.instances)
    async with person.http() as browser:
        assert (await browser.get(path)).status_code == 200
    (page_id,) = set(Client.instances) - before
    return Client.instances[page_id]


@asynccontextmanager
async def busy_readers(home: Home) -> AsyncIterator[None]:
    """The store answers nobody meanwhile."""
    go_on = threading.Event()
    busy = [asyncio.ensure_future(home.services.db.read(lambda _session: go_on.wait())) for _ in range(NUM_READERS)]
    try:
        yield
    finally:
        go_on.set()
        await asyncio.gather(*busy)


def refreshes() -> list[asyncio.Task[object]]:
    return [each for each in asyncio.all_tasks() if each.get_name() in ("refresh page", "refresh chat page")]


@pytest.mark.parametrize("path", PATHS)
async def test_what_a_page_is_reading_when_it_goes_is_shown_nowhere(
    home: Home, ada: Person, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    page = await fetched(ada, path)
    nicegui_warnings.reset()
    with caplog.at_level(logging.WARNING, logger="nicegui"):
        async with busy_readers(home):
            for kind in KINDS:
                home.services.changes.announce(ada.id, Change(kind))
            await until(refreshes)
            page.delete()
        await until(lambda: not refreshes())
    assert not [each.getMessage() for each in caplog.records if "deleted" in each.getMessage()]
    assert not home.services.changes.is_watched


async def test_a_page_that_goes_while_it_is_built_follows_nothing(home: Home, ada: Person) -> None:
    page = await fetched(ada, "/models")
    page.delete()

    async def show() -> None:
        raise AssertionError("there is no page")

    show_changes(home.services, page, ada.id, page.content, {"models"}, show)
    keep_figures_fresh(page, lambda: ())
    assert not home.services.changes.is_watched
    await until(lambda: "figures of models" not in {each.get_name() for each in asyncio.all_tasks()})
