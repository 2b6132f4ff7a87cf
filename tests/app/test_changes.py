"""Who hears of a change."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.services.changes import Change, Changes

CHATS, MODELS = Change("conversations", "c1"), Change("models")


@pytest.fixture
def changes() -> Changes:
    return Changes()


async def one_turn_of_the_loop() -> None:
    turned = asyncio.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    await turned.wait()


async def test_a_person_hears_of_their_own_and_of_what_concerns_all(changes: Changes) -> None:
    anna: list[Change] = []
    ben: list[Change] = []
    nobody: list[Change] = []
    changes.watch("anna", anna.append)
    changes.watch("ben", ben.append)
    changes.watch(None, nobody.append)
    changes.announce("anna", CHATS)
    changes.announce_all(MODELS)
    await one_turn_of_the_loop()
    assert (anna, ben, nobody) == ([CHATS, MODELS], [MODELS], [MODELS])


async def test_one_who_left_hears_nothing_not_even_what_is_on_its_way(changes: Changes) -> None:
    heard: list[Change] = []
    unwatch = changes.watch("anna", heard.append)
    changes.announce("anna", CHATS)
    unwatch()
    unwatch()
    changes.announce("anna", CHATS)
    await one_turn_of_the_loop()
    assert heard == []
    assert changes._watchers == {}


async def test_the_same_callback_may_watch_twice(changes: Changes) -> None:
    heard: list[Change] = []
    unwatch = changes.watch("anna", heard.append)
    changes.watch("anna", heard.append)
    unwatch()
    changes.announce("anna", CHATS)
    await one_turn_of_the_loop()
    assert heard == [CHATS]


async def test_a_watcher_that_fails_harms_nobody_else(changes: Changes) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    heard: list[Change] = []

    def fail(change: Change) -> None:
        raise RuntimeError("page is gone")

    changes.watch("anna", fail)
    changes.watch("anna", heard.append)
    changes.announce("anna", CHATS)
    await one_turn_of_the_loop()
    assert heard == [CHATS]
    assert str(reported[0]["exception"]) == "page is gone"
