"""Setup, sign-in and sign-out: plain forms that say in place what is wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from http.cookies import SimpleCookie

import httpx
import pytest

from app.errors import TooManyAttempts
from app.language import Said
from app.security import SESSION_COOKIE
from app.services import endings
from store.tables import UserRole
from tests.app.house import PASSWORD
from tests.ui.conftest import URL, Home, Person
from ui.gate import local_path


def _cookie(response: httpx.Response) -> SimpleCookie:
    return SimpleCookie(response.headers["set-cookie"])


async def test_without_the_link_setup_says_where_it_is(home: Home) -> None:
    async with home.http() as browser:
        for path in ("/", "/login"):
            assert (await browser.get(path)).headers["location"] == "/setup"
        page = await browser.get("/setup")
        assert "/setup?token=…</code>" in page.text and "…</code>." not in page.text, "which reads as four dots"
        assert page.status_code == 200
        assert "Look at the terminal" in page.text
        assert "<form" not in page.text


async def test_a_wrong_link_is_refused_and_says_what_to_do(home: Home) -> None:
    async with home.http() as browser:
        for page in (
            await browser.get("/setup?token=guessed"),
            await browser.post("/setup", data={"token": "guessed", "name": "Eve", "password": PASSWORD}),
        ):
            assert page.status_code == 403
            assert "Look at the terminal" in page.text
    assert await home.services.accounts.needs_setup()


async def test_setup_makes_the_admin_and_lets_them_in(home: Home) -> None:
    token = home.services.accounts.setup_token()
    async with home.http() as browser:
        form = await browser.get("/setup", params={"token": token})
        assert f'value="{token}"' in form.text
        done = await browser.post("/setup", data={"token": token, "name": "Mira Kovač", "password": PASSWORD})
        assert (done.status_code, done.headers["location"]) == (303, "/")
        cookie = _cookie(done)[SESSION_COOKIE]
        assert cookie["httponly"] and cookie["samesite"] == "lax" and cookie["path"] == "/"
        assert not cookie["secure"]         # this is plain http
        chat = await browser.get("/")
        assert chat.status_code == 200 and "Mira Kovač" in chat.text
    (admin,) = await home.services.accounts.list_users()
    assert (admin.name, admin.role) == ("Mira Kovač", UserRole.ADMIN)


async def test_over_https_the_cookie_is_for_https_only(home: Home, ada: Person) -> None:
    transport = httpx.ASGITransport(home.app)
    async with httpx.AsyncClient(transport=transport, base_url=URL.replace("http:", "https:")) as browser:
        done = await browser.post("/login", data={"name": "Ada Lovelace", "password": PASSWORD})
    assert _cookie(done)[SESSION_COOKIE]["secure"]


async def test_what_is_wrong_stands_under_its_field_and_what_was_typed_is_kept(home: Home) -> None:
    token = home.services.accounts.setup_token()
    async with home.http() as browser:
        page = await browser.post("/setup", data={"token": token, "name": "<b>Mira</b>", "password": "short-1"})
        assert page.status_code == 400
        assert 'value="&lt;b&gt;Mira&lt;/b&gt;"' in page.text
        assert "at least 8 characters" in page.text and 'id="password-problem"' in page.text
        assert "short-1" not in page.text
        page = await browser.post("/setup", data={"token": token, "name": " ", "password": PASSWORD})
        assert "Choose a name." in page.text and 'id="name-problem"' in page.text


async def test_a_used_link_leads_to_sign_in(home: Home, ada: Person) -> None:
    token = home.services.accounts.setup_token()
    async with home.http() as browser:
        page = await browser.get("/setup", params={"token": token})
        assert 'href="/login">Sign in</a>' in page.text
        again = await browser.post("/setup", data={"token": token, "name": "Eve", "password": PASSWORD})
        assert again.status_code == 409 and 'href="/login"' in again.text


async def test_signing_in_leads_to_where_one_wanted_to_go(home: Home, ada: Person) -> None:
    async with home.http() as browser:
        asked = await browser.get("/models")
        assert asked.headers["location"] == "/login?next=%2Fmodels"
        form = await browser.get(asked.headers["location"])
        assert 'name="next" value="/models"' in form.text
        done = await browser.post("/login", data={"name": "ADA lovelace", "password": PASSWORD, "next": "/models"})
        assert (done.status_code, done.headers["location"]) == (303, "/models")
        assert (await browser.get("/login?next=/settings")).headers["location"] == "/settings"


async def test_a_wrong_password_is_told_in_place(home: Home, ada: Person) -> None:
    async with home.http() as browser:
        page = await browser.post("/login", data={"name": "Ada Lovelace", "password": "not this one"})
        assert page.status_code == 400
        assert "Name and password do not match." in page.text
        assert 'value="Ada Lovelace"' in page.text
        assert SESSION_COOKIE not in page.headers.get("set-cookie", "")


@pytest.mark.parametrize("field", ["name", "password", "next"])
async def test_letters_that_no_page_can_hold_are_a_wrong_name_or_password(home: Home, ada: Person, field: str) -> None:
    form = f'--B\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n+2AA-\r\n--B--\r\n'
    async with home.http() as browser:
        page = await browser.post(
            "/login", content=form, headers={"Content-Type": "multipart/form-data; boundary=B; charset=utf-7"}
        )
    assert page.status_code == 400
    assert "<form" in page.text


async def test_too_many_wrong_passwords_have_to_wait(home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def too_many(*args: object, **kwargs: object) -> None:
        raise TooManyAttempts(Said("error-too-many-passwords", seconds=8), retry_after_s=8)

    monkeypatch.setattr(home.services.accounts, "sign_in", too_many)
    async with home.http() as browser:
        page = await browser.post("/login", data={"name": "Ada Lovelace", "password": PASSWORD})
    assert (page.status_code, page.headers["retry-after"]) == (429, "8")
    assert "Try again in 8 s." in page.text


async def test_signing_out_ends_the_session(home: Home, ada: Person) -> None:
    async with ada.http() as browser:
        done = await browser.post("/logout")
        assert (done.status_code, done.headers["location"]) == (303, "/login")
        assert _cookie(done)[SESSION_COOKIE]["max-age"] == "0"
    async with ada.http() as browser:       # the old cookie
        assert (await browser.get("/")).headers["location"] == "/login"


async def test_the_sign_in_page_says_why_a_session_ended_to_its_own_browser_alone(
    home: Home, ada: Person, ben: Person
) -> None:
    accounts, people = home.services.accounts, home.services.people

    async def seen(person: Person | None) -> str:
        """What stands over the form for a browser that had this person's session."""
        async with person.http() if person else home.http() as browser:
            page = (await browser.get("/login?next=/settings")).text
        _, _, after = page.partition('class="nk-notice" role="status">')
        return re.sub(r"<[^>]*>", "", after.partition("</div>")[0]).strip()

    await people.set_active(ada.id, ben.id, False)
    assert await seen(ben) == (
        "Your account was disabled by an admin. Your chats are kept, and an admin can enable it again."
    )
    assert await seen(None) == ""
    await people.set_active(ada.id, ben.id, True)
    assert await seen(ben) == "You were signed out."
    ben = replace(ben, session=await accounts.start_session(ben.row))
    await people.set_password(ada.id, ben.id, "battery staple")
    assert await seen(ben) == "Your password was changed, so you were signed out. Sign in with the new one."
    await people.remove(ada.id, ben.id, "Ben")
    assert await seen(ben) == "Your account was deleted by an admin."
    assert await seen(replace(ben, session="made up")) == "You were signed out."
    async with ben.http() as browser:       # what is wrong now is what counts
        page = await browser.post("/login", data={"name": "Ben", "password": "battery staple"})
        assert "do not match" in page.text and "nk-notice" not in page.text


async def test_an_address_can_say_no_more_than_that_somebody_was_signed_out(home: Home, ada: Person) -> None:
    async with home.http() as browser:
        said = (await browser.get("/login?ended")).text
        assert "You were signed out." in said
        for query in ("ended=disabled", "ended=<b>Call+this+number", "ended=ended-deleted"):
            assert (await browser.get(f"/login?{query}")).text == said
        assert "nk-notice" not in (await browser.get("/login?why=disabled")).text


async def test_what_is_remembered_of_ended_sessions_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "NUM_KEPT", 2)
    kept = endings.Endings()
    kept.note("ben", ["1", "2", "3"], endings.Ending.PASSWORD)
    assert [kept.of(each) for each in "123"] == ["signed-out", "password", "password"]
    kept.note("ben", [], endings.Ending.DELETED)
    assert [kept.of(each) for each in "23"] == ["deleted", "deleted"]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/c/abc?x=1", "/c/abc?x=1"),
        ("/", "/"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
        ("/\tevil", "/"),
        ("/naïve", "/na%C3%AFve"),
    ],
)
def test_after_sign_in_one_stays_on_this_server(target: str, path: str) -> None:
    assert local_path(target) == path
