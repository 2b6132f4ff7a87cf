"""The door: names, origins, and who is let in where by which credential."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import websockets
from nicegui import Client
from websockets.exceptions import ConnectionClosed, InvalidStatus

from app.door import connection as door
from store import accounts
from store.tables import UserRole
from tests.app.conftest import FirstSignUps
from tests.app.house import House, Person, until

PAGES = ["/", "/models", "/settings", "/c/0000"]
API = [("GET", "/v1/models"), ("GET", "/v1/models/parrot"), ("POST", "/v1/chat/completions"), ("GET", "/metrics")]


NO_GOOD_KEYS: list[dict[str, str]] = [
    {},
    {"Authorization": "Bearer sk-wrong"},
    {"Authorization": "Bearer"},
    {"Authorization": "Basic eDp5"},
    {"x-api-key": "sk-wrong"},
]


# --- Host and Origin -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:1", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost:x"],
)
def test_a_name_that_is_not_ours_is_refused_everywhere(house: House, anna: Person, host: str) -> None:
    for path in ("/", "/login", "/v1/models", "/healthz", "/assets/tokens.css"):
        with anna.client() as client:
            assert client.get(path, headers={"Host": host}).status_code == 403, path


@pytest.mark.parametrize("host", ["localhost", "localhost:8420", "LOCALHOST.", "127.0.0.1:1", "[::1]:8420", "[::1]"])
def test_names_of_this_machine_are_ours(house: House, host: str) -> None:
    assert httpx.get(f"{house.url}/healthz", headers={"Host": host}).json() == {"status": "ok"}


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://evil.test", "http://localhost:3000", "http://[", "ftp://[::1", ""],
)
def test_another_sites_page_may_ask_for_nothing(house: House, anna: Person, origin: str) -> None:
    with anna.browser() as browser, anna.client() as client:
        for method, path in (("POST", "/logout"), ("POST", "/login"), ("GET", "/ui/stream/x"), *API):
            assert browser.request(method, path, headers={"Origin": origin}).status_code == 403, path
            assert client.request(method, path, headers={"Origin": origin}).status_code == 403, path


def test_our_own_page_and_programs_without_an_origin_may(house: House, anna: Person) -> None:
    with anna.client() as client:
        assert client.get("/v1/models", headers={"Origin": house.url}).status_code == 200
        assert client.get("/v1/models").status_code == 200


def test_a_link_from_elsewhere_leads_here_but_a_hidden_request_does_not(anna: Person) -> None:
    with anna.browser() as browser:
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert browser.get("/", headers=link).status_code == 200
        for site in ("cross-site", "same-site"):
            hidden = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            assert browser.get("/", headers=hidden).status_code == 403
            form = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
            assert browser.post("/logout", headers=form).status_code == 403


# --- who is let in ---------------------------------------------------------------------------------------------------


def test_without_a_session_pages_lead_to_the_login_and_remember_where_to(house: House, admin: Person) -> None:
    with httpx.Client(base_url=house.url, headers={"Accept": "text/html"}) as client:
        assert client.get("/").headers["location"] == "/login"
        response = client.get("/c/abc?x=1&y=ä")
        assert response.status_code == 303
        assert response.headers["location"] == "/login?next=" + quote("/c/abc?x=1&y=%C3%A4", safe="")


def test_without_a_key_the_api_answers_401_in_openais_shape(house: House, admin: Person) -> None:
    for method, path in API:
        for headers in NO_GOOD_KEYS:
            response = httpx.request(method, house.url + path, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            error = response.json()["error"]
            assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")


def test_what_is_open_to_all(house: House, admin: Person) -> None:
    for path in ("/login", "/healthz", "/favicon.ico", "/assets/tokens.css"):
        assert httpx.get(house.url + path).status_code == 200, path


def test_a_key_opens_the_api_in_both_headers_but_never_in_the_query(house: House, anna: Person) -> None:
    def status(path: str = "/v1/models", **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.get(house.url + path, headers=named).status_code

    assert status(Authorization=f"Bearer {anna.key}") == 200
    assert status(Authorization=f"bearer  {anna.key}") == 200
    assert status(x_api_key=anna.key) == 200
    assert status(Cookie=f"inglenook_session={anna.session}") == 200
    for name in ("key", "api_key", "api-key", "token", "session", "inglenook_session", "access_token"):
        assert status(f"/v1/models?{name}={anna.key}") == 401
        assert status(f"/v1/models?{name}={anna.session}") == 401
    assert status(Authorization="Bearer sk-wrong", Cookie=f"inglenook_session={anna.session}") == 401


def test_a_key_opens_no_page_and_is_no_session(house: House, anna: Person) -> None:
    for path in PAGES:
        assert httpx.get(house.url + path, headers={"Authorization": f"Bearer {anna.key}"}).status_code == 401
        assert httpx.get(house.url + path, headers={"Cookie": f"inglenook_session={anna.key}"}).status_code == 401
    assert httpx.get(f"{house.url}/v1/models", headers={"Authorization": f"Bearer {anna.session}"}).status_code == 401


def test_answers_say_what_browsers_must_not_do_with_them(house: House, anna: Person) -> None:
    with anna.browser() as browser:
        headers = browser.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "img-src 'self' data: blob:;" in policy
    assert "frame-ancestors 'none'" in policy
    assert f"ws://{house.url.removeprefix('http://')}" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_texts_are_compressed_but_not_event_streams(anna: Person) -> None:
    with anna.browser(headers={"Accept-Encoding": "gzip"}) as browser:
        assert browser.get("/").headers["content-encoding"] == "gzip"
    body = {"model": "parrot", "messages": [{"role": "user", "content": "count"}], "stream": True}
    with anna.client() as client:
        assert "content-encoding" not in client.post("/v1/chat/completions", json=body).headers


# --- routes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1", 404),
        ("POST", "/v1", 404),
        ("OPTIONS", "/v1", 404),
        ("GET", "/v1/", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/embeddings", 405),
        ("POST", "/v1/v1/chat/completions", 404),
        ("GET", "/v1/models/no/such", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models", 405),
        ("POST", "/chat/completions", 404),
        ("POST", "/completions", 404),
        ("PUT", "/completions", 404),
        ("POST", "/embeddings", 404),
    ],
)
def test_wrong_routes_are_answered_in_openais_shape(anna: Person, method: str, path: str, status: int) -> None:
    with anna.client() as client:
        response = client.request(method, path)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    if path == "/chat/completions":
        assert "/v1/chat/completions" in response.json()["error"]["message"]
    if status == 405:
        due = "GET" if path == "/v1/models" else "POST"
        assert response.json()["error"]["message"] == f"{method} is not for {path}: use {due}."


def test_a_field_of_the_wrong_type_is_answered_in_the_same_shape(anna: Person) -> None:
    with anna.browser() as browser:
        for response in (
            browser.get("/ui/stream/x?offset=far"),
            browser.post("/login", files={"name": ("a.txt", b"x")}),
        ):
            assert response.status_code == 400
            assert response.json()["error"]["param"] in ("offset", "name")


# --- open websockets -------------------------------------------------------------------------------------------------


class Page:
    """A page that was loaded: what its script needs to open the websocket."""

    def __init__(self, person: Person) -> None:
        self.person = person
        with person.browser() as browser:
            text = browser.get("/").text
        self.client_id = text.partition('"client_id": "')[2].partition('"')[0] or text.partition("client_id':")[2][2:38]
        assert len(self.client_id) == 36

    def connect(self, *, client_id: str | None = None, session: str | None = None, **headers: str) -> Any:
        client_id = client_id or self.client_id
        query = f"implicit_handshake=true&tab_id=t&document_id=d&next_message_id=0&client_id={client_id}"
        url = f"{self.person.url.replace('http', 'ws')}/_nicegui_ws/socket.io/?EIO=4&transport=websocket&{query}"
        cookie = {"Cookie": f"inglenook_session={session or self.person.session}"}
        return websockets.connect(url, additional_headers=cookie | headers, open_timeout=60)


async def shaken_hands(socket: Any) -> None:
    assert (await socket.recv()).startswith("0")        # Engine.IO: open
    await socket.send("40")                             # Socket.IO: connect
    while not (await asyncio.wait_for(socket.recv(), 60)).startswith("40"):
        pass


async def test_ones_own_page_gets_its_websocket(anna: Person) -> None:
    async with (await asyncio.to_thread(Page, anna)).connect() as socket:
        await shaken_hands(socket)


async def test_a_websocket_needs_a_session_the_right_origin_and_a_client_of_ones_own(anna: Person, ben: Person) -> None:
    page, bens = await asyncio.to_thread(Page, anna), await asyncio.to_thread(Page, ben)
    nobodys_client = websockets.connect(
        f"{anna.url.replace('http', 'ws')}/_nicegui_ws/socket.io/?EIO=4&transport=websocket",
        additional_headers={"Cookie": f"inglenook_session={anna.session}"},
    )
    for attempt in (
        nobodys_client,
        page.connect(session="nonsense"),
        page.connect(session=anna.key),
        page.connect(client_id=bens.client_id),
        page.connect(client_id=f"{page.client_id}&client_id={bens.client_id}"),
        page.connect(Origin="http://evil.example"),
        page.connect(session="nonsense", Authorization=f"Bearer {anna.key}"),
    ):
        with pytest.raises(InvalidStatus) as error:
            async with attempt:
                pass
        assert error.value.response.status_code == 403


async def test_a_page_that_was_made_for_an_admin_is_nobodys_who_is_none_by_now(house: House, admin: Person) -> None:
    async def role(role: UserRole) -> None:
        """As it would be for a page that is being made in this very moment: nobody is told."""
        change = house.services.db.run(accounts.set_role, frida.user_id, role)
        await asyncio.to_thread(house.do, change)

    frida = await asyncio.to_thread(house.person, "Frida")
    plain = await asyncio.to_thread(Page, frida)
    await role(UserRole.ADMIN)
    made_for_an_admin = await asyncio.to_thread(Page, frida)
    async with plain.connect() as socket:
        await shaken_hands(socket)
    await role(UserRole.USER)
    with pytest.raises(InvalidStatus) as error:
        async with made_for_an_admin.connect():
            pass
    assert error.value.response.status_code == 403


async def test_a_socket_speaks_for_its_own_page_only(
    anna: Person, ben: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(Client, "handle_event", lambda client, message: heard.append(client.id))
    page, bens = await asyncio.to_thread(Page, anna), await asyncio.to_thread(Page, ben)
    async with page.connect() as annas_socket, bens.connect() as bens_socket:
        await shaken_hands(annas_socket)
        await shaken_hands(bens_socket)
        for client_id in (page.client_id, bens.client_id):
            event = {"client_id": client_id, "id": 1, "listener_id": "x", "args": []}
            await bens_socket.send("42" + json.dumps(["event", event]))
        await until(lambda: bool(heard))
    assert heard == [bens.client_id]


def test_long_polling_is_held_to_the_same(anna: Person, ben: Person) -> None:
    page, bens = Page(anna), Page(ben)
    polling = "/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id="
    with anna.browser() as browser:
        assert browser.get(polling + page.client_id).status_code == 200
        assert browser.get(polling + bens.client_id).status_code == 403
        assert browser.get("/_nicegui_ws/socket.io/?EIO=4&transport=polling").status_code == 403
    assert httpx.get(f"{anna.url}{polling}{page.client_id}").status_code == 401


async def is_cut(socket: Any) -> bool:
    try:
        async with asyncio.timeout(60):
            while True:
                await socket.recv()
    except ConnectionClosed as closed:
        return closed.rcvd is not None and closed.rcvd.code == 1008


async def test_signing_out_cuts_the_open_sockets_of_that_session_only(house: House, anna: Person) -> None:
    user = await asyncio.to_thread(house.do, house.services.accounts.user_of_session(anna.session))
    assert user is not None
    other = await asyncio.to_thread(house.do, house.services.accounts.start_session(user))
    page = await asyncio.to_thread(Page, anna)
    async with page.connect() as mine, page.connect(session=other) as others:
        await shaken_hands(mine)
        await asyncio.to_thread(house.do, house.services.accounts.sign_out(other))
        assert await is_cut(others)
        await asyncio.wait_for(await mine.ping(), 60)


async def test_disabling_a_person_ends_everything_at_once(house: House, admin: Person) -> None:
    carl = await asyncio.to_thread(house.person, "Carl")
    page = await asyncio.to_thread(Page, carl)
    async with page.connect() as socket:
        await shaken_hands(socket)
        await asyncio.to_thread(house.do, house.services.accounts.set_active(carl.user_id, False))
        assert await is_cut(socket)
    with pytest.raises(InvalidStatus):
        async with page.connect():
            pass
    with carl.client() as client, carl.browser() as browser:
        asleep = client.get("/v1/models")
        assert (asleep.status_code, asleep.json()["error"]["code"]) == (403, "account_disabled")
        assert asleep.json()["error"]["type"] == "permission_error"
        assert "disabled. An admin can enable it" in asleep.json()["error"]["message"]
        assert client.get("/metrics").status_code == 403
        assert client.get("/v1/models", headers={"Authorization": "Bearer sk-another"}).status_code == 401
        house.do(house.services.accounts.revoke_key(carl.user_id, carl.key_id))
        assert client.get("/v1/models").status_code == 401          # as of any key that is not good
        assert browser.get("/").headers["location"] == "/login"
        assert browser.get("/v1/models").status_code == 401


async def test_an_idle_page_is_cut_when_another_process_disables_its_reader(
    house: House, admin: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CHECK_INTERVAL_S", 0.05)
    fred = await asyncio.to_thread(house.person, "Fred")
    page = await asyncio.to_thread(Page, fred)
    async with page.connect() as socket:
        await shaken_hands(socket)
        await asyncio.to_thread(house.do, house.services.db.run(accounts.set_active, fred.user_id, False))
        assert await is_cut(socket)


def test_a_revoked_key_is_refused_at_once(house: House, admin: Person) -> None:
    dora = house.person("Dora")
    with dora.client() as client:
        assert client.get("/v1/models").status_code == 200
        house.do(house.services.accounts.revoke_key(dora.user_id, dora.key_id))
        assert client.get("/v1/models").status_code == 401


# --- the first admin -------------------------------------------------------------------------------------------------


def test_of_several_first_sign_ups_one_wins_and_none_without_the_link(
    house: House, first_sign_ups: FirstSignUps
) -> None:
    assert first_sign_ups.page.headers["location"] == "/setup"
    assert first_sign_ups.without_link.status_code == 403
    assert sorted(response.status_code for response in first_sign_ups.race) == [303, 409, 409]
    assert [("inglenook_session" in response.cookies) for response in first_sign_ups.race].count(True) == 1
    admins = [user for user in house.do(house.services.accounts.list_users()) if user.role is UserRole.ADMIN]
    assert len(admins) == 1
    assert admins[0].name in ("Ada", "Ida", "Zoe")
