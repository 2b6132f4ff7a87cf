"""What the sidebar asks for by itself: stretches of lists and searches, each its reader's own."""

from __future__ import annotations

from typing import Any

import pytest

from store.search import HIGHLIGHT_END, HIGHLIGHT_START
from tests.ui.conftest import Home, Person
from tests.ui.using import one, told, trigger, until
from ui.components.sidebar import ConversationList
from ui.components.toast import Toast


async def chats(person: Person, *titles: str) -> list[str]:
    made = [await person.home.services.conversations.create(person.id, title=title) for title in titles]
    return [conversation.id for conversation in made]


async def test_a_list_comes_in_stretches(ada: Person) -> None:
    ids = await chats(ada, "A", "B", "C")
    await ada.home.services.organise.tag(ada.id, ids[1:2], "work")
    async with ada.http() as browser:
        rows = (await browser.get("/ui/chats?place=days&offset=1&limit=1")).json()
        assert rows == [{"id": ids[1], "title": "B", "tags": ["work"]}]
        assert (await browser.get("/ui/chats?place=days&offset=-5&limit=100000")).json()[0]["title"] == "C"
        assert (await browser.get(f"/ui/chats?place=days&offset={10**30}")).json() == []
        assert (await browser.get("/ui/chats?place=nonsense")).status_code == 404
        assert (await browser.get("/ui/chats?place=folder:")).status_code == 404
        assert (await browser.get("/ui/chats?place=days&offset=x")).status_code == 400


async def test_a_chat_says_what_its_menu_offers(ada: Person) -> None:
    organise, ids = ada.home.services.organise, await chats(ada, "A", "B", "C")
    await organise.tag(ada.id, ids[:1], "work")
    async with ada.http() as browser:
        async def told_of(chat_id: str) -> dict[str, Any]:
            return dict((await browser.get(f"/ui/chats/{chat_id}")).json())

        plain = {"id": ids[0], "title": "A", "tags": ["work"], "pinned": False, "archived": False, "above": None}
        assert await told_of(ids[0]) == plain
        await organise.pin(ada.id, ids[:2])
        pinned = [row["id"] for row in (await browser.get("/ui/chats?place=pinned")).json()]
        assert [(await told_of(each))["above"] for each in pinned] == [None, pinned[0]]
        assert (await told_of(pinned[0]))["pinned"] is True
        await organise.archive(ada.id, ids[:1])
        assert await told_of(ids[0]) == plain | {"archived": True}
        await organise.delete(ada.id, ids[2:])
        assert (await browser.get(f"/ui/chats/{ids[2]}")).status_code == 404


async def test_a_search_answers_with_marks_and_the_message(ada: Person) -> None:
    sent = await ada.home.services.chat.send(ada.id, None, "What is the capital of France?")
    async with ada.http() as browser:
        found = (await browser.get("/ui/chats/search", params={"q": "capit from:me"})).json()
    (hit,) = found["hits"]
    assert (hit["id"], hit["message"], hit["archived"]) == (sent.conversation_id, sent.user_message_id, False)
    assert f"{HIGHLIGHT_START}capital{HIGHLIGHT_END}" in hit["snippet"]
    assert (found["more"], found["words"]) == (False, "capit")


async def test_nobody_sees_another_s_and_who_is_not_signed_in_nothing(home: Home, ada: Person, ben: Person) -> None:
    ids = await chats(ada, "Secret")
    folder, _ = await home.services.organise.create_folder(ada.id, "Private")
    await home.services.organise.move(ada.id, ids, folder.id)
    async with ben.http() as browser:
        assert (await browser.get(f"/ui/chats?place=folder:{folder.id}")).json() == []
        assert (await browser.get("/ui/chats/search?q=secret")).json()["hits"] == []
        assert (await browser.get(f"/ui/chats/{ids[0]}")).status_code == 404
    async with home.http() as nobody:
        for path in ("/ui/chats?place=days", "/ui/chats/search?q=secret", f"/ui/chats/{ids[0]}"):
            assert (await nobody.get(path, headers={"Accept": "*/*"})).status_code == 401


async def test_what_is_done_is_told_and_undone_here_and_in_other_tabs(ada: Person) -> None:
    ids = await chats(ada, "A", "B", "C")
    tab, other = await ada.at("/"), await ada.at("/")
    trigger(one(tab, ConversationList), "act", {"do": "create_folder", "name": "Work", "parent": None, "ids": ids[:2]})
    for each in (tab, other):
        await until(lambda each: _outline(each)["folders"] and _outline(each)["folders"][0]["count"] == 2, each)
    await until(lambda: told(tab, "Folder created"))
    trigger(one(tab, Toast), "act", "1")
    for each in (tab, other):
        await until(lambda each: _outline(each)["folders"] == [] and _outline(each)["days"][0]["count"] == 3, each)
    trigger(one(tab, ConversationList), "act", {"do": "archive", "ids": ids})
    await until(lambda: _outline(tab)["archived"] == 3 and told(tab, "3 chats archived"))
    trigger(one(tab, ConversationList), "undo")
    await until(lambda: _outline(tab)["archived"] == 0)


@pytest.mark.parametrize("act", [
    {}, {"do": "move"}, {"do": "move", "ids": ["x", 7], "folder": "y"}, {"do": "tag", "ids": ["x"]}, {"do": "explode"},
    {"do": "place_folder", "folder": None}, {"do": "create_folder", "name": " "},
])
async def test_nonsense_does_no_harm(ada: Person, act: dict[str, object]) -> None:
    await chats(ada, "A")
    tab = await ada.at("/")
    trigger(one(tab, ConversationList), "act", act)
    trigger(one(tab, ConversationList), "act", {"do": "create_folder", "name": "Work"})
    await until(lambda: len(_outline(tab)["folders"]) == 1)
    assert _outline(tab)["days"][0]["count"] == 1


async def test_titles_can_be_turned_off_in_the_settings(ada: Person) -> None:
    titles = ada.home.services.titles
    await titles.set_wanted(ada.id, True)
    tab = await ada.at("/settings")
    await tab.should_see("Names for chats")
    switch = next(each for each in tab.client.elements.values() if each.props.get("role") == "switch")  # type: ignore[union-attr]
    assert switch.props["aria-checked"] == "true"
    trigger(switch, "click")
    await until(lambda: switch.props["aria-checked"] == "false")
    while await titles.is_wanted(ada.id):
        pass


def _outline(tab: object) -> dict[str, Any]:
    return one(tab, ConversationList).props["outline"]        # type: ignore[arg-type, no-any-return]
