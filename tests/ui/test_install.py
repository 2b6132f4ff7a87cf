"""What an Inglenook costs to start, and what is left of it: hundreds of them come and go in one process of tests."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest
from nicegui import Client

from app.settings import Settings
from store.tables import UserRole
from tests.ui.conftest import home_with


async def test_a_start_does_not_look_through_all_objects_of_the_process(
    tmp_path: Path, new_database_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> list[object]:
        raise AssertionError("somebody looks for something among all objects")

    monkeypatch.setattr(gc, "get_objects", look)
    async with home_with(Settings(data_dir=tmp_path / "data"), new_database_file) as home, home.http() as browser:
        assert (await browser.get("/setup")).status_code in (200, 303)


def test_of_one_that_ended_nothing_is_left_once_another_began(tmp_path: Path, new_database_file: Path) -> None:
    async def live(name: str) -> weakref.ref[object]:
        async with home_with(Settings(data_dir=tmp_path / name), new_database_file) as home:
            ada = await home.person("Ada", UserRole.ADMIN)
            await ada.at("/")
            return weakref.ref(home.services.chat)

    pages = {*Client.instances}
    _, second, _ = (asyncio.run(live(name)) for name in ("first", "second", "third"))     # socketio keeps the first
    gc.collect()
    assert second() is None
    assert {*Client.instances} == pages
