"""Chats as files on the settings page: what runs, how it ended, and what was skipped."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from nicegui.element import Element
from nicegui.testing import User

from app.services.imports import Import
from tests.app.elsewhere import chatgpt_conversation
from tests.ui.conftest import Home, Person
from tests.ui.using import click, elements, one, trigger, until
from ui.components.answer import Answer
from ui.components.file_drop import FileDrop
from ui.components.thread import Thread


def _texts(tab: User) -> list[str]:
    return [
        text for element in elements(tab, Element)
        if all(each.visible for each in (element, *element.ancestors())) and (text := getattr(element, "text", None))
    ]


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _bring(home: Home, person: Person, entries: list[object]) -> None:
    data = json.dumps(entries).encode()
    await home.services.imports.receive(person.id, "chats.json", _pieces(data), num_bytes=len(data))


def _latest(home: Home, person: Person) -> Import:
    latest = home.services.imports.latest(person.id)
    assert latest is not None
    return latest


async def test_every_tab_sees_the_end_of_an_import_and_what_was_skipped(home: Home, ada: Person, ben: Person) -> None:
    tab, other, bens = await ada.at("/settings"), await ada.at("/settings"), await ben.at("/settings")
    await _bring(home, ada, [chatgpt_conversation(), {"title": "Broken", "mapping": {}}])
    for each in (tab, other):
        await until(lambda each: "Imported." in _texts(each), each)
        assert " 1 chat added." in _texts(each)
        assert {"1 skipped, and why", "Broken", "Entry 2: It holds no messages."} <= {*_texts(each)}
        assert one(each, FileDrop)._props["busy"] is False
    assert "Imported." not in _texts(bens)
    click(tab, "Hide")
    await until(lambda: "Imported." not in _texts(other))


async def test_a_running_import_is_shown_to_who_comes_later_and_can_be_cancelled(home: Home, ada: Person) -> None:
    await _bring(home, ada, [chatgpt_conversation(f"c{number}") for number in range(3_000)])
    tab = await ada.at("/settings")
    assert "Reading chats.json" in _texts(tab)
    assert one(tab, FileDrop)._props["busy"] is True
    click(tab, "Cancel")
    await until(lambda: "Cancelled." in _texts(tab))


async def test_an_open_chat_shows_what_an_import_has_added_to_it(home: Home, ada: Person) -> None:
    whole = chatgpt_conversation()
    part = chatgpt_conversation() | {"current_node": "a1"}
    part["mapping"]["a1"]["children"] = []
    for later in ("q2", "v1", "v2", "a3"):
        del part["mapping"][later]
    await _bring(home, ada, [part])
    await until(lambda: not _latest(home, ada).is_running)
    (chat,) = await home.services.conversations.list_recent(ada.id)
    tab = await ada.at(f"/c/{chat.id}")
    assert len(elements(tab, Answer)) == 1
    await _bring(home, ada, [whole])
    await until(lambda: len(elements(tab, Answer)) == 2)


async def test_only_an_admin_is_told_which_setting_limits_the_size(ada: Person, ben: Person) -> None:
    (admins,) = [text for text in _texts(await ada.at("/settings")) if "Up to" in text]
    (others,) = [text for text in _texts(await ben.at("/settings")) if "Up to" in text]
    assert "2.0 GiB" in admins and "2.0 GiB" in others
    assert "import_max_bytes" in admins and "import_max_bytes" not in others


async def test_a_chat_can_be_printed_as_a_whole(home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = await home.services.chat.send(ada.id, None, "The capital of France?")
    tab = await ada.at(f"/c/{sent.conversation_id}")
    called: list[tuple[str, int]] = []
    monkeypatch.setattr(one(tab, Thread), "run_method", lambda name, number: called.append((name, number)))
    (sidebar,) = [element for element in elements(tab, Element) if type(element).__name__ == "ConversationList"]
    trigger(sidebar, "print", sent.conversation_id)
    await until(lambda: called == [("print", 2)])
