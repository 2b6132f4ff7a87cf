"""What others do to a connection while its server is asked, and secrets that cannot be read any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from app.errors import Conflict, NotFound
from app.services.connections import ConnectionEntry, Entered
from app.services.container import Services
from app.settings import Settings
from app.vault import KEY_FILE_NAME
from engine.errors import EndpointError
from tests.app.house import Shelf, until
from tests.app.test_connections import answer_to, entered
from tests.engine.upstream import KEY, WORDS, Upstream


@pytest.fixture
def second() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest_asyncio.fixture
async def office(services: Services, upstream: Upstream) -> AsyncIterator[ConnectionEntry]:
    """From now on its server takes its time to say which models it has."""
    await services.connections.set_allowed(True)
    entry = await services.connections.add(entered(upstream))
    upstream.holds = "/v1/models"
    yield entry
    upstream.released.set()


async def test_what_is_switched_off_meanwhile_stays_off(
    services: Services, office: ConnectionEntry, upstream: Upstream
) -> None:
    renamed = Entered(name="Kitchen", base_url=upstream.url)
    asked = asyncio.create_task(services.connections.change(office.connection.id, renamed))
    await until(upstream.arrived.is_set)
    await services.connections.set_on(office.connection.id, False)
    upstream.released.set()
    entry = await asked
    assert entry.connection.name == "Kitchen" and not entry.connection.is_on


@pytest.mark.parametrize("deed", ["test", "change"])
async def test_whoever_leads_it_elsewhere_first_wins_and_no_key_goes_astray(
    deed: str, services: Services, office: ConnectionEntry, upstream: Upstream, second: Upstream
) -> None:
    connection_id = office.connection.id
    asked = asyncio.create_task(
        services.connections.test(connection_id) if deed == "test"
        else services.connections.change(connection_id, Entered(name="Kitchen", base_url=upstream.url))
    )
    await until(upstream.arrived.is_set)
    other = Entered(name="Office", base_url=second.url, key="sk-of-the-second", headers={})
    await services.connections.change(connection_id, other)
    upstream.released.set()
    with pytest.raises(Conflict, match="changed by somebody else"):
        await asked
    (entry,) = await services.connections.list()
    assert (entry.connection.name, entry.connection.base_url) == ("Office", second.url)
    await services.connections.test(connection_id)
    assert second.asked[-1].headers["authorization"] == "Bearer sk-of-the-second"
    assert all(each.headers["authorization"] == f"Bearer {KEY}" for each in upstream.asked)


@pytest.mark.parametrize("deed", ["test", "change"])
async def test_what_is_removed_meanwhile_stays_away(
    deed: str, services: Services, office: ConnectionEntry, upstream: Upstream
) -> None:
    connection_id = office.connection.id
    asked = asyncio.create_task(
        services.connections.test(connection_id) if deed == "test"
        else services.connections.change(connection_id, Entered(name="Kitchen", base_url=upstream.url))
    )
    await until(upstream.arrived.is_set)
    await services.connections.remove(connection_id)
    upstream.released.set()
    with pytest.raises(NotFound):
        await asked
    assert await services.connections.list() == []
    assert not [each for each in await services.models.list() if each.model.is_elsewhere]


async def test_what_was_learnt_of_a_server_is_not_held_against_another(
    services: Services, upstream: Upstream, second: Upstream, user_id: str
) -> None:
    await services.connections.set_allowed(True)
    entry = await services.connections.add(entered(upstream))
    await answer_to(services, user_id)
    engine = services.engines.loaded()["big"]
    await services.connections.test(entry.connection.id)
    assert services.engines.loaded()["big"] is engine
    await services.connections.change(entry.connection.id, entered(second))
    assert (await answer_to(services, user_id)).content == WORDS and second.chats()
    assert services.engines.loaded()["big"] is not engine


async def test_two_that_take_one_name_at_once_are_one(services: Services, upstream: Upstream, second: Upstream) -> None:
    await services.connections.set_allowed(True)
    upstream.holds = second.holds = "/v1/models"
    both = [asyncio.create_task(services.connections.add(entered(each))) for each in (upstream, second)]
    for each in (upstream, second):
        await until(each.arrived.is_set)
        each.released.set()
    done = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Conflict", "ConnectionEntry"]
    assert len(await services.connections.list()) == 1


async def test_secrets_that_cannot_be_read_any_more_are_told_and_nothing_is_sent(
    services: Services, office: ConnectionEntry, upstream: Upstream, second: Upstream, shelf: Shelf
) -> None:
    await services.connections.add(Entered(name="Cellar", base_url=second.url))
    key_file = services.settings.data_dir / KEY_FILE_NAME
    kept = key_file.read_bytes()
    key_file.unlink()
    num_asked = len(upstream.asked)
    restarted = Services.open(Settings(data_dir=services.settings.data_dir), shelf.load)
    try:
        with pytest.raises(EndpointError, match=r"of Office cannot be read any more.*secrets\.key"):
            await restarted.connections.test(office.connection.id)
        (problem,) = [each.connection.problem for each in await restarted.connections.list() if each.has_key]
        assert "elsewhere-locked" in problem and len(upstream.asked) == num_asked
        endpoints = await restarted.endpoints.of("big")         # the other one may still stand in
        assert [(each.address.name, each.address.is_locked) for each in endpoints] == [
            ("Office", True), ("Cellar", False)
        ]
        key_file.write_bytes(kept)
        upstream.released.set()
        await restarted.connections.test(office.connection.id)
        assert upstream.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    finally:
        await restarted.stop()
        restarted.close()
