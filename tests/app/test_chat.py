"""What a person does in a chat, from the first message to the saved answer, over real services and scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from app.errors import Conflict, InvalidInput, ModelNotFound, ModelUnavailable, NotFound
from app.language import said_again
from app.schemas import ThreadMessage
from app.services.chat import Sent
from app.services.container import Services
from app.services.generation import Generation, GenerationState
from engine.backends.scripted import Gate, ScriptedBackend
from engine.backends.scripted_tokenizer import THINKING_TEMPLATE, ByteTokenizer
from store.tables import Message, MessageRole, MessageStatus
from tests.app.conftest import COUNTING, PARIS
from tests.app.house import PASSWORD, Shelf, turn, until
from tests.engine.scripted_embedder import ScriptedEmbedder

QUESTION = "What is the capital of France?"


async def ended(services: Services, sent: Sent) -> Message:
    """The answer as the store has it when it is over."""
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass
    return await stored(services, sent)


async def stored(services: Services, sent: Sent) -> Message:
    return await services.db.read(lambda session: session.get_one(Message, sent.answer_id))


async def begun(services: Services, user_id: str, gate: Gate) -> tuple[Sent, Generation]:
    """An answer that counts, of which ten letters are there and two more may come."""
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    gate.allow(12)
    await written(generation, 10)
    return sent, generation


async def written(generation: Generation, num_characters: int) -> None:
    async for _ in generation.follow():
        if len(generation.text) >= num_characters:
            return


@pytest_asyncio.fixture
async def gate(services: Services, shelf: Shelf) -> AsyncIterator[Gate]:
    """Of the model `slow`, which counts to 199, a character a step."""
    gate = Gate()
    await shelf.put(services, "slow", lambda: ScriptedBackend(COUNTING, gate=gate))
    yield gate
    gate.open()


async def texts(services: Services, user_id: str, conversation_id: str) -> list[str]:
    return [each.message.content for each in await services.conversations.thread(user_id, conversation_id)]


async def put_listener(services: Services, shelf: Shelf, model_id: str, *, max_model_len: int = 4096) -> list[str]:
    """A model that says nothing; the list fills with what it was given to read."""
    prompts: list[str] = []

    def listen(token_ids: Sequence[int], num_prompt_tokens: int) -> int:
        prompts.append(bytes(token for token in token_ids[:num_prompt_tokens] if token < 256).decode())
        return ByteTokenizer().end_of_turn_id

    await shelf.put(services, model_id, lambda: ScriptedBackend(listen, max_model_len=max_model_len))
    return prompts


# --- sending ---------------------------------------------------------------------------------------------------------


async def test_a_first_message_begins_a_titled_chat_and_is_answered(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, QUESTION)
    answer = await ended(services, sent)
    assert (answer.content, answer.status, answer.finish_reason) == (PARIS, MessageStatus.COMPLETE, "stop")
    assert answer.model_id == "parrot"
    assert answer.model_version == "parrot.gguf, 1 bytes, 1"
    assert answer.completion_tokens is not None
    assert answer.completion_tokens >= len(PARIS)
    assert answer.prompt_tokens is not None
    assert 0 <= (answer.time_to_first_token_s or -1) <= (answer.duration_s or -1)
    [conversation] = await services.conversations.list_recent(user_id)
    assert (conversation.id, conversation.title) == (sent.conversation_id, QUESTION)
    assert await texts(services, user_id, sent.conversation_id) == [QUESTION, PARIS]


async def test_the_row_is_there_before_the_first_word(services: Services, user_id: str, gate: Gate) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    placeholder = await stored(services, sent)
    assert (placeholder.status, placeholder.content) == (MessageStatus.STREAMING, "")
    gate.open()
    assert (await ended(services, sent)).content == COUNTING


async def test_a_chat_goes_on_with_its_history_and_its_model(services: Services, user_id: str, shelf: Shelf) -> None:
    prompts = await put_listener(services, shelf, "listener")
    first = await services.chat.send(user_id, None, "First question", model_id="parrot")
    await ended(services, first)
    second = await services.chat.send(user_id, first.conversation_id, "Second question", model_id="listener")
    await ended(services, second)
    assert prompts[-1] == (
        "system\nYou are a helpful assistant.\nuser\nFirst question\nassistant\nHello there.\n"
        "user\nSecond question\nassistant\n"
    )
    third = await services.chat.send(user_id, first.conversation_id, "Third question")
    assert (await ended(services, third)).model_id == "listener"


async def test_what_cannot_be_sent(services: Services, user_id: str) -> None:
    for text in ("", "  \n ", "\u200b\u200b", "half an emoji \ud83d", "x" * 1_000_001):
        with pytest.raises(InvalidInput):
            await services.chat.send(user_id, None, text)
    with pytest.raises(ModelNotFound):
        await services.chat.send(user_id, None, "Hi", model_id="dodo")
    with pytest.raises(NotFound):
        await services.chat.send(user_id, "no-such-chat", "Hi")
    assert await services.conversations.list_recent(user_id) == []


async def test_without_any_model_sending_says_so(services: Services, user_id: str) -> None:
    await services.models.remove("parrot")
    with pytest.raises(ModelUnavailable, match="Models page"):
        await services.chat.send(user_id, None, "Hi")


async def test_one_answer_at_a_time_on_a_branch(services: Services, user_id: str, gate: Gate) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    with pytest.raises(Conflict, match="still being written"):
        await services.chat.send(user_id, sent.conversation_id, "And?")
    with pytest.raises(Conflict):
        await services.chat.continue_answer(user_id, sent.answer_id)
    gate.open()
    await ended(services, sent)
    await ended(services, await services.chat.send(user_id, sent.conversation_id, "And?"))


async def test_a_page_that_goes_away_while_sending_still_gets_its_answer(services: Services, user_id: str) -> None:
    sending = asyncio.create_task(services.chat.send(user_id, None, QUESTION))
    await until(lambda: bool(services.chat._beginnings))
    sending.cancel()
    await until(lambda: services.generations.num_running == 1)
    await until(lambda: services.generations.num_running == 0)
    [conversation] = await services.conversations.list_recent(user_id)
    assert await texts(services, user_id, conversation.id) == [QUESTION, PARIS]


# --- versions --------------------------------------------------------------------------------------------------------


async def test_regenerating_and_editing_keep_the_old_versions_beside_the_new(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, QUESTION)
    await ended(services, sent)
    again = await services.chat.regenerate(user_id, sent.answer_id)
    await ended(services, again)
    assert again.user_message_id == sent.user_message_id
    thread = await services.conversations.thread(user_id, sent.conversation_id)
    assert thread[-1] == ThreadMessage(thread[-1].message, 1, (sent.answer_id, again.answer_id))
    edited = await services.chat.edit(user_id, sent.user_message_id, "Say hello")
    await ended(services, edited)
    assert await texts(services, user_id, sent.conversation_id) == ["Say hello", "Hello there."]
    await services.conversations.select_branch(user_id, sent.user_message_id)
    assert await texts(services, user_id, sent.conversation_id) == [QUESTION, PARIS]


async def test_only_ones_own_words_are_edited_and_only_answers_regenerated(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, QUESTION)
    await ended(services, sent)
    with pytest.raises(NotFound):
        await services.chat.edit(user_id, sent.answer_id, "I said something else")
    with pytest.raises(NotFound):
        await services.chat.regenerate(user_id, sent.user_message_id)


async def test_another_persons_chat_is_not_there(services: Services, user_id: str, gate: Gate) -> None:
    other_id = (await services.accounts.add_user("Ben", PASSWORD)).id
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    for attempt in (
        services.chat.send(other_id, sent.conversation_id, "Hi"),
        services.chat.edit(other_id, sent.user_message_id, "Hi"),
        services.chat.regenerate(other_id, sent.answer_id),
        services.chat.continue_answer(other_id, sent.answer_id),
        services.chat.stop(other_id, sent.answer_id),
        services.chat.message(other_id, sent.answer_id),
        services.conversations.thread(other_id, sent.conversation_id),
    ):
        with pytest.raises(NotFound):
            await attempt
    own = await services.chat.send(other_id, None, "Mine")
    with pytest.raises(NotFound):
        await services.chat.send(other_id, own.conversation_id, "Hi", parent_id=sent.user_message_id)
    gate.open()
    assert (await ended(services, sent)).content == COUNTING


# --- stopping and going on -------------------------------------------------------------------------------------------


async def test_stop_saves_what_is_there_and_continue_goes_on_from_it(
    services: Services, user_id: str, gate: Gate
) -> None:
    sent, _ = await begun(services, user_id, gate)
    stopping = asyncio.create_task(services.chat.stop(user_id, sent.answer_id))
    await until(lambda: services.generations.num_running == 0)
    await stopping
    answer = await stored(services, sent)
    assert answer.status is MessageStatus.STOPPED
    assert COUNTING.startswith(answer.content)
    assert len(answer.content) >= 10

    gate.open()
    going_on = await services.chat.continue_answer(user_id, sent.answer_id)
    assert going_on == sent
    whole = await ended(services, sent)
    assert whole.status is MessageStatus.COMPLETE
    assert whole.content == answer.content + COUNTING
    assert answer.completion_tokens is not None and whole.completion_tokens is not None
    assert whole.completion_tokens == answer.completion_tokens + len(COUNTING)      # of both stretches
    assert whole.time_to_first_token_s == answer.time_to_first_token_s
    assert (whole.duration_s or 0.0) > (answer.duration_s or 0.0) > 0.0
    await services.chat.stop(user_id, sent.answer_id)           # nothing left to stop
    assert await texts(services, user_id, sent.conversation_id) == ["Count", whole.content]


async def test_what_a_continued_answer_waits_for_its_next_word_is_none_of_its_writing(
    services: Services, user_id: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, _ = await begun(services, user_id, gate)
    await asyncio.to_thread(gate.wait_until_held)
    await services.chat.stop(user_id, sent.answer_id)
    first = await stored(services, sent)
    await services.chat.continue_answer(user_id, sent.answer_id)
    going_on = services.generations.get(sent.answer_id)
    assert going_on is not None
    await until(lambda: going_on.state is GenerationState.WAITING)
    loop, wait_s = asyncio.get_running_loop(), 20.0
    real_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: real_time() + wait_s)
    gate.open()
    whole = await ended(services, sent)
    assert whole.time_to_first_token_s == first.time_to_first_token_s
    assert whole.duration_s is not None and first.duration_s is not None
    assert first.duration_s < whole.duration_s < first.duration_s + wait_s


async def test_a_thought_is_kept_beside_the_answer_and_begun_anew_where_no_answer_came_of_it(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    gate, tokenizer = Gate(), ByteTokenizer(chat_template=THINKING_TEMPLATE)
    await shelf.put(services, "thinker", lambda: ScriptedBackend("Hm, {x}.</think>42", tokenizer=tokenizer, gate=gate))
    sent = await services.chat.send(user_id, None, "Think", model_id="thinker")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    gate.allow(5)
    async for _ in generation.follow():
        if generation.reasoning:
            break
    await services.chat.stop(user_id, sent.answer_id)
    answer = await stored(services, sent)
    assert (answer.content, answer.status) == ("", MessageStatus.STOPPED)
    assert "Hm, {x}.".startswith(answer.reasoning)
    assert answer.reasoning

    gate.open()
    await services.chat.continue_answer(user_id, sent.answer_id)
    whole = await ended(services, sent)
    assert (whole.reasoning, whole.content, whole.status) == ("Hm, {x}.", "42", MessageStatus.COMPLETE)


async def test_stopping_before_anything_has_begun(services: Services, user_id: str, gate: Gate) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    await services.chat.stop(user_id, sent.answer_id)
    answer = await stored(services, sent)
    assert (answer.status, answer.content) == (MessageStatus.STOPPED, "")


async def test_watchers_come_and_go_and_the_answer_is_the_same_for_all(
    services: Services, user_id: str, gate: Gate
) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None

    async def watch(offset: int) -> str:
        return "".join([text async for _, text in generation.follow(offset)])

    first = asyncio.create_task(watch(0))
    gate.allow(30)
    await written(generation, 20)
    first.cancel()                                              # the page is closed
    second, phone = asyncio.create_task(watch(20)), asyncio.create_task(watch(0))
    gate.open()
    assert COUNTING[:20] + await second == await phone == COUNTING
    assert (await stored(services, sent)).content == COUNTING


async def test_deleting_the_chat_stops_its_answer_and_undo_brings_back_what_was_there(
    services: Services, user_id: str, gate: Gate
) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    before = await services.organise.delete(user_id, [sent.conversation_id])
    await until(lambda: services.generations.num_running == 0)
    await services.organise.undo(user_id, before)
    assert (await stored(services, sent)).status is MessageStatus.STOPPED


async def test_disabling_a_person_stops_their_answers_but_signing_out_does_not(
    services: Services, user_id: str, gate: Gate
) -> None:
    user = next(user for user in await services.accounts.list_users() if user.id == user_id)
    token = await services.accounts.start_session(user)
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    await services.accounts.sign_out(token)
    assert services.generations.num_running == 1
    await services.accounts.set_active(user_id, False)
    await until(lambda: services.generations.num_running == 0)
    assert (await stored(services, sent)).status is MessageStatus.STOPPED


async def test_unloading_the_model_interrupts_and_another_may_go_on(
    services: Services, user_id: str, gate: Gate
) -> None:
    sent, _ = await begun(services, user_id, gate)
    unloading = asyncio.create_task(services.engines.unload("slow"))
    await turn()
    await turn()
    gate.open()
    await unloading
    answer = await ended(services, sent)
    assert answer.status is MessageStatus.INTERRUPTED
    assert answer.error is None
    assert len(answer.content) >= 10


async def test_a_model_that_breaks_fails_the_answer_with_a_sentence(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    await shelf.put(services, "glass", lambda: ScriptedBackend(COUNTING, fail_at_step=5))
    answer = await ended(services, await services.chat.send(user_id, None, "Hi", model_id="glass"))
    assert answer.status is MessageStatus.FAILED
    assert answer.content == COUNTING[:4]
    assert answer.error is not None
    assert said_again(answer.error).endswith(".")


async def test_a_model_that_embeds_cannot_answer_and_says_so(services: Services, user_id: str, shelf: Shelf) -> None:
    await shelf.put_embedder(services, "vectors", ScriptedEmbedder)
    answer = await ended(services, await services.chat.send(user_id, None, "Hi", model_id="vectors"))
    assert answer.status is MessageStatus.FAILED
    assert answer.error is not None
    assert "makes embeddings and cannot write" in answer.error


async def test_a_message_longer_than_the_window_fails_and_says_by_how_much(services: Services, user_id: str) -> None:
    answer = await ended(services, await services.chat.send(user_id, None, "word " * 2000))
    assert answer.status is MessageStatus.FAILED
    assert answer.error is not None
    told = said_again(answer.error)
    assert "4,096" in told
    assert "Shorten it" in told
    assert "settings" in told


async def test_the_end_of_the_server_interrupts_and_saves(services: Services, user_id: str, gate: Gate) -> None:
    sent, _ = await begun(services, user_id, gate)
    await services.generations.close()
    answer = await stored(services, sent)
    assert answer.status is MessageStatus.INTERRUPTED
    assert len(answer.content) >= 10


async def test_what_a_crash_left_is_interrupted_at_the_next_start(services: Services, user_id: str) -> None:
    from store import answers, messages

    turn = await services.db.run(messages.start_conversation, user_id, "Title", "Hi", model_id="parrot")
    await services.db.run(answers.save_progress, {turn.answer.id: answers.SoFar("Half an ans")})
    await services.start()
    answer = await services.chat.message(user_id, turn.answer.id)
    assert (answer.status, answer.content) == (MessageStatus.INTERRUPTED, "Half an ans")


async def test_the_text_is_saved_while_it_is_written(
    services: Services, user_id: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.answer_saver.SAVE_INTERVAL_S", 0)
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    gate.allow(12)
    async with asyncio.timeout(60):
        while len((await stored(services, sent)).content) < 10:
            pass
    so_far = await stored(services, sent)
    assert so_far.status is MessageStatus.STREAMING
    assert so_far.completion_tokens == len(so_far.content), "which a crash leaves, and a continuation is added to"
    assert 0.0 < (so_far.time_to_first_token_s or 0.0) <= (so_far.duration_s or 0.0)
    gate.open()
    assert (await ended(services, sent)).content == COUNTING


async def test_the_states_that_a_watcher_sees(services: Services, user_id: str, gate: Gate) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    assert generation.state is GenerationState.LOADING
    seen: list[GenerationState] = []
    gate.open()
    async for _ in generation.follow():
        if not seen or seen[-1] is not generation.state:
            seen.append(generation.state)
    assert seen[-2:] == [GenerationState.WRITING, GenerationState.ENDED]
    assert GenerationState.WAITING in seen


# --- long chats ------------------------------------------------------------------------------------------------------


async def test_a_long_chat_loses_its_oldest_turns_never_the_system_prompt(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    prompts = await put_listener(services, shelf, "small", max_model_len=512)
    sent = await services.chat.send(user_id, None, "The password is X. " + "filler " * 5, model_id="small")
    await ended(services, sent)
    for number in range(12):
        sent = await services.chat.send(user_id, sent.conversation_id, f"Turn {number}: " + "word " * 8)
        answer = await ended(services, sent)
        assert answer.status is MessageStatus.COMPLETE
        generation = services.generations.get(sent.answer_id)
        assert generation is not None
        thread = await services.conversations.thread(user_id, sent.conversation_id)
        said = [each.message for each in thread if each.message.role is MessageRole.USER]
        assert prompts[-1].startswith("system\nYou are a helpful assistant.\n")
        assert f"Turn {number}:" in prompts[-1]
        missing = [message for message in said if message.content not in prompts[-1]]
        assert generation.num_left_out == len(missing)
        if missing:
            assert generation.first_message_id == said[len(missing)].id
    assert generation is not None
    assert generation.num_left_out > 0
    assert generation.num_left_out % 4 == 0         # dropped in fours, so that the cache is good for the turns between
    assert "password" not in prompts[-1]
