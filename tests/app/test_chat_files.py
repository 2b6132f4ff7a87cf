"""Chats as files over HTTP: whose they are, what they are called, and how much is taken in."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import unquote

import httpx
import pytest

from app.door.gate import MAX_BODY_BYTES
from app.services.imports import ImportState
from tests.app.elsewhere import chatgpt_conversation, open_webui_chat
from tests.app.house import House, Person
from tests.app.house import until as until_on_loop

ANSWERS_JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def olga(house: House, admin: Person) -> Person:
    """She has one chat, with a title in several scripts."""
    olga = house.person("Olga")
    with olga.browser() as browser:
        _import(house, olga, browser, [open_webui_chat("c", "漢字: عربي/€")])
    return olga


def _import(house: House, person: Person, browser: httpx.Client, entries: list[object]) -> None:
    response = browser.post("/chats/import", params={"name": "a.json"}, content=json.dumps(entries).encode())
    assert response.status_code == 202, response.text
    _end(house, person)


def _end(house: House, person: Person) -> None:
    latest = house.services.imports.latest(person.user_id)
    assert latest is not None
    house.do(until_on_loop(lambda: not latest.is_running))


def _chats(browser: httpx.Client) -> list[dict[str, object]]:
    chats: list[dict[str, object]] = browser.get("/chats/export").json()
    return chats


def test_all_chats_come_as_a_json_list_that_is_kept_as_a_file(olga: Person) -> None:
    with olga.browser() as browser:
        response = browser.get("/chats/export")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["content-disposition"].startswith('attachment; filename="Inglenook chats ')
    assert response.headers["cache-control"] == "no-store"
    assert [chat["title"] for chat in response.json()] == ["漢字: عربي/€"]


def test_one_chat_is_named_by_its_day_and_title(olga: Person) -> None:
    with olga.browser() as browser:
        chat_id = _chats(browser)[0]["id"]
        for form, ending, beginning in (("json", ".json", "[{"), ("markdown", ".md", "# 漢字: عربي/€\n")):
            response = browser.get(f"/chats/{chat_id}/export", params={"form": form})
            name = unquote(response.headers["content-disposition"].partition("UTF-8''")[2])
            assert name == f"2024-10-27 漢字 عربي €{ending}"
            assert response.text.startswith(beginning)
        assert browser.get(f"/chats/{chat_id}/export", params={"form": "exe"}).status_code == 400
        assert browser.get("/chats/nothing/export").status_code == 404


def test_others_chats_are_never_in_it(house: House, olga: Person) -> None:
    otto = house.person("Otto")
    with otto.browser() as browser:
        assert _chats(browser) == []
        _import(house, otto, browser, [chatgpt_conversation("mine", "Only mine")])
        assert [chat["title"] for chat in _chats(browser)] == ["Only mine"]
    with olga.browser() as browser:
        assert [chat["title"] for chat in _chats(browser)] == ["漢字: عربي/€"]


def test_an_import_of_the_same_ids_does_not_reach_anothers_chat(house: House, olga: Person) -> None:
    orla = house.person("Orla")
    with olga.browser() as browser:
        theirs = _chats(browser)
    stolen = json.loads(json.dumps(theirs))
    stolen[0]["title"] = "Taken over"
    with orla.browser() as browser:
        _import(house, orla, browser, stolen)
        assert [chat["title"] for chat in _chats(browser)] == ["Taken over"]
    with olga.browser() as browser:
        assert _chats(browser) == theirs


@pytest.mark.parametrize("path", ["/chats/export", "/chats/x/export", "/chats/import"])
def test_keys_and_strangers_are_not_let_in(olga: Person, path: str) -> None:
    method = "POST" if path.endswith("import") else "GET"
    with olga.client() as client:
        assert client.request(method, path).status_code == 401
    assert httpx.request(method, olga.url + path).status_code == 401


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_another_sites_page_can_neither_bring_nor_fetch(olga: Person, headers: dict[str, str]) -> None:
    with olga.browser(headers=headers) as browser:
        assert browser.post("/chats/import", content=b"[]").status_code == 403
        assert browser.get("/chats/export").status_code == 403


def test_a_file_may_be_larger_than_other_bodies_but_not_without_end(house: House, olga: Person) -> None:
    limit = house.services.settings.import_max_bytes
    with olga.browser() as browser:
        spaces = b"[" + b" " * (MAX_BODY_BYTES + 2**20) + b"]"
        assert browser.post("/chats/import", content=spaces).status_code == 202
        _end(house, olga)
        assert browser.post("/chats/other", content=spaces).status_code == 413


    with closing(http.client.HTTPConnection(httpx.URL(olga.url).netloc.decode())) as connection:
        connection.putrequest("POST", "/chats/import")
        connection.putheader("Cookie", f"inglenook_session={olga.session}")
        connection.putheader("Content-Length", str(limit + 1))
        connection.endheaders()
        response = connection.getresponse()
        assert response.status == 413 and str(limit).encode() in response.read()


def test_what_is_no_file_is_refused_in_words(house: House, olga: Person) -> None:
    with olga.browser() as browser:
        assert browser.post("/chats/import", content=b"").json()["error"]["message"] == "The file is empty."
        browser.post("/chats/import", params={"name": "../../x\x00.json"}, content=b"hello")
    _end(house, olga)
    latest = house.services.imports.latest(olga.user_id)
    assert latest is not None and latest.state is ImportState.FAILED
    assert latest.file_name == ".. .. x .json".strip(" .")
