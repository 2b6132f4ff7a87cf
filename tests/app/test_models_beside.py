"""`inglenook models` beside a server that runs: what it has in memory follows, and its pages hear of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.services.changes import Change
from app.services.engines import ModelState
from store.tables import UserRole
from tests.app.command_line import Inglenook
from tests.app.house import House, Person
from tests.engine.tiny_gguf import write_tiny_gguf

GIB = 2**30


@pytest.fixture
def tiny(inglenook: Inglenook, beside: House, tmp_path: Path) -> Iterator[Path]:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    assert inglenook("models", "add", str(path)).exit_code == 0
    beside.shelf.makers["tiny"] = beside.shelf.makers["parrot"]
    yield path
    inglenook("models", "remove", "tiny", "--stop")


@pytest.fixture
def boss(house: House, admin: Person) -> Person:
    everybody = house.do(house.services.accounts.list_users())
    return house.signed_in(next(user for user in everybody if user.role is UserRole.ADMIN))


def test_open_pages_hear_of_each_change(
    inglenook: Inglenook, beside: House, heard: list[Change], tiny: Path, tmp_path: Path
) -> None:
    newer, other = (write_tiny_gguf(tmp_path / f"{name}.gguf", seed=1) for name in ("newer", "other"))
    for command in (
        ("add", str(other)), ("set", "tiny", "--pin"), ("budget", "12"), ("budget", "auto"),
        ("update", "tiny", str(newer)), ("rollback", "tiny"), ("updates", "--daily"), ("updates", "--no-daily"),
        ("remove", "other"),
    ):
        heard.clear()
        done = inglenook("models", *command)
        assert done.exit_code == 0, done.err
        assert any(each.kind == "models" for each in heard), command


def test_what_is_in_memory_follows_at_once(inglenook: Inglenook, beside: House, tiny: Path, tmp_path: Path) -> None:
    engines = beside.services.engines
    beside.do(engines.load("tiny"))
    assert inglenook("models", "set", "tiny", "--pin").exit_code == 0
    assert engines._places.by_id["tiny"].policy.is_pinned
    assert inglenook("models", "budget", "12").exit_code == 0
    assert engines.budget_bytes == 12 * GIB
    assert inglenook("models", "budget", "auto").exit_code == 0
    assert engines.budget_bytes is None
    newer = write_tiny_gguf(tmp_path / "newer.gguf", seed=1)
    assert inglenook("models", "update", "tiny", str(newer)).out.startswith("Tiny 0 is newer.gguf, ")
    assert engines._places.by_id["tiny"].is_retired, "nobody is answered by the old one any more"


def test_a_model_is_unloaded_before_it_goes(inglenook: Inglenook, beside: House, tiny: Path) -> None:
    beside.do(beside.services.engines.load("tiny"))
    backend = beside.shelf.backends["tiny"]
    removed = inglenook("models", "remove", "tiny")
    assert removed.out.splitlines()[:2] == ["Tiny 0 (tiny) is no longer known here.", f"Its file stays at {tiny}."]
    assert backend.is_closed
    assert "tiny" not in beside.services.engines.loaded()


def test_one_that_answers_stays_unless_its_answers_may_stop(inglenook: Inglenook, beside: House, tiny: Path) -> None:
    engines = beside.services.engines
    let_go = asyncio.Event()

    async def answer() -> asyncio.Task[None]:
        borrowed = asyncio.Event()

        async def borrow() -> None:
            async with engines.acquire("tiny"):
                borrowed.set()
                await let_go.wait()

        task = asyncio.create_task(borrow())
        await borrowed.wait()
        return task

    async def end(task: asyncio.Task[None]) -> None:
        let_go.set()
        await task

    answering = beside.do(answer())
    refused = inglenook("models", "remove", "tiny")
    assert (refused.exit_code, refused.err.splitlines()[-1]) == (
        1, "inglenook: Tiny 0 is writing an answer. Wait for the end, or end them with --stop."
    )
    assert engines.status("tiny").state is ModelState.READY
    assert inglenook("models", "remove", "tiny", "--stop").exit_code == 0
    assert engines.status("tiny").state is ModelState.ON_DISK
    beside.do(end(answering))


@pytest.mark.parametrize(("method", "path", "body", "words"), [
    ("PUT", "/settings", {"model": "parrot", "changes": ["a"]}, "must be an object"),
    ("PUT", "/settings", {"model": "parrot", "changes": {"aliases": "abc"}}, "must be a list of texts"),
    ("PUT", "/settings", {"model": "parrot", "changes": {"aliases": [["a"]]}}, "must be a list of texts"),
    ("PUT", "/settings", {"model": "parrot", "changes": {"preset_id": {}}}, "preset"),
    ("PUT", "/settings", {"model": ["parrot"], "changes": {}}, "must be a text"),
    ("PUT", "/budget", {"gib": True}, "memory"), ("PUT", "/budget", {"gib": "12"}, "memory"),
    ("POST", "/update", {"model": "parrot", "path": "a.gguf"}, "whole path"),
    ("POST", "/update", {"model": "parrot", "path": "/\0"}, "no file"),
    ("POST", "/rollback", {"model": "parrot", "version": 1}, "must be a text"),
    ("DELETE", "", {"model": ""}, "model"),
    ("PUT", "/budget", {}, "gib is missing"), ("PUT", "/budget", {"GiB": 4}, "gib is missing"),
    ("PUT", "/budget", {"gib": 4, "gb": 4}, "no field 'gb' here; there is gib"),
    ("PUT", "/settings", {"model": "parrot"}, "changes is missing"), ("PUT", "/settings", {"changes": {}}, "model is"),
    ("POST", "/rollback", {"model": "parrot"}, "version is missing"),
    ("DELETE", "", {"model": "parrot", "stops_answers": "no"}, "stops_answers must be one of: true, false"),
    ("DELETE", "", {"model": "parrot", "stop": False}, "no field 'stop'"),
])
def test_what_is_odd_is_refused_in_words(
    boss: Person, method: str, path: str, body: dict[str, object], words: str
) -> None:
    with boss.browser() as browser:
        answer = browser.request(method, f"/local-models{path}", json=body)
    assert 400 <= answer.status_code < 500
    assert words in answer.json()["error"]["message"]


def test_what_is_left_out_takes_no_budget_away(house: House, boss: Person) -> None:
    with boss.browser() as browser:
        def put(body: dict[str, object]) -> int:
            return browser.put("/local-models/budget", json=body).status_code

        assert (put({"gib": 3}), put({}), put({"budget": None})) == (204, 400, 400)
        assert house.services.engines.budget_bytes == 3 * GIB
        assert put({"gib": None}) == 204
        assert house.services.engines.budget_bytes is None


def test_settings_are_changed_by_an_alias_too(house: House, boss: Person) -> None:
    with boss.browser() as browser:
        def put(model: str, changes: dict[str, object]) -> int:
            body = {"model": model, "changes": changes}
            return browser.put("/local-models/settings", json=body).status_code

        assert put("parrot", {"aliases": ["polly"]}) == 204
        assert put("polly", {"users": 3}) == 204
        assert house.do(house.services.model_settings.of("parrot")).users == 3
        assert put("polly", {"users": None, "aliases": None}) == 204
        assert put("polly", {}) == 404


def test_only_an_admin_with_a_session_may(anna: Person, boss: Person) -> None:
    def asks(client: httpx.Client) -> int:
        with client:
            return client.request("DELETE", "/local-models", json={"model": "parrot"}).status_code

    assert asks(anna.browser()) == 403
    assert asks(boss.client()) in (401, 403)
