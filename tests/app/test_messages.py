"""What a person does with the messages of a chat beside asking: editing, deleting, and long chats told in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.errors import Conflict, InvalidInput, NotFound
from app.services.container import Services
from app.services.context import SUMMARY_INTRO
from app.services.pace import Pace
from app.services.setup import ChatSetup
from engine.backends.scripted import Gate, ScriptedBackend
from engine.backends.scripted_tokenizer import THINKING_TEMPLATE, ByteTokenizer
from store.tables import Message, MessageStatus, Model, WhenFull
from tests.app.conftest import PARIS
from tests.app.house import PASSWORD, Shelf
from tests.app.test_chat import QUESTION, ended, gate, put_listener, stored, texts, written

__all__ = ["gate"]


async def test_an_edited_answer_stands_in_its_place_and_the_next_one_reads_it(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    prompts = await put_listener(services, shelf, "listener")
    first = await services.chat.send(user_id, None, QUESTION, model_id="parrot")
    await ended(services, first)
    await services.chat.edit_answer(user_id, first.answer_id, "Lyon, of course.")
    await services.chat.edit_answer(user_id, first.answer_id, PARIS)            # as it is already: no new version
    assert await texts(services, user_id, first.conversation_id) == [QUESTION, "Lyon, of course."]
    await ended(services, await services.chat.send(user_id, first.conversation_id, "Sure?", model_id="listener"))
    assert "Lyon, of course." in prompts[-1]
    thread = await services.conversations.thread(user_id, first.conversation_id)
    assert (thread[1].message.is_edited, thread[1].sibling_index, len(thread[1].sibling_ids)) == (True, 1, 2)
    with pytest.raises(InvalidInput):
        await services.chat.edit_answer(user_id, first.answer_id, "  ")
    with pytest.raises(NotFound):
        await services.chat.edit_answer(user_id, first.user_message_id, "Not an answer")


async def test_an_answer_is_not_edited_while_it_is_written(services: Services, user_id: str, gate: Gate) -> None:
    sent = await services.chat.send(user_id, None, "Count", model_id="slow")
    with pytest.raises(Conflict):
        await services.chat.edit_answer(user_id, sent.answer_id, "1, 2, 3")


async def test_deleting_a_message_stops_its_answer_which_comes_back_with_its_text(
    services: Services, user_id: str, gate: Gate
) -> None:
    first = await services.chat.send(user_id, None, QUESTION)
    await ended(services, first)
    sent = await services.chat.send(user_id, first.conversation_id, "Count", model_id="slow")
    gate.allow(30)
    generation = services.generations.get(sent.answer_id)
    assert generation is not None
    await written(generation, 5)
    await services.chat.delete(user_id, sent.user_message_id)
    assert generation.is_ended
    assert await texts(services, user_id, first.conversation_id) == [QUESTION, PARIS]
    await services.chat.restore(user_id, sent.user_message_id)
    answer = await stored(services, sent)
    assert (answer.status, answer.content) == (MessageStatus.STOPPED, generation.text)
    assert await texts(services, user_id, first.conversation_id) == [QUESTION, PARIS, "Count", generation.text]


async def test_a_message_whose_answer_was_deleted_is_answered_anew(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, QUESTION)
    await ended(services, sent)
    await services.chat.delete(user_id, sent.answer_id)
    assert await texts(services, user_id, sent.conversation_id) == [QUESTION]
    await ended(services, await services.chat.answer(user_id, sent.user_message_id))
    assert await texts(services, user_id, sent.conversation_id) == [QUESTION, PARIS]


async def test_nobody_touches_anothers_messages(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, QUESTION)
    await ended(services, sent)
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    for attempt in (
        services.chat.delete(ben, sent.answer_id),
        services.chat.restore(ben, sent.answer_id),
        services.chat.edit_answer(ben, sent.answer_id, "Mine"),
        services.chat.answer(ben, sent.user_message_id),
        services.conversations.set_up(ben, sent.conversation_id, ChatSetup(when_full=WhenFull.SUMMARISE)),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await texts(services, user_id, sent.conversation_id) == [QUESTION, PARIS]


async def test_how_long_a_model_thought_is_kept_with_its_answer(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    tokenizer = ByteTokenizer(chat_template=THINKING_TEMPLATE)
    await shelf.put(services, "thinker", lambda: ScriptedBackend("Hm.</think>Yes.", tokenizer=tokenizer))
    answer = await ended(services, await services.chat.send(user_id, None, "Well?", model_id="thinker"))
    assert (answer.reasoning, answer.content) == ("Hm.", "Yes.")
    assert answer.reasoning_s is not None
    assert answer.duration_s is not None
    assert 0 <= answer.reasoning_s <= answer.duration_s


# --- chats that are longer than the window ---------------------------------------------------------------------------


async def talk(services: Services, user_id: str, num_turns: int, model_id: str, when_full: WhenFull) -> list[Message]:
    """The answers of a chat that goes on for so many turns."""
    sent = await services.chat.send(user_id, None, "The password is X. " + "filler " * 5, model_id=model_id)
    answers = [await ended(services, sent)]
    setup = ChatSetup.of(await services.conversations.get(user_id, sent.conversation_id))
    await services.conversations.set_up(user_id, sent.conversation_id, replace(setup, when_full=when_full))
    for number in range(num_turns):
        sent = await services.chat.send(user_id, sent.conversation_id, f"Turn {number}: " + "word " * 8)
        answers.append(await ended(services, sent))
    return answers


async def test_what_an_answer_did_not_see_is_stored_with_it(services: Services, user_id: str, shelf: Shelf) -> None:
    await put_listener(services, shelf, "small", max_model_len=512)
    answers = await talk(services, user_id, 9, "small", WhenFull.LEAVE_OUT)
    assert (answers[0].num_left_out, answers[0].first_message_id) == (0, None)
    thread = [each.message.id for each in await services.conversations.thread(user_id, answers[0].conversation_id)]
    assert answers[-1].num_left_out > 0
    assert answers[-1].first_message_id in thread


async def test_the_oldest_turns_are_told_in_short_where_that_is_wanted(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    prompts: list[str] = []

    def script(token_ids: Sequence[int], num_prompt_tokens: int) -> int:
        prompt = bytes(token for token in token_ids[:num_prompt_tokens] if token < 256).decode()
        if len(token_ids) == num_prompt_tokens:
            prompts.append(prompt)
        reply = "The password is X." if "Summarise the conversation" in prompt else "Yes."
        said = token_ids[num_prompt_tokens:]
        return reply.encode()[len(said)] if len(said) < len(reply) else ByteTokenizer().end_of_turn_id

    await shelf.put(services, "small", lambda: ScriptedBackend(script, max_model_len=1600))
    answers = await talk(services, user_id, 28, "small", WhenFull.SUMMARISE)
    assert [answer.status for answer in answers] == [MessageStatus.COMPLETE] * len(answers)
    assert prompts[-1].startswith(f"system\nYou are a helpful assistant.\n\n{SUMMARY_INTRO}\nThe password is X.\nuser")
    assert "Turn 27:" in prompts[-1]
    num_summaries = sum("Summarise the conversation" in prompt for prompt in prompts)
    assert 1 <= num_summaries <= 3          # one serves many turns
    thread = [each.message for each in await services.conversations.thread(user_id, answers[0].conversation_id)]
    first_seen = next(i for i, message in enumerate(thread) if message.id == answers[-1].first_message_id)
    assert thread[first_seen - 1].summary == "The password is X."
    assert answers[-1].num_left_out == first_seen


async def test_a_window_too_small_for_a_summary_is_answered_without_one(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    prompts = await put_listener(services, shelf, "tiny", max_model_len=384)
    answers = await talk(services, user_id, 9, "tiny", WhenFull.SUMMARISE)
    assert [answer.status for answer in answers] == [MessageStatus.COMPLETE] * len(answers)
    assert "Turn 8:" in prompts[-1]
    assert SUMMARY_INTRO not in prompts[-1]
    assert answers[-1].num_left_out > 0


# --- the meter ------------------------------------------------------------------------------------------------------


async def model_called(services: Services, model_id: str) -> Model:
    return await services.models.find(model_id)


async def test_the_meter_counts_with_the_loaded_model_and_estimates_otherwise(
    services: Services, user_id: str, shelf: Shelf
) -> None:
    await put_listener(services, shelf, "small", max_model_len=512)
    small = await model_called(services, "small")
    assert await services.meter.measure((), small, WhenFull.LEAVE_OUT) is None      # never loaded, and no word of it
    answers = await talk(services, user_id, 1, "small", WhenFull.LEAVE_OUT)
    thread = [each.message for each in await services.conversations.thread(user_id, answers[0].conversation_id)]
    use = await services.meter.measure(thread, small, WhenFull.LEAVE_OUT)
    assert use is not None
    assert (use.window, use.is_estimate, use.num_left_out) == (512, False, 0)
    assert use.num_tokens == answers[-1].prompt_tokens      # the answers are empty
    await services.engines.unload("small")
    use = await services.meter.measure(thread, small, WhenFull.LEAVE_OUT)
    assert use is not None
    assert (use.window, use.is_estimate) == (512, True)


async def test_the_meter_says_what_will_not_fit(services: Services, user_id: str, shelf: Shelf) -> None:
    await put_listener(services, shelf, "small", max_model_len=512)
    answers = await talk(services, user_id, 9, "small", WhenFull.LEAVE_OUT)
    thread = [each.message for each in await services.conversations.thread(user_id, answers[0].conversation_id)]
    use = await services.meter.measure(thread, await model_called(services, "small"), WhenFull.LEAVE_OUT)
    assert use is not None
    assert use.num_left_out > 0
    assert use.num_tokens <= 384
    assert use.first_message_id == answers[-1].first_message_id


def test_about_how_long_comes_from_what_was_measured() -> None:
    pace = Pace()
    assert (pace.queue_s(2, 4), pace.reading_s(1000)) == (None, None)
    pace.learn_answer(20.0)
    pace.learn_reading(1000, 2.0)
    pace.learn_reading(3, 2.0)              # too few to say anything
    assert (pace.queue_s(2, 4), pace.reading_s(1000)) == (10.0, 2.0)
    pace.learn_answer(10.0)
    assert pace.queue_s(4, 4) == 16.0
