"""The chat page, built for real and used without a browser: what follows a click, and what other tabs see."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import httpx
import pytest
from nicegui.element import Element
from nicegui.testing import User

from app.services.changes import Change
from engine.backends.scripted import Gate, ScriptedBackend
from store import messages, organise, tables
from store.errors import DatabaseUnusable
from store.tables import Message, MessageRole
from tests.ui.conftest import PARIS, URL, Home, Person
from tests.ui.using import click, elements, has, one, told, trigger, until
from ui.chat.chats import ChatList
from ui.chat.reading import read_chat
from ui.chat.talk import TalkRoom
from ui.components.answer import Answer
from ui.components.composer import Composer
from ui.components.said import Said
from ui.components.sidebar import ConversationList
from ui.components.thread import NUM_SHOWN, Thread
from ui.components.toast import Toast

QUESTION = "What is the capital of France?"


def _answers(tab: User) -> list[dict[str, Any]]:
    return [element.props for element in _in_order(tab) if isinstance(element, Answer)]


def _bubbles(tab: User) -> list[str]:
    return [element.props["content"] for element in _in_order(tab) if isinstance(element, Said)]


def _in_order(tab: User) -> list[Any]:
    return list(one(tab, Thread).descendants()) if has(tab, Thread) else []


def _num_listed(tab: User) -> int:
    """Chats under their days; their titles the browser asks for by itself."""
    return sum(group["count"] for group in one(tab, ConversationList).props["outline"]["days"])


async def _titles(person: Person) -> list[str]:
    async with person.http() as browser:
        return [row["title"] for row in (await browser.get("/ui/chats?place=days")).json()]


def _say(tab: User, text: str) -> None:
    trigger(one(tab, Composer), "send", text)


async def _ask(tab: User, text: str = QUESTION) -> None:
    """Say it, and wait for the end of the answer."""
    _say(tab, text)
    await until(lambda: text in _bubbles(tab) and _answers(tab)[-1]["state"]["status"] != "streaming")


async def test_an_empty_page_greets_and_names_the_starter_model(ada: Person) -> None:
    tab = await ada.at("/")
    await tab.should_see("What shall we work on?")
    await tab.should_see("SmolLM2 135M Instruct")
    await tab.should_see("small starter model")
    await tab.should_see("Nothing you write leaves this computer.")
    click(tab, "Write a letter")
    await until(lambda: told(tab, '"fill"'))
    assert _num_listed(tab) == 0


async def test_a_chat_that_is_read_while_it_changes_is_filled_once_and_shows_what_came(
    ben: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filled twice, it took the focus and an open editor along, a moment after its reader had begun to use them."""
    filled: list[str | None] = []
    num_reads = 0
    changed, ended = asyncio.Event(), asyncio.Event()

    def fill(room: TalkRoom, conversation: tables.Conversation | None, **known: bool) -> None:
        filled.append(conversation.id if conversation else None)
        fill_it(room, conversation, **known)

    async def read_late(*args: Any) -> Any:
        nonlocal num_reads
        num_reads += 1
        is_first = num_reads == 1
        read = await read_chat(*args)
        if is_first:
            await changed.wait()            # it changed meanwhile, and the page has looked
            ended.set()
        else:
            changed.set()
        return read

    fill_it = TalkRoom.fill
    tab = await ben.at("/")
    monkeypatch.setattr(TalkRoom, "fill", fill)
    monkeypatch.setattr("ui.pages.chat.read_chat", read_late)
    await _ask(tab)
    assert ended.is_set()
    await until(lambda: _answers(tab)[-1]["state"]["status"] == "complete")
    assert len(filled) == 1


async def test_only_admins_are_led_to_the_page_of_models(ada: Person, ben: Person) -> None:
    def leads_there(tab: User) -> bool:
        assert tab.client is not None
        return any(str(each.props.get("href", "")).startswith("/models") for each in tab.client.elements.values())

    assert leads_there(await ada.at("/"))
    assert not leads_there(await ben.at("/"))


async def test_a_first_message_begins_a_chat_that_has_a_title_and_an_answer(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    assert _bubbles(tab) == [QUESTION]
    (answer,) = _answers(tab)
    assert answer["state"]["status"] == "complete"
    assert answer["last"] is True
    (conversation,) = await ada.home.services.conversations.list_recent(ada.id)
    assert conversation.title == QUESTION
    await until(lambda: _num_listed(tab) == 1)
    assert await _titles(ada) == [QUESTION]
    assert one(tab, ConversationList).props["active"] == conversation.id
    await until(lambda: told(tab, f"/c/{conversation.id}"))      # the address, without a new page
    again = await ada.at(f"/c/{conversation.id}")
    assert _answers(again)[0]["content"] == PARIS


async def test_while_an_answer_is_written_send_is_stop_in_every_tab(home: Home, ada: Person) -> None:
    gate = Gate()
    await home.shelf.put(home.services, "slow", lambda: ScriptedBackend("Once upon a time " * 50, gate=gate))
    await home.services.models.set_default("slow")
    tab = await ada.at("/")
    _say(tab, "Tell me a story.")
    await until(lambda: has(tab, Thread))
    (conversation,) = await home.services.conversations.list_recent(ada.id)
    other = await ada.at(f"/c/{conversation.id}")
    for each in (tab, other):
        assert one(each, Composer).props["writing"] is True
        assert len(one(each, ConversationList).props["writing"]) == 1
        assert _answers(each)[0]["content"] == ""           # the stream brings it
    gate.open()
    trigger(one(other, Composer), "stop")
    for each in (tab, other):
        await until(lambda each: one(each, Composer).props["writing"] is False, each)
        assert _answers(each)[0]["state"]["status"] == "stopped"
        await until(lambda each: not one(each, ConversationList).props["writing"], each)
    trigger(one(tab, Answer), "continue")
    await until(lambda: one(other, Composer).props["writing"] is True)
    assert len(_answers(other)) == 1                        # the same message goes on


async def test_what_cannot_be_sent_stays_in_the_field_with_the_reason(home: Home, ada: Person) -> None:
    tab = await ada.at("/")
    _say(tab, "half an emoji \ud83d")
    await until(lambda: told(tab, '"refuse"'))
    assert "broken character" in told(tab, '"refuse"')[0]
    assert not told(tab, '"accept"')
    assert await home.services.conversations.list_recent(ada.id) == []


async def test_a_database_that_takes_nothing_is_told_where_it_was_written_to(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_values: object) -> None:
        raise DatabaseUnusable("The disk is full.")

    tab = await ada.at("/")
    await _ask(tab)
    monkeypatch.setattr(messages, "add_turn", full)
    _say(tab, "And of Spain?")
    await until(lambda: told(tab, '"refuse"'))
    assert "The disk is full." in told(tab, '"refuse"')[0]

    monkeypatch.setattr(organise, "archive", full)
    assert tab.client is not None
    trigger(one(tab, ConversationList), "act", {"do": "archive", "ids": [tab.client.page.path.rpartition("/")[2]]})
    await until(lambda: told(tab, '"show"'))
    assert "The disk is full." in told(tab, '"show"')[0]


async def test_trying_again_makes_a_version_that_one_can_turn_back_from(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    first_id = _answers(tab)[0]["messageId"]
    trigger(one(tab, Answer), "again")
    await until(lambda: _answers(tab)[0]["versions"] == 2 and _answers(tab)[0]["state"]["status"] == "complete")
    assert _answers(tab)[0]["version"] == 2
    assert _answers(tab)[0]["messageId"] != first_id
    trigger(one(tab, Answer), "branch", -1)
    await until(lambda: _answers(tab)[0]["version"] == 1)
    assert _answers(tab)[0]["messageId"] == first_id
    trigger(one(tab, Answer), "branch", -1)                  # there is none before
    assert _answers(tab)[0]["version"] == 1


async def test_an_edit_that_cannot_be_taken_stays_in_its_field_with_the_reason(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    for kind in (Said, Answer):
        trigger(one(tab, kind), "edit", "half an emoji \ud83d")
    await until(lambda: len(told(tab, '"refuse"')) == 2)
    assert "broken character" in told(tab, '"refuse"')[0]
    assert len(_answers(tab)) == 1


async def test_a_message_said_otherwise_is_asked_anew_and_an_answer_takes_its_readers_text(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    trigger(one(tab, Said), "edit", "Say hello")
    await until(lambda: _bubbles(tab) == ["Say hello"] and _answers(tab)[0]["state"]["status"] == "complete")
    assert one(tab, Said).props["versions"] == 2
    trigger(one(tab, Answer), "edit", "My own words")
    await until(lambda: _answers(tab)[0]["content"] == "My own words")
    assert (_answers(tab)[0]["version"], _answers(tab)[0]["state"]["edited"]) == (2, True)


async def test_a_deleted_message_is_brought_back_by_undo(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    await _ask(tab, "And again?")
    message_id = elements(tab, Said)[-1].props["messageId"]
    trigger(elements(tab, Said)[-1], "remove")
    await until(lambda: _bubbles(tab) == [QUESTION])
    trigger(elements(tab, Toast)[-1], "act", message_id)
    await until(lambda: _bubbles(tab) == [QUESTION, "And again?"])


async def test_a_message_without_an_answer_gets_one(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    trigger(one(tab, Answer), "remove")
    await until(lambda: _answers(tab) == [] and one(tab, Said).props["unanswered"])
    trigger(one(tab, Said), "answer")
    await until(lambda: bool(_answers(tab)) and _answers(tab)[0]["state"]["status"] == "complete")


async def test_an_answer_is_tried_again_with_another_model(home: Home, ada: Person) -> None:
    await home.shelf.put(home.services, "other", "From another.")
    tab = await ada.at("/")
    await _ask(tab)
    await until(lambda: "other" in [model["id"] for model in one(tab, Thread).props["models"]])
    trigger(one(tab, Answer), "again", "other")
    await until(lambda: _answers(tab)[0]["versions"] == 2 and _answers(tab)[0]["state"]["status"] == "complete")
    assert _answers(tab)[0]["state"]["figures"]["model"] == "Other"


async def test_the_page_marks_what_the_model_no_longer_sees_and_its_meter_warns(home: Home, ada: Person) -> None:
    await home.shelf.put(home.services, "small", lambda: ScriptedBackend("Yes.", max_model_len=512))
    await home.services.models.set_default("small")
    tab = await ada.at("/")
    for number in range(10):
        await _ask(tab, f"Turn {number}:" + " word" * 8)
    said = [each for each in _in_order(tab) if isinstance(each, Said)]
    marked = [each.props["limit"] for each in said if each.props["limit"]]
    assert marked == [{"text": "The model no longer sees what stands above", "summary": ""}]
    await until(lambda: any("nk-meter warn" in " ".join(each.classes) for each in elements(tab, Element)))
    again = await ada.at("/c/" + one(tab, ConversationList).props["active"])       # and after a reload
    said = [each for each in _in_order(again) if isinstance(each, Said)]
    assert [each.props["limit"] for each in said if each.props["limit"]] == marked


async def test_a_second_tab_sees_new_messages_and_chats_without_a_reload(ada: Person) -> None:
    tab, other = await ada.at("/"), await ada.at("/")
    await _ask(tab)
    await until(lambda: _num_listed(other) == 1)
    (conversation,) = await ada.home.services.conversations.list_recent(ada.id)
    trigger(one(other, ConversationList), "open", {"id": conversation.id})
    await until(lambda: has(other, Thread) and _bubbles(other))
    await _ask(tab, "And again?")
    await until(lambda: _bubbles(other) == [QUESTION, "And again?"])


async def test_what_is_too_long_for_the_model_says_what_to_do_and_offers_no_second_try(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab, "word " * 2000 + "word")
    (answer,) = _answers(tab)
    assert answer["state"]["status"] == "failed"
    assert answer["state"]["hopeless"]
    assert "Shorten it" in answer["state"]["error"]
    await _ask(tab)
    assert [each["state"]["hopeless"] for each in _answers(tab)] == [True, False]


async def test_nobody_elses_page_hears_of_it(ada: Person, ben: Person) -> None:
    tab, other = await ada.at("/"), await ben.at("/")
    await _ask(tab)
    assert _num_listed(other) == 0


async def test_another_persons_chat_is_not_there(ada: Person, ben: Person) -> None:
    sent = await ada.home.services.chat.send(ada.id, None, QUESTION)
    async with ben.http() as browser:
        theirs = await browser.get(f"/c/{sent.conversation_id}")
        none = await browser.get("/c/nonsense")
    assert theirs.status_code == none.status_code == 404
    assert "This chat is not here" in theirs.text and "France" not in theirs.text


async def test_deleting_leaves_the_chat_and_can_be_undone(ada: Person) -> None:
    tab = await ada.at("/")
    await _ask(tab)
    (conversation,) = await ada.home.services.conversations.list_recent(ada.id)
    other = await ada.at(f"/c/{conversation.id}")
    trigger(one(tab, ConversationList), "act", {"do": "delete", "ids": [conversation.id]})
    await until(lambda: _num_listed(tab) == 0 and not has(tab, Thread))
    await tab.should_see("What shall we work on?")
    await other.should_see("This chat is not here", retries=10)
    await until(lambda: told(tab, "Undo"))
    trigger(one(tab, Toast), "act", "1")
    for each in (tab, other):                               # as if nothing had been, in both
        await until(lambda each: _bubbles(each) == [QUESTION] and _num_listed(each) == 1, each)


async def test_what_was_deleted_elsewhere_already_is_not_said_to_be_deleted_here(ada: Person) -> None:
    tab = await ada.at("/")
    trigger(one(tab, ConversationList), "act", {"do": "delete", "ids": ["nonsense"]})
    await until(lambda: told(tab, "There is no such chat, folder or tag."))
    assert not told(tab, "Undo")


async def test_of_two_quick_clicks_the_last_is_shown(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    services = ada.home.services
    slow, quick = [(await services.conversations.create(ada.id, title=title)).id for title in ("Slow", "Quick")]
    tab = await ada.at("/")
    get, may_go_on = services.conversations.get, asyncio.Event()

    async def reluctant_get(user_id: str, conversation_id: str) -> tables.Conversation:
        found = await get(user_id, conversation_id)
        if conversation_id == slow:
            await may_go_on.wait()
        return found

    monkeypatch.setattr(services.conversations, "get", reluctant_get)
    sidebar = one(tab, ConversationList)
    trigger(sidebar, "open", {"id": slow})
    trigger(sidebar, "open", {"id": quick})
    await until(lambda: sidebar.props["active"] == quick)
    may_go_on.set()
    trigger(one(tab, Composer), "send", QUESTION)           # goes to the chat that is shown
    await until(lambda: _bubbles(tab) == [QUESTION])
    assert sidebar.props["active"] == quick
    assert len(await services.conversations.thread(ada.id, quick)) == 2


async def test_a_new_title_is_shown_everywhere(ada: Person) -> None:
    tab, other = await ada.at("/"), await ada.at("/")
    await _ask(tab)
    (conversation,) = await ada.home.services.conversations.list_recent(ada.id)
    trigger(one(other, ConversationList), "rename", {"id": conversation.id, "title": "Capitals"})
    page = tab.client
    assert page is not None
    await until(lambda: page.title == "Capitals · Inglenook")


async def test_what_the_list_cannot_do_is_told_where_a_phone_shows_it(home: Home, ada: Person) -> None:
    """Not in the composer, over which the list lies there."""
    conversation = await home.services.conversations.create(ada.id, title="Heating")
    tab = await ada.at(f"/c/{conversation.id}")
    trigger(one(tab, ConversationList), "rename", {"id": conversation.id, "title": "\u3164\u2800"})
    await until(lambda: told(tab, "Give the chat a title."))
    assert '"show"' in told(tab, "Give the chat a title.")[0] and not told(tab, '"refuse"')
    assert (await home.services.conversations.get(ada.id, conversation.id)).title == "Heating"


async def test_a_chat_of_a_thousand_messages_opens_with_the_last_ones(home: Home, ada: Person) -> None:
    conversation = await home.services.conversations.create(ada.id)
    await home.services.db.run(_fill, conversation.id, 1000)
    tab = await ada.at(f"/c/{conversation.id}")
    assert len(_answers(tab)) + len(_bubbles(tab)) == NUM_SHOWN
    assert _bubbles(tab)[-1] == "Question 998"
    click(tab, "Show earlier messages")
    await until(lambda: len(_bubbles(tab)) == NUM_SHOWN)
    assert _bubbles(tab) == [f"Question {number}" for number in range(1000 - 2 * NUM_SHOWN, 1000, 2)]


def _fill(session: Any, conversation_id: str, num_messages: int) -> None:
    parent_id = None
    for number in range(num_messages):
        is_question = number % 2 == 0
        message = Message(
            conversation_id=conversation_id, parent_id=parent_id,
            role=MessageRole.USER if is_question else MessageRole.ASSISTANT,
            content=f"Question {number}" if is_question else f"Answer {number}",
        )
        session.add(message)
        session.flush()
        parent_id = message.id
    session.get_one(tables.Conversation, conversation_id).current_message_id = parent_id


async def test_a_fault_of_ours_is_told_kindly(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(ada.home.services.listing, "outline", broken)
    transport = httpx.ASGITransport(ada.home.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=URL, cookies=ada.cookies) as browser:
        page = await browser.get("/")
    assert page.status_code == 500
    assert "Something broke here" in page.text and "secret detail" not in page.text


async def test_an_unknown_address_says_so(ada: Person) -> None:
    async with ada.http() as browser:
        page = await browser.get("/nowhere")
    assert page.status_code == 404
    assert "There is no page at this address." in page.text and 'href="/"' in page.text


@pytest.mark.parametrize("kind", ["downloads", "benchmarks"])
async def test_what_is_told_often_and_not_shown_is_not_looked_up(
    home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch, kind: Literal["downloads", "benchmarks"]
) -> None:
    reads: list[str] = []

    async def counted(self: ChatList, *, is_first: bool = False) -> None:
        reads.append("list")

    await ada.at("/")
    monkeypatch.setattr(ChatList, "read", counted)
    home.services.changes.announce_all(Change(kind))
    for _ in range(20):         # far more turns than a page needs to begin
        await asyncio.sleep(0)
    assert reads == []
    home.services.changes.announce_all(Change("conversations"))
    await until(lambda: reads)
