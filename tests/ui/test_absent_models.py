"""A chat whose model cannot be asked any more says so, and sends nothing to another before a person has chosen one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nicegui.testing import User

from app.services.models import STARTER_ID, STARTER_NAME
from engine.backends.scripted import ScriptedBackend
from store import connections, models
from store.tables import Model
from tests.engine.upstream import KEY, Upstream
from tests.ui.conftest import Home, Person
from tests.ui.test_connections import entered, texts
from tests.ui.using import click, one, told, trigger, until
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
        "removed": "big is not here, or no longer.",
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
    """Another process: nobody tells the page."""
    await home.services.connections.set_allowed(True)
    await home.services.connections.add(entered(upstream))
    tab = await ben.at(f"/c/{await chat_with(home, ben, 'big')}")
    await home.services.db.run(connections.set_allowed, False)
    trigger(one(tab, Composer), "send", "Are you there?")
    await until(lambda: says(tab, "big is not reachable: models elsewhere were switched off"))
    assert not _accepted(tab)


async def test_a_model_here_that_is_removed(home: Home, ben: Person) -> None:
    home.shelf.makers["other"] = lambda: ScriptedBackend({"": "Well."})
    starter = await home.services.models.find(STARTER_ID)
    other = Model(**{**starter.model_dump(), "id": "other", "name": "Other", "is_starter": False, "is_default": False})
    await home.services.db.run(models.upsert, other)
    chat_id = await chat_with(home, ben, "other")
    tab = await ben.at(f"/c/{chat_id}")
    assert says(tab, "Other")
    await home.services.models.remove("other")
    await until(lambda: says(tab, "other is not here, or no longer."))
    new = await ben.at("/?model=other")         # a bookmark, say
    assert says(new, "other is not here, or no longer.")
    trigger(one(new, Composer), "send", "Hello")
    await until(lambda: _refusals(new))
    click(new, f"Use {STARTER_NAME}")
    await until(lambda: not says(new, "other is not here"))
    await until(lambda: len(_refusals(new)) == 2)           # an empty one: what was said of the other is past


def _refusals(tab: User) -> list[str]:
    return told(tab, '"refuse"')


def _accepted(tab: User) -> list[str]:
    return told(tab, '"accept"')
