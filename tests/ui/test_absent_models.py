"""A chat whose model cannot be asked any more says so, and sends nothing to another before a person has chosen one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nicegui.testing import User

from app.services.changes import Change
from app.services.models import STARTER_ID, STARTER_NAME
from engine.backends.scripted import ScriptedBackend
from store import connections, models
from store.tables import Model
from tests.engine.upstream import KEY, Upstream
from tests.ui.conftest import Home, Person
from tests.ui.test_connections import entered, texts
from tests.ui.using import click, one, told, trigger, until
from ui.components.answer import Answer
from ui.components.composer import Composer


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(about={"max_model_len": 8192}, wants_key=True)
    yield server
    server.close()


async def chat_with(home: Home, person: Person, model_id: str) -> str:
    sent = await home.services.chat.send(person.id, None, "Hello", model_id=model_id)
    generation = home.services.generations.get(sent.answer_id)
    assert generation is not None
    await until(lambda: generation.is_ended)
    return sent.conversation_id


async def num_messages(home: Home, person: Person, chat_id: str) -> int:
    return len(await home.services.conversations.thread(person.id, chat_id))


def says(tab: User, words: str) -> bool:
    return any(words in text for text in texts(tab))


@pytest.mark.parametrize("what", ["all", "one", "removed"])
async def test_a_model_elsewhere_that_is_switched_off(
    home: Home, ben: Person, upstream: Upstream, what: str
) -> None:
    service = home.services.connections
    await service.set_allowed(True)
    entry = await service.add(entered(upstream))
    chat_id = await chat_with(home, ben, "big")
    tab = await ben.at(f"/c/{chat_id}")
    assert KEY not in str(texts(tab)) and not says(tab, "not reachable")
    if what == "all":
        await service.set_allowed(False)
    elif what == "one":
        await service.set_on(entry.connection.id, False)
    else:
        await service.remove(entry.connection.id)
    reason = {
        "all": "big is not reachable: models elsewhere were switched off by an admin.",
        "one": "big is not reachable: Office was switched off by an admin.",
        "removed": "big is not reachable: no connection leads to it any more.",
    }[what]
    await until(lambda: says(tab, reason))
    before, num_asked = await num_messages(home, ben, chat_id), len(upstream.asked)
    trigger(one(tab, Composer), "send", "Are you there?")
    await until(lambda: _refusals(tab))
    assert await num_messages(home, ben, chat_id) == before
    assert not _accepted(tab)                               # what was typed stays in its field
    click(tab, f"Use {STARTER_NAME}")
    await until(lambda: not says(tab, reason))
    trigger(one(tab, Composer), "send", "Are you there?")
    await until(lambda: _accepted(tab))
    answer = (await home.services.conversations.thread(ben.id, chat_id))[-1].message
    assert answer.model_id == STARTER_ID and len(upstream.asked) == num_asked


async def test_a_connection_that_is_switched_on_again_answers_as_before(
    home: Home, ben: Person, upstream: Upstream
) -> None:
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ben.at(f"/c/{await chat_with(home, ben, 'big')}")
    await home.services.connections.set_allowed(False)
    await until(lambda: says(tab, "big is not reachable"))
    await home.services.connections.set_allowed(True)
    await until(lambda: not says(tab, "big is not reachable"))


async def test_what_the_command_line_switched_off_is_told_when_something_is_sent(
    home: Home, ben: Person, upstream: Upstream
) -> None:
    """By another process, a moment ago. The reason stands over the composer, and there alone."""
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ben.at(f"/c/{await chat_with(home, ben, 'big')}")
    await home.services.db.run(connections.set_allowed, False)
    trigger(one(tab, Composer), "send", "Are you there?")
    await until(lambda: says(tab, "big is not reachable: models elsewhere were switched off"))
    await until(lambda: _refusals(tab) and "Nothing was sent. Choose another model first." in _refusals(tab)[-1])
    assert not _accepted(tab)


async def with_other(home: Home) -> None:
    """A second model here, which can be removed."""
    home.shelf.makers["other"] = lambda: ScriptedBackend({"": "Well."})
    starter = await home.services.models.find(STARTER_ID)
    other = {"id": "other", "name": "Other", "quantisation": "Q8_0", "is_starter": False, "is_default": False}
    await home.services.db.run(models.upsert, Model(**{**starter.model_dump(), **other}))


async def test_a_model_here_that_is_removed(home: Home, ben: Person) -> None:
    await with_other(home)
    chat_id = await chat_with(home, ben, "other")
    tab = await ben.at(f"/c/{chat_id}")
    assert says(tab, "Other")
    await home.services.models.remove("other")
    reason = "Other was removed from this machine. Choose another model; an admin can add it again."
    await until(lambda: says(tab, reason))
    assert "Removed" in texts(tab) and "Not reachable" not in texts(tab)        # of models elsewhere
    new = await ben.at("/?model=other")         # a bookmark, say
    assert says(new, reason)
    trigger(one(new, Composer), "send", "Hello")
    await until(lambda: _refusals(new))
    click(new, f"Use {STARTER_NAME}")
    await until(lambda: not says(new, reason))
    await until(lambda: len(_refusals(new)) == 2)           # an empty one: what was said of the other is past


@pytest.mark.parametrize("path", ["/c/{chat}", "/?model=other"])
async def test_an_open_page_changes_when_its_model_comes(home: Home, ben: Person, path: str) -> None:
    await with_other(home)
    chat_id = await chat_with(home, ben, "other")
    await home.services.models.remove("other")
    tab = await ben.at(path.format(chat=chat_id))
    assert "Removed" in texts(tab)
    trigger(one(tab, Composer), "send", "Are you there?")
    await until(lambda: _refusals(tab))
    await with_other(home)
    home.services.changes.announce_all(Change("models"))        # as `ModelService.add` does
    await until(lambda: "Removed" not in texts(tab))
    await until(lambda: len(_refusals(tab)) == 2)           # an empty one
    assert "Other" in texts(tab)


async def test_a_model_that_was_never_here(home: Home, ben: Person) -> None:
    tab = await ben.at("/?model=unicorn")
    assert says(tab, "unicorn is not here, or no longer.") and "Not here" in texts(tab)


async def test_answers_keep_the_name_of_the_model_that_wrote_them(home: Home, ben: Person, upstream: Upstream) -> None:
    await with_other(home)
    service = home.services.connections
    await service.set_allowed(True)
    upstream.models = ("org/huge",)
    entry = await service.add(entered(upstream))
    chats = [await chat_with(home, ben, "other"), await chat_with(home, ben, "org/huge")]

    async def names() -> list[str]:
        tabs = [await ben.at(f"/c/{chat_id}") for chat_id in chats]
        return [one(tab, Answer).props["state"]["figures"]["model"] for tab in tabs]

    assert await names() == ["Other, Q8_0", "huge"]
    await service.set_on(entry.connection.id, False)
    await home.services.models.remove("other")
    assert await names() == ["Other, Q8_0", "huge"]
    await service.remove(entry.connection.id)
    assert await names() == ["Other, Q8_0", "huge"]


def _refusals(tab: User) -> list[str]:
    return told(tab, '"refuse"')


def _accepted(tab: User) -> list[str]:
    return told(tab, '"accept"')
