"""Two people, every route that takes an id, every way to show who one is: what is another's is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.services.generation import Generation
from tests.app.conftest import PARIS
from tests.app.house import House, Person

NOTHING: dict[str, Any] = {}


@dataclass(frozen=True)
class Chat:
    conversation_id: str
    question_id: str
    answer_id: str


@pytest.fixture(scope="module")
def annas(house: House, anna: Person) -> Chat:
    async def send() -> Chat:
        sent = await house.services.chat.send(anna.user_id, None, "What is the capital of France?")
        generation = house.services.generations.get(sent.answer_id)
        assert isinstance(generation, Generation)
        async for _ in generation.follow():
            pass
        return Chat(sent.conversation_id, sent.user_message_id, sent.answer_id)

    return house.do(send())


def routes(chat: Chat) -> list[tuple[str, str]]:
    return [
        ("GET", f"/c/{chat.conversation_id}"),
        ("GET", f"/chats/{chat.conversation_id}/export"),
        ("GET", f"/chats/{chat.conversation_id}/export?form=markdown"),
        ("GET", f"/ui/stream/{chat.answer_id}"),
        ("GET", f"/ui/stream/{chat.answer_id}?offset=5"),
        ("GET", f"/ui/stream/{chat.question_id}"),
    ]


def carriers(person: Person) -> dict[str, dict[str, Any]]:
    return {
        "cookie": {"headers": {"Cookie": f"inglenook_session={person.session}"}},
        "bearer key": {"headers": {"Authorization": f"Bearer {person.key}"}},
        "bearer session": {"headers": {"Authorization": f"Bearer {person.session}"}},
        "x-api-key": {"headers": {"x-api-key": person.key}},
        "key as cookie": {"headers": {"Cookie": f"inglenook_session={person.key}"}},
        "query": {"params": {"session": person.session, "token": person.session, "api_key": person.key}},
        "nothing": NOTHING,
    }


def test_its_owner_sees_it(house: House, anna: Person, annas: Chat) -> None:
    cookie = carriers(anna)["cookie"]
    assert PARIS in httpx.get(f"{house.url}/ui/stream/{annas.answer_id}", **cookie).text
    assert httpx.get(f"{house.url}/c/{annas.conversation_id}", **cookie).status_code == 200


def test_another_sees_404_and_who_shows_nothing_good_is_not_let_in(house: House, annas: Chat, ben: Person) -> None:
    for method, path in routes(annas):
        for name, carrier in carriers(ben).items():
            response = httpx.request(method, house.url + path, **carrier)
            expected = 404 if name == "cookie" else 401
            assert response.status_code == expected, f"{path} with {name}: {response.status_code}"
            assert PARIS not in response.text
            assert "France" not in response.text


def test_the_owners_own_key_opens_no_chat(house: House, annas: Chat, anna: Person) -> None:
    for method, path in routes(annas):
        for name, carrier in carriers(anna).items():
            if name != "cookie":
                assert httpx.request(method, house.url + path, **carrier).status_code == 401, f"{path} with {name}"


def test_an_id_of_nobodys_looks_the_same_as_anothers(house: House, ben: Person, annas: Chat) -> None:
    cookie = carriers(ben)["cookie"]
    for path, other in (("/c/", annas.conversation_id), ("/ui/stream/", annas.answer_id)):
        theirs, nobodys = (httpx.get(house.url + path + each, **cookie) for each in (other, "0" * 32))
        assert theirs.status_code == nobodys.status_code == 404
        assert theirs.headers["content-type"] == nobodys.headers["content-type"]


def test_a_stream_ends_with_the_session_that_opened_it(house: House, admin: Person) -> None:
    emil = house.person("Emil")
    with emil.browser() as browser:
        assert browser.get("/").status_code == 200
        house.do(house.services.accounts.sign_out(emil.session))
        assert browser.get("/").headers["location"] == "/login"
        assert browser.get("/ui/stream/" + "0" * 32, headers={"Accept": "text/event-stream"}).status_code == 401
