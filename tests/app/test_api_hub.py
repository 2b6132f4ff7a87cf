"""The hub and its downloads over HTTP: for admins with a session, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from store.tables import UserRole
from tests.app.house import House, Person
from tests.app.hub import TOKEN, Faults, Hub
from tests.app.shop import tiny_model

REPO, NAME = "api/Parrot-GGUF", "api-parrot-Q8_0.gguf"
ROUTES = [
    ("GET", "/hub/search"), ("GET", f"/hub/models/{REPO}"), ("GET", f"/hub/plan?repo={REPO}"),
    ("GET", "/hub/downloads"), ("POST", "/hub/downloads"), ("GET", "/hub/downloads/x"), ("DELETE", "/hub/downloads/x"),
    ("POST", "/hub/downloads/x/pause"), ("POST", "/hub/downloads/x/resume"), ("GET", "/hub/rules"),
    ("PUT", "/hub/rules"), ("GET", "/hub/token"), ("PUT", "/hub/token"),
]


@pytest.fixture(scope="session")
def boss(house: House, admin: Person) -> Person:
    """Who was the first to sign up."""
    everybody = house.do(house.services.accounts.list_users())
    return house.signed_in(next(user for user in everybody if user.role is UserRole.ADMIN))


@pytest.fixture
def hub(house_hub: Hub) -> Iterator[Hub]:
    house_hub.add(REPO, {NAME: tiny_model(31), "README.md": b"# Parrot"}, tags=["gguf", "license:mit"], downloads=3)
    house_hub.asked.clear()
    yield house_hub
    house_hub.release()
    house_hub.faults = Faults()


def until_ended(browser: httpx.Client, download_id: str) -> dict[str, Any]:
    while True:
        status: dict[str, Any] = browser.get(f"/hub/downloads/{download_id}").json()
        if status["state"] not in ("queued", "downloading", "verifying"):
            return status


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_only_admins_get_in_and_by_session_only(
    house: House, boss: Person, anna: Person, method: str, path: str
) -> None:
    body: dict[str, Any] = {"json": {}} if method in ("POST", "PUT") else {}
    with anna.browser() as browser:
        refused = browser.request(method, path, **body)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    with boss.client() as by_key, httpx.Client(base_url=house.url) as nobody:
        assert by_key.request(method, path, **body).status_code == 401
        assert nobody.request(method, path, **body).status_code == 401
    with boss.browser(headers={"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}) as elsewhere:
        assert elsewhere.request(method, path, **body).status_code == 403


def test_a_model_is_found_judged_fetched_and_there(hub: Hub, boss: Person) -> None:
    with boss.browser() as browser:
        found = browser.get("/hub/search", params={"text": "parrot", "licence": "mit"}).json()["models"]
        assert [each["repo"] for each in found] == [REPO]
        shown = browser.get(f"/hub/models/{REPO}").json()
        (variant,) = shown["variants"]
        assert (variant["label"], variant["size_bytes"], variant["files"]) == ("Q8_0", len(tiny_model(31)), [NAME])
        assert variant["fit"]["verdict"] == "fits"
        assert variant["speed"]["tokens_per_s"] > 1
        assert "this machine’s memory" in variant["speed"]["rests_on"]
        plan = browser.get("/hub/plan", params={"repo": REPO, "wanted": "q8_0"}).json()
        assert (plan["commit_sha"], plan["fit"]["num_users"]) == (hub.repos[REPO].commit, 8)
        asked = browser.post("/hub/downloads", json={"repo": REPO})
        assert asked.status_code == 202
        again = browser.post("/hub/downloads", json={"repo": REPO, "wanted": NAME}).json()
        assert again["id"] == asked.json()["id"]
        done = until_ended(browser, again["id"])
        assert (done["state"], done["model_id"], done["fraction"]) == ("on_disk", "api-parrot-q8_0", 1.0)
        assert [each["id"] for each in browser.get("/hub/downloads").json()["downloads"]] == [done["id"]]
        assert browser.delete(f"/hub/downloads/{done['id']}").status_code == 204
        assert browser.get(f"/hub/downloads/{done['id']}").status_code == 404
    with boss.client() as client:
        assert client.get("/v1/models/api-parrot-q8_0").status_code == 200


def test_it_pauses_resumes_and_is_given_up(hub: Hub, boss: Person) -> None:
    hub.hold("slow-Q4_0.gguf")
    hub.add("api/Slow", {"slow-Q4_0.gguf": tiny_model(32)})
    with boss.browser() as browser:
        download = browser.post("/hub/downloads", json={"repo": "api/Slow"}).json()
        assert download["state"] == "downloading"
        path = f"/hub/downloads/{download['id']}"
        assert browser.post(f"{path}/pause").json()["state"] == "paused"
        assert browser.post(f"{path}/pause").status_code == 409
        hub.release()
        hub.hold("slow-Q4_0.gguf")
        assert browser.post(f"{path}/resume").json()["state"] == "downloading"
        assert browser.delete(path).status_code == 204
        assert browser.get("/hub/downloads").json()["downloads"] == []


def test_what_goes_wrong_has_a_status_and_words(hub: Hub, boss: Person) -> None:
    with boss.browser() as browser:
        for path, status, code in (
            ("/hub/models/api/Dodo", 403, "hub_refused"), ("/hub/plan?repo=nonsense", 400, None),
            (f"/hub/plan?repo={REPO}&wanted=Q2_K", 404, None), ("/hub/search?format=pickle", 400, None),
            ("/hub/search?sort=size", 400, None),
        ):
            answer = browser.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), path
        assert browser.post("/hub/downloads", json={"repo": 5}).status_code == 400
        for odd in ({}, {"repo": REPO, "want": NAME}, {"repo": REPO, "anyway": "yes"}):
            assert browser.post("/hub/downloads", json=odd).status_code == 400
        assert browser.put("/hub/rules", json={"hours": "late"}).status_code == 400
        assert browser.put("/hub/rules", json={"speed": 5}).status_code == 400
        hub.faults.api_status, hub.faults.retry_after = 429, "12"
        busy = browser.get("/hub/search")
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "12")


def test_rules_and_token_are_kept_and_the_token_is_never_shown(hub: Hub, boss: Person) -> None:
    with boss.browser() as browser:
        before = browser.get("/hub/rules").json()
        changed = browser.put("/hub/rules", json={"bytes_per_s": 5_000_000}).json()
        assert changed == before | {"bytes_per_s": 5_000_000}
        assert browser.put("/hub/rules", json=before).json() == before
        assert browser.put("/hub/token", json={"token": TOKEN}).json() == {"is_set": True}
        assert TOKEN not in browser.get("/hub/token").text
        browser.get(f"/hub/models/{REPO}")
        assert hub.asked[-1].host == "files" or hub.asked[-1].headers["authorization"] == f"Bearer {TOKEN}"
        assert browser.put("/hub/token", json={"token": "a b"}).status_code == 400
        for unclear in ({}, {"tokens": ""}, {"token": None}):
            assert browser.put("/hub/token", json=unclear).status_code == 400
        assert browser.get("/hub/token").json() == {"is_set": True}
        assert browser.put("/hub/token", json={"token": ""}).json() == {"is_set": False}
