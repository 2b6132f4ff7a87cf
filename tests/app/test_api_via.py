"""An Inglenook that is asked by itself, over a connection that leads back here: told, and never asked on and on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.services.connections import Entered
from engine.errors import EndpointError
from engine.remote import via
from tests.app.house import House, Person
from tests.engine.upstream import Upstream

OTHER = "inglenook-0123456789abcdef"
ASK = {"model": "big", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def allowed(house: House) -> Iterator[House]:
    house.do(house.services.connections.set_allowed(True))
    yield house
    for each in house.do(house.services.connections.list()):
        house.do(house.services.connections.remove(each.connection.id))
    house.do(house.services.connections.set_allowed(False))


def test_a_connection_to_oneself_is_not_made(allowed: House, anna: Person) -> None:
    with pytest.raises(EndpointError, match="asked by itself"):
        allowed.do(allowed.services.connections.add(Entered(name="Me", base_url=f"{anna.url}/v1", key=anna.key)))
    assert allowed.do(allowed.services.connections.list()) == []


@pytest.mark.parametrize("came_by", [
    f"1.1 {via.HERE}", f"1.1 {OTHER}, 1.1 {via.HERE}", f"1.0 proxy.lan, 1.1 {via.HERE}",
    ", ".join(f"1.1 inglenook-{number:016x}" for number in range(via.MAX_HOPS)),
], ids=["from here", "over another", "over a proxy", "too far"])
def test_what_was_here_before_leads_nowhere(came_by: str, house: House, anna: Person) -> None:
    headers, asked = {"Via": came_by}, ASK | {"model": "parrot"}
    with anna.client() as client:
        for response in (
            client.get("/v1/models", headers=headers), client.post("/v1/chat/completions", headers=headers, json=asked)
        ):
            assert response.status_code == 508 and "asked by itself" in response.json()["error"]["message"]


def test_whoever_is_asked_next_learns_by_whom_it_came_and_nothing_else(
    allowed: House, anna: Person, upstream: Upstream
) -> None:
    allowed.do(allowed.services.connections.add(Entered(name="Office", base_url=upstream.url)))
    with anna.client() as client:
        for came_by, told in (
            (f"1.0 proxy.lan, 1.1 {OTHER}", f"1.1 {OTHER}, 1.1 {via.HERE}"), ("1.1 gate (secret)", f"1.1 {via.HERE}")
        ):
            for stream in (False, True):
                answer = client.post("/v1/chat/completions", json=ASK | {"stream": stream}, headers={"Via": came_by})
                assert answer.status_code == 200 and upstream.chats()[-1].headers["via"] == told
        assert client.post("/v1/chat/completions", json=ASK).status_code == 200
    assert upstream.chats()[-1].headers["via"] == f"1.1 {via.HERE}"
