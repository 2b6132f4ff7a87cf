"""A chat's title comes from its model, costs nobody anything, and never replaces what a person wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.services.container import Services
from app.services.title_words import ASK, title_of
from app.settings import Settings
from engine.backends.scripted import Gate, ScriptedBackend
from engine.load import load_engine
from store import messages
from store.tables import Message, MessageStatus, TitleSource
from tests.app.house import PASSWORD, Shelf, until

PARIS = "The capital of France is Paris."
QUESTION = "What is the capital of France, and of which river does it tell?"


def speaker(title: str = 'France and its capital"', **shape: object) -> ScriptedBackend:
    return ScriptedBackend({ASK: title, "": PARIS}, **shape)       # type: ignore[arg-type]


@pytest.fixture
async def speaking(services: Services, shelf: Shelf) -> Services:
    await shelf.put(services, "speaker", speaker)
    return services


async def ask(services: Services, user_id: str, text: str = QUESTION, chat_id: str | None = None) -> Message:
    """The answer, after its chat's title was made or not."""
    sent = await services.chat.send(user_id, chat_id, text, model_id="speaker")
    await ended(services, sent.answer_id)
    await until(lambda: not services.titles.is_at_work)
    return await services.chat.message(user_id, sent.answer_id)


async def ended(services: Services, answer_id: str) -> None:
    generation = services.generations.get(answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass


async def title(services: Services, user_id: str, answer: Message) -> str:
    return (await services.conversations.get(user_id, answer.conversation_id)).title


async def test_the_model_names_a_chat_after_its_first_answer(speaking: Services, user_id: str) -> None:
    answer = await ask(speaking, user_id)
    chat = await speaking.conversations.get(user_id, answer.conversation_id)
    assert (chat.title, chat.title_source) == ("France and its capital", TitleSource.MODEL)


async def test_turn_two_finds_all_of_turn_one_in_the_cache(services: Services, shelf: Shelf, user_id: str) -> None:
    """Case 42: with a pool that holds a little more than the chat and its title, and with one that does not."""
    for num_blocks, named in ((40, True), (22, False)):
        name = f"speaker-{num_blocks}"
        await shelf.put(services, name, lambda num_blocks=num_blocks: speaker(num_blocks=num_blocks))    # type: ignore[misc]
        sent = await services.chat.send(user_id, None, QUESTION, model_id=name)
        await ended(services, sent.answer_id)
        await until(lambda: not services.titles.is_at_work)
        first = await services.chat.message(user_id, sent.answer_id)
        chat = await services.conversations.get(user_id, sent.conversation_id)
        assert (chat.title_source is TitleSource.MODEL) is named
        again = await services.chat.send(user_id, sent.conversation_id, "And?", model_id=name)
        await ended(services, again.answer_id)
        second = await services.chat.message(user_id, again.answer_id)
        assert first.prompt_tokens and first.completion_tokens and second.cached_tokens
        assert second.cached_tokens >= first.prompt_tokens + first.completion_tokens - 1    # its end mark


async def test_what_a_person_wrote_stays(services: Services, shelf: Shelf, user_id: str) -> None:
    gate = Gate()
    await shelf.put(services, "speaker", lambda: speaker(gate=gate))
    sent = await services.chat.send(user_id, None, QUESTION, model_id="speaker")
    await services.organise.rename(user_id, sent.conversation_id, "Mine")
    gate.open()
    await ended(services, sent.answer_id)
    await until(lambda: not services.titles.is_at_work)
    assert (await services.conversations.get(user_id, sent.conversation_id)).title == "Mine"
    assert shelf.backends["speaker"].steps[-1] == (1,), "not even asked for"


async def test_only_the_first_answer_names_and_only_once(speaking: Services, user_id: str) -> None:
    answer = await ask(speaking, user_id)
    with speaking.db.session() as session:
        found = messages.tree(session, user_id, answer.conversation_id)
        assert found is not None
        found[0].title, found[0].title_source = "First words", TitleSource.WORDS
    answer = await ask(speaking, user_id, "And of Spain?", answer.conversation_id)
    assert await title(speaking, user_id, answer) == "First words"


async def test_a_person_can_turn_it_off(speaking: Services, user_id: str) -> None:
    assert await speaking.titles.is_wanted(user_id)
    await speaking.titles.set_wanted(user_id, False)
    answer = await ask(speaking, user_id)
    assert await title(speaking, user_id, answer) == "What is the capital of France, and of which…"
    assert not await speaking.titles.is_wanted(user_id)


async def test_rubbish_leaves_the_first_words(services: Services, shelf: Shelf, user_id: str) -> None:
    await shelf.put(services, "speaker", lambda: speaker("three to six words, in its own"))
    answer = await ask(services, user_id)
    assert await title(services, user_id, answer) == "What is the capital of France, and of which…"


async def test_where_people_wait_the_title_waits_longer(services: Services, shelf: Shelf, user_id: str) -> None:
    gate = Gate()
    await shelf.put(services, "speaker", lambda: speaker(gate=gate, max_num_seqs=1))
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    sent = await services.chat.send(user_id, None, QUESTION, model_id="speaker")
    other = await services.chat.send(ben, None, "Count, please", model_id="speaker")
    gate.open()
    await ended(services, sent.answer_id)
    await ended(services, other.answer_id)
    for owner, each in ((user_id, sent), (ben, other)):
        assert (await services.chat.message(owner, each.answer_id)).status is MessageStatus.COMPLETE
    await until(lambda: not services.titles.is_at_work)
    for owner, conversation_id in ((user_id, sent.conversation_id), (ben, other.conversation_id)):
        assert (await services.conversations.get(owner, conversation_id)).title == "France and its capital"


@pytest.mark.parametrize(("written", "found"), [
    ("The capital of France", "The capital of France"),
    (" **Title: the Break Clause.** ", "The Break Clause"),
    ("Paris: A City of Love", "Paris: A City of Love"),
    ("", None),
    ("…?!", None),
    ("word " * 11, None),
    ("x" * 61, None),
    ("Three to six words, in the language of my first message", None),
    ("Sure, here is a title", None),
    ("The Ultimate Guide to the Ultimate Guide", None),
    ("go go go", None),
    ("<think>", None),
    ("Столица Франции", None),
])
def test_what_is_a_title_and_what_is_not(written: str, found: str | None) -> None:
    assert title_of(written, QUESTION) == found


def test_a_title_is_in_the_letters_of_its_chat() -> None:
    assert title_of("Столица Франции", "Какая столица у Франции?") == "Столица Франции"
    assert title_of("The capital of France", "Какая столица у Франции?") is None
    assert title_of("Sums", "1 + 1 = ?") == "Sums"


@pytest.mark.slow
async def test_the_starter_model_names_a_chat_and_turn_two_finds_turn_one(tmp_path: Path) -> None:
    """Case 42, with llama.cpp."""
    services = Services.open(Settings(data_dir=tmp_path / "data"), load_engine)
    try:
        await services.start()
        user_id = (await services.accounts.add_user("Anna", PASSWORD)).id
        sent = await services.chat.send(user_id, None, "How do I remove a red wine stain from a carpet?")
        await ended(services, sent.answer_id)
        await until(lambda: not services.titles.is_at_work)
        first = await services.chat.message(user_id, sent.answer_id)
        chat = await services.conversations.get(user_id, sent.conversation_id)
        assert chat.title_source is TitleSource.MODEL and "stain" in chat.title.casefold()
        again = await services.chat.send(user_id, sent.conversation_id, "And from wood?")
        await ended(services, again.answer_id)
        second = await services.chat.message(user_id, again.answer_id)
        assert first.prompt_tokens and first.completion_tokens and second.cached_tokens
        assert second.cached_tokens >= first.prompt_tokens + first.completion_tokens - 1
    finally:
        await services.stop()
        services.close()
