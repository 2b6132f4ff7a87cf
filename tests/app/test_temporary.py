"""Temporary chats: they do what chats do, are in nobody's database, and leave no byte in the data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import NotFound
from app.services.container import Services
from app.services.setup import ChatSetup
from engine.backends.scripted import Gate, ScriptedBackend
from store.tables import MessageStatus
from tests.app.conftest import COUNTING, PARIS
from tests.app.house import PASSWORD, Shelf, until
from tests.app.test_chat import put_listener, texts, written

SECRET = "the France plan Zephyrine-4711"


async def begin(services: Services, user_id: str, text: str = SECRET, **options: object) -> str:
    sent = await services.chat.send(user_id, None, text, is_temporary=True, **options)  # type: ignore[arg-type]
    await over(services, sent.answer_id)
    return sent.conversation_id


async def over(services: Services, answer_id: str) -> None:
    generation = services.generations.get(answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass


def holders(folder: Path, text: str) -> list[Path]:
    """The files that hold it, in any of the ways in which text is written."""
    spellings = [text.encode(), text.encode("utf-16-le")]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(each in path.read_bytes() for each in spellings)]


async def test_it_is_answered_and_goes_on_like_any_chat(services: Services, user_id: str, shelf: Shelf) -> None:
    prompts = await put_listener(services, shelf, "listener")
    setup = ChatSetup(system_prompt="Be brief.")
    chat = await begin(services, user_id, setup=setup)
    assert await texts(services, user_id, chat) == [SECRET, PARIS]
    sent = await services.chat.send(user_id, chat, "And now?", model_id="listener")
    await over(services, sent.answer_id)
    assert prompts == [f"system\nBe brief.\nuser\n{SECRET}\nassistant\n{PARIS}\nuser\nAnd now?\nassistant\n"]


async def test_stop_regenerate_edit_continue_and_branches_work(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    gate = Gate()
    await shelf.put(services, "slow", lambda: ScriptedBackend(COUNTING, gate=gate))
    sent = await services.chat.send(user_id, None, "Count", model_id="slow", is_temporary=True)
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    gate.allow(60)
    await written(generation, 5)
    await services.chat.stop(user_id, sent.answer_id)
    gate.open()
    answer = await services.chat.message(user_id, sent.answer_id)
    assert answer.status is MessageStatus.STOPPED
    assert COUNTING.startswith(answer.content)
    again = await services.chat.regenerate(user_id, sent.answer_id, model_id="parrot")
    await over(services, again.answer_id)
    edited = await services.chat.edit(user_id, sent.user_message_id, "France?")
    await over(services, edited.answer_id)
    assert await texts(services, user_id, sent.conversation_id) == ["France?", PARIS]
    await services.conversations.select_branch(user_id, sent.answer_id)
    assert (await texts(services, user_id, sent.conversation_id))[0] == "Count"
    await over(services, (await services.chat.continue_answer(user_id, again.answer_id)).answer_id)
    setup = ChatSetup(parameters={"stop": ["France"]}, model_id="parrot")
    await services.conversations.set_up(user_id, sent.conversation_id, setup)
    edited = await services.chat.edit(user_id, sent.user_message_id, "France!")
    await over(services, edited.answer_id)
    assert await texts(services, user_id, sent.conversation_id) == ["France!", "The capital of "]


async def test_an_answer_edited_in_its_midst_is_a_message_like_any_other(services: Services, user_id: str) -> None:
    chat = await begin(services, user_id)
    sent = await services.chat.send(user_id, chat, "And now?")
    await over(services, sent.answer_id)
    [_, first, *_] = await services.conversations.thread(user_id, chat)
    await services.chat.edit_answer(user_id, first.message.id, "Lyon.")
    assert await texts(services, user_id, chat) == [SECRET, "Lyon.", "And now?", PARIS]
    [_, edited, *_] = await services.conversations.thread(user_id, chat)
    assert (await services.chat.message(user_id, edited.message.id)).content == "Lyon."
    await services.chat.delete(user_id, edited.message.id)
    await services.chat.restore(user_id, edited.message.id)
    assert await texts(services, user_id, chat) == [SECRET, "Lyon.", "And now?", PARIS]


async def test_it_stands_in_no_list_and_no_search(services: Services, user_id: str) -> None:
    chat = await begin(services, user_id)
    assert services.temporary.holds(chat)
    assert await services.conversations.list_recent(user_id) == []
    assert await services.conversations.search(user_id, "Zephyrine") == []


async def test_nobody_else_sees_it(services: Services, user_id: str) -> None:
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    chat = await begin(services, user_id)
    [question, answer] = await services.conversations.thread(user_id, chat)
    await services.temporary.end(ben, chat)
    for attempt in (
        services.conversations.get(ben, chat), services.conversations.thread(ben, chat),
        services.chat.send(ben, chat, "Hi"), services.chat.message(ben, question.message.id),
        services.chat.regenerate(ben, answer.message.id), services.conversations.set_up(ben, chat, ChatSetup()),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert len(await services.conversations.thread(user_id, chat)) == 2


async def test_left_it_is_gone_and_what_was_being_written_stops(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    gate = Gate()
    await shelf.put(services, "slow", lambda: ScriptedBackend(COUNTING, gate=gate))
    kept = await begin(services, user_id, "Hi")
    sent = await services.chat.send(user_id, None, "Count", model_id="slow", is_temporary=True)
    await services.temporary.end(user_id, sent.conversation_id)
    gate.open()
    await until(lambda: services.generations.num_running == 0)
    for attempt in (
        services.conversations.thread(user_id, sent.conversation_id), services.chat.message(user_id, sent.answer_id)
    ):
        with pytest.raises(NotFound):
            await attempt
    assert not services.temporary.holds(sent.conversation_id)
    assert len(await services.conversations.thread(user_id, kept)) == 2
    await services.temporary.end(user_id, sent.conversation_id)      # twice is no error


async def test_no_byte_of_it_is_in_the_data_folder(services: Services, user_id: str) -> None:
    folder = services.settings.data_dir
    control = await services.chat.send(user_id, None, "a kept chat of Quillon-0815")
    await over(services, control.answer_id)
    chat = await begin(services, user_id)
    sent = await services.chat.send(user_id, chat, SECRET + " again")
    await over(services, sent.answer_id)
    assert holders(folder, "Quillon-0815") != []       # the search finds what is there
    assert holders(folder, "Zephyrine-4711") == []
    await services.temporary.end(user_id, chat)
    assert holders(folder, "Zephyrine-4711") == []
