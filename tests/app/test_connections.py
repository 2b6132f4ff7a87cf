"""Servers elsewhere, over the real services: off at first, added, asked, standing in for each other, switched off."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from app.errors import Conflict, InvalidInput, ModelNotFound, ModelUnavailable, NotFound
from app.services.connections import Entered, parse_headers
from app.services.container import Services
from app.services.engines import ModelState
from engine.engine import ChatMessage, ChatRequest
from engine.errors import EndpointError
from engine.params import SamplingParams
from store import messages
from store.tables import Message, MessageStatus
from tests.app.house import Shelf, until
from tests.engine.upstream import KEY, WORDS, Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(about={"max_model_len": 8192})
    yield server
    server.close()


@pytest.fixture
def second() -> Iterator[Upstream]:
    server = Upstream(words="The second one.", about={"max_model_len": 4096})
    yield server
    server.close()


@pytest_asyncio.fixture
async def allowed(services: Services) -> AsyncIterator[Services]:
    await services.connections.set_allowed(True)
    yield services


def entered(upstream: Upstream, name: str = "Office") -> Entered:
    return Entered(name=name, base_url=upstream.url, key=KEY, headers={"X-Team": "kitchen-secret"})


async def answer_to(services: Services, user_id: str, text: str = "Hello", model_id: str = "big") -> Message:
    sent = await services.chat.send(user_id, None, text, model_id=model_id)
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    message = await services.db.read(messages.get, user_id, sent.answer_id)
    assert message is not None
    return message


async def test_nothing_is_asked_before_an_admin_has_allowed_it(services: Services, upstream: Upstream) -> None:
    assert not await services.connections.is_allowed()
    with pytest.raises(Conflict, match="switched off"):
        await services.connections.add(entered(upstream))
    assert not upstream.asked and await services.connections.list() == []


async def test_a_server_s_models_are_there_and_answer(allowed: Services, upstream: Upstream, user_id: str) -> None:
    entry = await allowed.connections.add(entered(upstream))
    assert entry.connection.kind == "vllm" and [each.remote_id for each in entry.models] == ["big"]
    listed = {each.model.id: each for each in await allowed.models.list()}
    assert listed["big"].connections == ("Office",) and listed["big"].model.context_tokens == 8192
    assert not listed["parrot"].is_elsewhere and not listed["big"].is_failing
    message = await answer_to(allowed, user_id)
    assert (message.content, message.status) == (WORDS, MessageStatus.COMPLETE)
    assert (message.connection, message.model_version) == ("Office", "Office/big")
    assert (message.prompt_tokens, message.cached_tokens, message.completion_tokens) == (11, 4, 4)
    assert (await answer_to(allowed, user_id, model_id="parrot")).connection == ""


async def test_it_takes_no_memory_and_makes_nobody_leave(allowed: Services, upstream: Upstream, user_id: str) -> None:
    await answer_to(allowed, user_id, model_id="parrot")
    await allowed.connections.add(entered(upstream))
    await answer_to(allowed, user_id)
    assert {"parrot", "big"} <= allowed.engines.loaded().keys()
    info = allowed.engines.loaded()["big"].info
    assert info.is_elsewhere and info.weight_bytes + info.kv_bytes + info.cache_bytes == 0
    assert info.max_model_len == 8192


async def test_another_server_of_the_same_model_stands_in(
    allowed: Services, upstream: Upstream, second: Upstream, user_id: str
) -> None:
    first = await allowed.connections.add(entered(upstream))
    await allowed.connections.add(entered(second, "Cellar"))
    model = next(each for each in await allowed.models.list() if each.model.id == "big")
    assert model.connections == ("Office", "Cellar") and model.model.context_tokens == 4096
    upstream.fault = "busy"
    noted = asyncio.Event()
    allowed.changes.watch(None, lambda _change: noted.set())
    message = await answer_to(allowed, user_id)
    assert (message.content, message.connection) == ("The second one.", "Cellar")

    async def problem() -> str:
        return (await allowed.connections.named("office")).connection.problem

    async with asyncio.timeout(60):
        while not await problem():
            await noted.wait()
            noted.clear()
    upstream.fault = ""
    await allowed.connections.test(first.connection.id)
    assert await problem() == ""


async def test_the_name_of_a_model_here_stays_its_own(allowed: Services, upstream: Upstream, user_id: str) -> None:
    upstream.models = ("parrot",)
    await allowed.connections.add(entered(upstream))
    assert (await answer_to(allowed, user_id, model_id="parrot")).connection == ""
    assert (await answer_to(allowed, user_id, model_id="parrot-elsewhere")).connection == "Office"
    assert (await allowed.models.find("parrot-elsewhere")).name == "parrot-elsewhere"      # as a command is told
    default = await allowed.models.default()
    assert default is not None and default.id == "parrot"


async def test_a_conversation_keeps_its_session_and_no_name_is_told(
    allowed: Services, upstream: Upstream, user_id: str
) -> None:
    await allowed.connections.add(entered(upstream))
    message = await answer_to(allowed, user_id)
    sent = await allowed.chat.send(user_id, message.conversation_id, "And then?", model_id="big")
    generation = allowed.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    await answer_to(allowed, user_id)
    await until(lambda: not allowed.titles.is_at_work)
    sessions = [each.headers["x-session-id"] for each in upstream.chats()]
    assert len(set(sessions)) == 2
    told = str([(each.headers, each.body) for each in upstream.chats()])
    assert user_id not in told and message.conversation_id not in told and "Anna" not in told


async def test_switching_a_connection_off_ends_its_answers(
    allowed: Services, upstream: Upstream, user_id: str
) -> None:
    entry = await allowed.connections.add(entered(upstream))
    upstream.fault = "held"
    sent = await allowed.chat.send(user_id, None, "Hello", model_id="big")
    generation = allowed.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.text == "The")
    await allowed.connections.set_on(entry.connection.id, False)
    await until(lambda: generation.is_ended)
    assert generation.status is MessageStatus.INTERRUPTED and generation.text == "The"
    assert await asyncio.to_thread(upstream.gone.wait, 10)
    assert "big" not in {each.model.id for each in await allowed.models.list()}
    num_asked = len(upstream.asked)
    reason = "big is not reachable: Office was switched off by an admin"
    with pytest.raises(ModelNotFound, match=reason):
        await allowed.chat.send(user_id, None, "Hello", model_id="big")
    num_messages = len(await allowed.conversations.thread(user_id, sent.conversation_id))
    ways: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: allowed.chat.send(user_id, sent.conversation_id, "Hello?"),        # no other stands in unasked
        lambda: allowed.chat.regenerate(user_id, sent.answer_id),
        lambda: allowed.chat.continue_answer(user_id, sent.answer_id),
        lambda: allowed.chat.edit(user_id, sent.user_message_id, "Hello?"),
    )
    for go_on in ways:
        with pytest.raises(ModelNotFound, match=reason):
            await go_on()
    assert len(await allowed.conversations.thread(user_id, sent.conversation_id)) == num_messages
    again = await allowed.chat.send(user_id, sent.conversation_id, "Hello?", model_id="parrot")
    local = allowed.generations.get(again.answer_id)
    assert local is not None
    await until(lambda: local.is_ended)
    assert local.model_id == "parrot" and len(upstream.asked) == num_asked
    third = await allowed.chat.send(user_id, sent.conversation_id, "And?")         # that one was chosen
    assert (await allowed.chat.message(user_id, third.answer_id)).model_id == "parrot"


async def test_an_engine_that_is_open_asks_nobody_once_another_process_has_switched_it_off(
    allowed: Services, upstream: Upstream, shelf: Shelf, user_id: str
) -> None:
    """The command line, say, while a server runs."""
    await allowed.connections.add(entered(upstream))
    await answer_to(allowed, user_id)
    await until(lambda: not allowed.titles.is_at_work)
    engine = allowed.engines.loaded()["big"]
    other = Services.open(allowed.settings, shelf.load)
    await other.connections.set_allowed(False)
    other.close()
    num_asked = len(upstream.asked)
    request = ChatRequest(messages=(ChatMessage(role="user", content="Hello"),), params=SamplingParams())
    assert allowed.engines.loaded()["big"] is engine
    with pytest.raises(ModelUnavailable, match="switched off"):
        await anext(engine.chat(request))
    assert "big" not in {each.model.id for each in await allowed.models.list()}
    await allowed.connections.set_allowed(False)
    assert allowed.engines.status("big").state is ModelState.ON_DISK and len(upstream.asked) == num_asked


async def test_an_admin_s_default_elsewhere_gives_way_when_it_is_switched_off(
    allowed: Services, upstream: Upstream
) -> None:
    await allowed.connections.add(entered(upstream))
    await allowed.models.set_default("big")
    await allowed.connections.set_allowed(False)
    default = await allowed.models.default()
    assert default is not None and default.id == "parrot"


async def test_what_goes_wrong_elsewhere_is_told_and_the_model_is_not_lost(
    allowed: Services, upstream: Upstream, user_id: str
) -> None:
    await allowed.connections.add(entered(upstream))
    upstream.fault = "cut"
    message = await answer_to(allowed, user_id)
    assert message.status is MessageStatus.FAILED and message.error and "Office" in message.error
    assert message.content.startswith("The answer") and message.connection == "Office"
    upstream.fault = ""
    assert (await answer_to(allowed, user_id)).content == WORDS


async def test_secrets_stand_nowhere_in_clear(
    allowed: Services, upstream: Upstream, user_id: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    upstream.wants_key = True
    entry = await allowed.connections.add(entered(upstream))
    assert upstream.asked[-1].headers["x-team"] == "kitchen-secret"
    await answer_to(allowed, user_id)
    with pytest.raises(EndpointError):
        await allowed.connections.add(Entered(name="Wrong", base_url=upstream.url, key="sk-quite-wrong"))
    assert entry.has_key
    raw = await asyncio.to_thread(_everything_in, tmp_path)
    logs = "".join(capfd.readouterr())
    for secret in (KEY, "kitchen-secret", "sk-quite-wrong"):
        assert secret.encode() not in raw and secret not in logs


def _everything_in(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())


async def test_another_address_does_not_get_the_old_key(
    allowed: Services, upstream: Upstream, second: Upstream
) -> None:
    entry = await allowed.connections.add(entered(upstream))
    with pytest.raises(InvalidInput, match="another address"):
        await allowed.connections.change(entry.connection.id, Entered(name="Office", base_url=second.url))
    assert not second.asked
    renamed = await allowed.connections.change(
        entry.connection.id, Entered(name="Kitchen", base_url=entry.connection.base_url)
    )
    assert renamed.has_key and upstream.asked[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_removing_a_connection_takes_its_models_along_and_leaves_the_answers(
    allowed: Services, upstream: Upstream, second: Upstream, user_id: str
) -> None:
    first = await allowed.connections.add(entered(upstream))
    other = await allowed.connections.add(entered(second, "Cellar"))
    message = await answer_to(allowed, user_id)
    await allowed.connections.remove(first.connection.id)
    assert (await answer_to(allowed, user_id)).connection == "Cellar"
    await allowed.connections.remove(other.connection.id)
    assert [each.model.id for each in await allowed.models.list()] == ["parrot"]
    kept = await allowed.db.read(messages.get, user_id, message.id)
    assert kept is not None and kept.content == WORDS
    with pytest.raises(NotFound):
        await allowed.connections.remove(first.connection.id)


async def test_testing_anew_brings_models_and_takes_them(allowed: Services, upstream: Upstream) -> None:
    entry = await allowed.connections.add(entered(upstream))
    upstream.models = ("small", "org/huge")
    await allowed.connections.test(entry.connection.id)
    names = {each.model.id: each.model.name for each in await allowed.models.list() if each.is_elsewhere}
    assert names == {"small": "small", "org/huge": "huge"}
    tried = await allowed.connections.try_out(entry.connection.id)
    assert tried is not None and tried[0] == "org/huge"
    upstream.routes["/v1/models"] = {"nothing": 1}
    with pytest.raises(EndpointError):
        await allowed.connections.test(entry.connection.id)
    assert all(each.is_failing for each in await allowed.models.list() if each.is_elsewhere)


@pytest.mark.parametrize(("values", "field"), [
    ({"base_url": "ftp://x"}, "base_url"), ({"key": "a b"}, "key"),
    ({"headers": {"Host": "x"}}, "headers"), ({"session_header": "X Y"}, "session_header"),
    ({"headers": {f"X-{number}": "1" for number in range(21)}}, "headers"),
])
async def test_what_cannot_be_is_said(values: dict[str, object], field: str, allowed: Services) -> None:
    whole = {"name": "Office", "base_url": "http://127.0.0.1:9"} | values
    with pytest.raises(InvalidInput) as caught:
        await allowed.connections.add(Entered(**whole))     # type: ignore[arg-type]
    assert caught.value.field == field


async def test_models_whose_names_cannot_be_used_are_counted_and_cost_no_other(
    allowed: Services, upstream: Upstream
) -> None:
    upstream.raw_routes["/v1/models"] = b'{"data": [{"id": "a\\ud83d"}, {"id": "\\u200b"}, {"id": "big"}]}'
    entry = await allowed.connections.add(entered(upstream))
    assert [each.remote_id for each in entry.models] == ["big"] and entry.num_left_out == 2
    assert (await allowed.connections.list())[0].num_left_out == 2
    del upstream.raw_routes["/v1/models"]
    assert (await allowed.connections.test(entry.connection.id)).num_left_out == 0


async def test_two_connections_have_two_names(allowed: Services, upstream: Upstream) -> None:
    await allowed.connections.add(entered(upstream))
    with pytest.raises(Conflict, match="already"):
        await allowed.connections.add(entered(upstream, "OFFICE"))


async def test_one_without_a_name_is_called_as_its_host(allowed: Services, upstream: Upstream) -> None:
    host = upstream.root.removeprefix("http://")
    first = (await allowed.connections.add(entered(upstream, " "))).connection
    second = (await allowed.connections.add(entered(upstream, ""))).connection
    assert (first.name, second.name) == (host, f"{host} 2")
    changed = await allowed.connections.change(first.id, entered(upstream, ""))
    assert changed.connection.name == host


def test_headers_are_read_by_line() -> None:
    assert parse_headers("X-Team: kitchen\n\n api-key:a:b ") == {"X-Team": "kitchen", "api-key": "a:b"}
    with pytest.raises(InvalidInput):
        parse_headers("nonsense")


async def test_a_model_elsewhere_has_no_file_to_work_on(
    allowed: Services, upstream: Upstream, shelf: Shelf, tmp_path: Path
) -> None:
    await allowed.connections.add(entered(upstream))
    for doing in (
        allowed.models.remove("big"), allowed.models.template("big"),
        allowed.model_versions.update("big", tmp_path / "x.gguf"),
    ):
        with pytest.raises(Conflict, match="elsewhere"):
            await doing
    assert "big" not in shelf.loads


def test_the_tables_are_as_the_migration_makes_them(new_database_file: Path) -> None:
    with sqlite3.connect(new_database_file) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(connection)")}
    assert {"sealed_key", "sealed_headers", "is_on", "base_url"} <= columns


async def test_how_fast_it_writes_is_known_after_some_answers(
    allowed: Services, upstream: Upstream, user_id: str
) -> None:
    await allowed.connections.add(entered(upstream))
    upstream.words = " ".join(["word"] * 20)
    model = await allowed.models.find("big")
    for _ in range(3):
        assert await allowed.model_speeds.elsewhere([model]) == {}
        assert (await answer_to(allowed, user_id)).completion_tokens == 20
    assert (await allowed.model_speeds.elsewhere([model]))["big"] > 0


async def test_what_its_server_decides_is_not_set_here(allowed: Services, upstream: Upstream) -> None:
    await allowed.connections.add(entered(upstream))
    for changes in ({"threads": 4}, {"chat_template": "{{ messages }}"}, {"is_pinned": True}, {"kv_type": "q8_0"}):
        with pytest.raises(InvalidInput, match="runs on another server"):
            await allowed.model_settings.change("big", changes)
    settings = await allowed.model_settings.change("big", {"context_tokens": 4096, "aliases": ["gpt"], "threads": None})
    assert settings.to_values() == {"context_tokens": 4096, "aliases": ["gpt"]}
