"""Requests under way whose key or session ends: cut as soon as that is known, and in an orderly way."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio

from app.door import connection as door
from engine.backends.scripted import Gate, ScriptedBackend
from store import accounts
from tests.app.conftest import COUNTING
from tests.app.house import NO_TLS, PATIENCE_S, House, Person

COUNT = {"model": "held", "messages": [{"role": "user", "content": "count"}]}


@pytest_asyncio.fixture
async def gate(house: House) -> AsyncIterator[Gate]:
    """Of the model `held`, which writes a word and then waits."""
    gate = Gate()
    make = house.shelf.put(house.services, "held", lambda: ScriptedBackend(COUNTING, gate=gate))
    await asyncio.to_thread(house.do, house.services.engines.unload("held"))
    await asyncio.to_thread(house.do, make)
    gate.allow(4)
    yield gate
    gate.open()


@pytest_asyncio.fixture
async def eve(house: House, admin: Person) -> Person:
    """Somebody new each time: her access ends in each test."""
    people = await asyncio.to_thread(house.do, house.services.accounts.list_users())
    return await asyncio.to_thread(house.person, f"Eve {len(people)}")


@pytest.fixture(autouse=True)
def complaints(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The server has nothing to say about any of this."""
    caplog.set_level(logging.WARNING)
    yield caplog
    assert caplog.messages == []


@asynccontextmanager
async def streaming(person: Person, method: str, path: str, **options: Any) -> AsyncGenerator[AsyncIterator[str], None]:
    """The data of the events, once the first has come."""
    async with (
        httpx.AsyncClient(base_url=person.url, timeout=PATIENCE_S, verify=NO_TLS) as client,
        client.stream(method, path, **options) as response,
    ):
        assert response.status_code == 200
        events = (line.removeprefix("data: ") async for line in response.aiter_lines() if line.startswith("data: "))
        await anext(events)
        yield events


def by_key(person: Person) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {person.key}"}, "json": COUNT | {"stream": True}}


async def check_was_told(events: AsyncIterator[str]) -> None:
    *_, last = [event async for event in events]
    error = json.loads(last)["error"]
    assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")


async def test_a_stream_is_told_that_its_key_was_revoked(house: House, eve: Person, gate: Gate) -> None:
    async with streaming(eve, "POST", "/v1/chat/completions", **by_key(eve)) as events:
        await asyncio.to_thread(house.do, house.services.accounts.revoke_key(eve.user_id, eve.key_id))
        await check_was_told(events)


async def test_a_stream_is_told_that_another_process_revoked_its_key(
    house: House, eve: Person, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CHECK_INTERVAL_S", 0.01)
    async with streaming(eve, "POST", "/v1/chat/completions", **by_key(eve)) as events:
        revoke = house.services.db.run(accounts.revoke_key, eve.user_id, eve.key_id)
        await asyncio.to_thread(house.do, revoke)
        await check_was_told(events)


async def test_an_answer_in_one_piece_is_given_up_when_another_process_disables_its_owner(
    house: House, eve: Person, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CHECK_INTERVAL_S", 0.01)
    headers = {"Authorization": f"Bearer {eve.key}"}
    async with httpx.AsyncClient(base_url=eve.url, timeout=PATIENCE_S, verify=NO_TLS) as client:
        asking = asyncio.create_task(client.post("/v1/chat/completions", headers=headers, json=COUNT))
        await asyncio.to_thread(gate.wait_until_held)
        await asyncio.to_thread(house.do, house.services.db.run(accounts.set_active, eve.user_id, False))
        assert (await asking).status_code >= 400


async def test_a_page_that_is_signed_out_sees_its_stream_end(house: House, eve: Person, gate: Gate) -> None:
    sent = await asyncio.to_thread(
        house.do, house.services.chat.send(eve.user_id, None, "Count", model_id="held")
    )
    cookie = {"headers": {"Cookie": f"inglenook_session={eve.session}"}}
    async with streaming(eve, "GET", f"/ui/stream/{sent.answer_id}", **cookie) as events:
        await asyncio.to_thread(house.do, house.services.accounts.sign_out(eve.session))
        assert all("error" not in event for event in [event async for event in events])


async def test_what_is_written_for_somebody_who_is_removed_ends_quietly(
    house: House, eve: Person, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.sse.SILENCE_S", 0.01)      # whoever gets no step of the gate's hears a ping
    sent = await asyncio.to_thread(
        house.do, house.services.chat.send(eve.user_id, None, "Count", model_id="held")
    )
    cookie = {"headers": {"Cookie": f"inglenook_session={eve.session}"}}
    async with (
        streaming(eve, "GET", f"/ui/stream/{sent.answer_id}", **cookie) as shown,
        streaming(eve, "POST", "/v1/chat/completions", **by_key(eve)) as events,
    ):
        await asyncio.to_thread(house.do, house.services.accounts.remove_user(eve.user_id))
        await check_was_told(events)
        assert all("error" not in event for event in [event async for event in shown])
    left = [user.id for user in await asyncio.to_thread(house.do, house.services.accounts.list_users())]
    assert eve.user_id not in left
    generation = house.services.generations.get(sent.answer_id)
    assert generation is not None and generation.is_ended
