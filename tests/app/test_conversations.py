"""What a person does with their chats, and who hears of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from app.errors import InvalidInput, NotFound
from app.services.changes import Change, Changes
from app.services.conversations import NEW_TITLE, ConversationService, title_from
from app.services.organise import OrganiseService
from app.services.temporary import TemporaryChats
from store import accounts, answers, messages
from store.database import Database
from store.messages import Turn
from store.tables import MessageStatus, UserRole


class Announced(Changes):
    """Keeps what is announced, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, Change]] = []

    def announce(self, user_id: str, change: Change) -> None:
        self.heard.append((user_id, change))


@pytest.fixture
def changes() -> Announced:
    return Announced()


@pytest.fixture
def service(database: Database, changes: Announced) -> ConversationService:
    return ConversationService(database, TemporaryChats(database), changes)


@pytest.fixture
def organise(database: Database, service: ConversationService, changes: Announced) -> OrganiseService:
    return OrganiseService(database, service, changes)


def person(database: Database, name: str) -> str:
    user = database.run_sync(accounts.add_user, name, name, "a hash", UserRole.USER)
    assert user is not None
    return user.id


@pytest.fixture
def anna(database: Database) -> str:
    return person(database, "anna")


@pytest.fixture
def ben(database: Database) -> str:
    return person(database, "ben")


def start(database: Database, user_id: str, title: str = "Greetings") -> Turn:
    turn = database.run_sync(messages.start_conversation, user_id, title, "Hello?", model_id="m")
    database.run_sync(answers.finish, turn.answer.id, MessageStatus.COMPLETE, content="Hello!")
    return turn


async def test_a_new_chat_is_listed_and_announced(service: ConversationService, changes: Announced, anna: str) -> None:
    chat = await service.create(anna, "m")
    assert (chat.title, chat.model_id) == (NEW_TITLE, "m")
    assert [row.id for row in await service.list_recent(anna)] == [chat.id]
    assert await service.thread(anna, chat.id) == []
    assert changes.heard == [(anna, Change("conversations", chat.id))]


async def test_a_thread_tells_which_version_of_each_message_is_shown(
    database: Database, service: ConversationService, changes: Announced, anna: str
) -> None:
    turn = start(database, anna)
    again = database.run_sync(messages.add_answer, anna, turn.answer.id, model_id="m")
    assert again is not None
    question, answer = await service.thread(anna, turn.conversation.id)
    assert (question.message.content, question.sibling_index, len(question.sibling_ids)) == ("Hello?", 0, 1)
    assert (answer.message.id, answer.sibling_index) == (again.answer.id, 1)
    assert answer.sibling_ids == (turn.answer.id, again.answer.id)

    await service.select_branch(anna, turn.answer.id)
    assert (await service.thread(anna, turn.conversation.id))[-1].message.content == "Hello!"
    assert changes.heard == [(anna, Change("thread", turn.conversation.id))]


async def test_a_title_becomes_one_clean_line(
    database: Database, service: ConversationService, organise: OrganiseService, anna: str
) -> None:
    chat_id = start(database, anna).conversation.id
    await organise.rename(anna, chat_id, "  Two\nlines\0 👨‍👩‍👧  ")
    assert (await service.get(anna, chat_id)).title == "Two lines 👨‍👩‍👧"
    await organise.rename(anna, chat_id, "x" * 1000)
    assert len((await service.get(anna, chat_id)).title) == 200
    with pytest.raises(InvalidInput) as error:
        await organise.rename(anna, chat_id, " \n ")
    assert error.value.field == "title"


async def test_a_deleted_chat_can_be_brought_back_with_its_text(
    database: Database, service: ConversationService, organise: OrganiseService, changes: Announced, anna: str
) -> None:
    chat_id = start(database, anna).conversation.id
    stopped: list[tuple[str, str]] = []
    service.on_deleted(lambda user_id, conversation_id: stopped.append((user_id, conversation_id)))
    before = await organise.delete(anna, [chat_id])
    assert await service.list_recent(anna) == []
    assert await service.search(anna, "hello") == []
    with pytest.raises(NotFound):
        await service.thread(anna, chat_id)
    assert stopped == [(anna, chat_id)]

    await organise.undo(anna, before)
    assert [part.message.content for part in await service.thread(anna, chat_id)] == ["Hello?", "Hello!"]
    assert changes.heard == [(anna, Change("conversations", chat_id))] * 2


async def test_what_was_deleted_long_ago_is_purged(
    database: Database, service: ConversationService, organise: OrganiseService, anna: str
) -> None:
    chat_id = start(database, anna).conversation.id
    before = await organise.delete(anna, [chat_id])
    assert await service.purge_deleted(timedelta(days=1)) == 0
    assert await service.purge_deleted(timedelta(0)) == 1
    with pytest.raises(NotFound):
        await organise.undo(anna, before)


async def test_search_finds_messages_and_titles(database: Database, service: ConversationService, anna: str) -> None:
    start(database, anna, "Breakfast")
    assert [hit.title for hit in await service.search(anna, "hel")] == ["Breakfast"]
    assert [hit.title for hit in await service.search(anna, "break")] == ["Breakfast"]


async def test_anothers_chats_do_not_exist(
    database: Database, service: ConversationService, organise: OrganiseService, changes: Announced, anna: str, ben: str
) -> None:
    turn = start(database, ben)
    chat_id = turn.conversation.id
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: service.get(anna, chat_id),
        lambda: service.thread(anna, chat_id),
        lambda: service.thread(anna, chat_id, turn.answer.id),
        lambda: organise.rename(anna, chat_id, "Mine"),
        lambda: organise.delete(anna, [chat_id]),
        lambda: service.select_branch(anna, turn.answer.id),
    ]
    for attempt in attempts:
        with pytest.raises(NotFound):
            await attempt()
    assert await service.list_recent(anna) == []
    assert await service.search(anna, "hello") == []
    assert changes.heard == []
    assert (await service.get(ben, chat_id)).title == "Greetings"


@pytest.mark.parametrize(("text", "title"), [
    ("What is the capital of France?", "What is the capital of France?"),
    ("  What\n is\tthe   capital? ", "What is the capital?"),
    ("", NEW_TITLE),
    (" \n\0 ", NEW_TITLE),
    ("Explain to me, in simple words, how a refrigerator keeps things cold", "Explain to me, in simple words, how a…"),
    ("x" * 100, "x" * 48 + "…"),
    ("a " + "x" * 100, "a " + "x" * 46 + "…"),
    ("123456789 123456789 123456789 123456789 12345678 next", "123456789 123456789 123456789 123456789 12345678…"),
    ("漢字" * 40, "漢字" * 24 + "…"),
    ("\ud800 broken", "broken"),
])
def test_a_title_is_made_of_the_first_words(text: str, title: str) -> None:
    assert title_from(text) == title
