"""Measuring over HTTP: for admins with a session, and for nobody else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from store.tables import UserRole
from tests.app.house import House, Person

ROUTES = [("POST", "/bench"), ("GET", "/bench"), ("GET", "/bench/x"), ("DELETE", "/bench/x")]


@pytest.fixture(scope="session")
def boss(house: House, admin: Person) -> Person:
    """Who was the first to sign up."""
    everybody = house.do(house.services.accounts.list_users())
    return house.signed_in(next(user for user in everybody if user.role is UserRole.ADMIN))


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_only_admins_get_in_and_by_session_only(
    house: House, boss: Person, anna: Person, method: str, path: str
) -> None:
    body: dict[str, Any] = {"json": {}} if method == "POST" else {}
    with anna.browser() as browser:
        refused = browser.request(method, path, **body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    with boss.client() as by_key, httpx.Client(base_url=house.url) as nobody:
        assert by_key.request(method, path, **body).status_code == 401
        assert nobody.request(method, path, **body).status_code == 401


def test_it_is_begun_followed_and_found_again(house: House, boss: Person) -> None:
    wish = {"models": ["parrot"], "levels": [2], "max_tokens": 8, "repetitions": 1, "prompts": ["One?"]}
    with boss.browser() as browser:
        begun = browser.post("/bench", json=wish)
        assert (begun.status_code, begun.json()["is_running"]) == (202, True)
        path = f"/bench/{begun.json()['id']}"
        while (status := browser.get(path).json())["is_running"]:
            pass
        assert (status["state"], status["fraction"], len(status["rows"])) == ("done", 1.0, 1)
        assert browser.get("/bench").json()["runs"][0]["id"] == status["rows"][0]["id"]
        assert browser.delete(path).status_code == 204          # it has ended
        assert browser.delete("/bench/x").status_code == 404


@pytest.mark.parametrize("body", [
    {"models": "parrot"}, {"models": [1]}, {"levels": ["1"]}, {"levels": [True]}, {"prompts": "x"}, {"prompts": [1]},
    {"prompts": ["x"], "source": "elsewhere"}, {"max_tokens": "8"}, {"repetitions": True}, {"max_tokens": 8.5},
])
def test_what_is_no_wish_is_a_400(boss: Person, body: dict[str, Any]) -> None:
    with boss.browser() as browser:
        refused = browser.post("/bench", json={"models": ["parrot"], "levels": [1], "max_tokens": 8} | body)
    assert refused.status_code == 400, refused.text
