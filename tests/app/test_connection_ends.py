"""A connection may be ended at any moment, and whoever ends many is stopped by none of them."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from app.door import connection
from app.door.connection import Connection, Identity
from store.tables import User


async def test_one_whose_wait_has_just_run_out_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is over, and its task has not run yet."""
    monkeypatch.setattr(connection, "CHECK_INTERVAL_S", 0.0)

    async def nothing_comes() -> Message:
        never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        return await never

    async def say(message: Message) -> None: ...

    async def is_still_good(identity: Identity) -> bool:
        return True

    identity = Identity(User(name="anna", name_key="anna", password_hash=""), "key", True)
    waiting = Connection({"type": "http", "path": "/v1/x"}, nothing_comes, say, identity, is_still_good, 1 << 20)
    receiving = asyncio.create_task(waiting.receive())
    for _ in range(50):             # some of these turns lie between the two
        await asyncio.sleep(0)
        waiting.end()
    assert await receiving == {"type": "http.disconnect"}
