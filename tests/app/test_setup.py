"""How a chat is answered: presets, its system prompt, its parameters; from the first message to Continue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.errors import InvalidInput, NotFound
from app.services.container import Services
from app.services.parameters import CHAT_PARAMS
from app.services.setup import ChatSetup
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import CHATML_TEMPLATE, ByteTokenizer
from engine.params import SamplingParams
from store.tables import WhenFull
from tests.app.conftest import PARIS
from tests.app.house import PASSWORD, Shelf
from tests.app.test_chat import ended, put_listener

PIRATE = ChatSetup(system_prompt="Speak like a pirate.", parameters={"temperature": 0.1, "max_tokens": 9})
SWITCHED = CHATML_TEMPLATE + "{% if enable_thinking is false %}<think></think>{% endif %}"


def asked_of(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[SamplingParams]:
    """Fills with what each answer was asked for with."""
    seen: list[SamplingParams] = []
    start = services.generations.start

    def listen(answer, question, model_id, home):  # type: ignore[no-untyped-def]
        seen.append(question.params)
        return start(answer, question, model_id, home)

    monkeypatch.setattr(type(services.generations), "start", staticmethod(listen))
    return seen


async def test_a_chat_keeps_its_system_prompt_and_parameters_for_every_answer(
    services: Services, user_id: str, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = await put_listener(services, shelf, "listener")
    asked = asked_of(services, monkeypatch)
    sent = await services.chat.send(user_id, None, "One", model_id="listener", setup=PIRATE)
    await ended(services, sent)
    sent = await services.chat.send(user_id, sent.conversation_id, "Two")
    await ended(services, sent)
    sent = await services.chat.regenerate(user_id, sent.answer_id)
    await ended(services, sent)
    sent = await services.chat.edit(user_id, sent.user_message_id, "Three")
    await ended(services, sent)
    await ended(services, await services.chat.continue_answer(user_id, sent.answer_id))
    assert len(prompts) == len(asked) == 5
    assert all(prompt.startswith("system\nSpeak like a pirate.\n") for prompt in prompts)
    assert asked == [replace(CHAT_PARAMS, temperature=0.1, max_tokens=9)] * 5


async def test_a_change_holds_from_the_next_answer_on(
    services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await services.chat.send(user_id, None, "France")
    assert (await ended(services, sent)).content == PARIS
    setup = replace(PIRATE, parameters={"stop": ["France"]}, when_full=WhenFull.SUMMARISE, model_id="parrot")
    conversation = await services.conversations.set_up(user_id, sent.conversation_id, setup)
    assert ChatSetup.of(conversation) == setup
    sent = await services.chat.regenerate(user_id, sent.answer_id)
    assert (await ended(services, sent)).content == "The capital of "
    again = await services.conversations.get(user_id, sent.conversation_id)
    assert (again.system_prompt, again.when_full) == ("Speak like a pirate.", WhenFull.SUMMARISE)


async def test_nothing_invalid_is_kept(services: Services, user_id: str) -> None:
    sent = await services.chat.send(user_id, None, "France")
    await ended(services, sent)
    wrong = (
        ChatSetup(parameters={"temperature": 9}), ChatSetup(system_prompt="x" * 200_001),
        ChatSetup(when_full="explode"),  # type: ignore[arg-type]
    )
    for setup, field in zip(wrong, ("temperature", "system_prompt", "when_full"), strict=True):
        for attempt in (
            services.conversations.set_up(user_id, sent.conversation_id, setup),
            services.chat.send(user_id, None, "Hi", setup=setup),
            services.presets.create(user_id, "Wrong", setup),
        ):
            with pytest.raises(InvalidInput) as refused:
                await attempt
            assert refused.value.field == field
    assert ChatSetup.of(await services.conversations.get(user_id, sent.conversation_id)).is_plain
    assert len(await services.conversations.list_recent(user_id)) == 1
    assert await services.presets.list(user_id) == []


async def test_the_setup_of_another_is_out_of_reach(services: Services, user_id: str) -> None:
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    sent = await services.chat.send(user_id, None, "France", setup=PIRATE)
    await ended(services, sent)
    preset = await services.presets.create(user_id, "Pirate", PIRATE)
    for attempt in (
        services.conversations.set_up(ben, sent.conversation_id, ChatSetup()), services.presets.get(ben, preset.id),
        services.presets.change(ben, preset.id, "x", ChatSetup()), services.presets.delete(ben, preset.id),
        services.presets.restore(ben, preset.id), services.presets.set_default(ben, preset.id),
        services.presets.duplicate(ben, preset.id, "x"),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await services.presets.list(ben) == []
    assert await services.presets.default(ben) is None


async def test_a_preset_is_made_copied_changed_and_brought_back(services: Services, user_id: str) -> None:
    presets = services.presets
    preset = await presets.create(user_id, "  Pirate\n", PIRATE)
    copy = await presets.duplicate(user_id, preset.id, "Copy of Pirate")
    await presets.change(user_id, copy.id, "Poet", ChatSetup(system_prompt="Rhyme."))
    assert [(each.name, each.system_prompt) for each in await presets.list(user_id)] == [
        ("Pirate", "Speak like a pirate."), ("Poet", "Rhyme."),
    ]
    await presets.set_default(user_id, preset.id)
    await presets.delete(user_id, preset.id)
    assert await presets.default(user_id) is None
    await presets.restore(user_id, preset.id)
    default = await presets.default(user_id)
    assert default is not None
    assert ChatSetup.of(default) == replace(PIRATE, preset_id=preset.id)


async def test_a_chat_outlives_the_preset_it_was_set_up_from(services: Services, user_id: str) -> None:
    preset = await services.presets.create(user_id, "Pirate", PIRATE)
    sent = await services.chat.send(user_id, None, "France", setup=ChatSetup.of(preset))
    await ended(services, sent)
    await services.presets.change(user_id, preset.id, "Poet", ChatSetup(system_prompt="Rhyme."))
    await services.presets.delete(user_id, preset.id)
    conversation = await services.conversations.get(user_id, sent.conversation_id)
    assert (conversation.system_prompt, conversation.parameters) == (PIRATE.system_prompt, PIRATE.parameters)


@pytest.mark.parametrize(("reasoning", "is_marked"), [(None, False), (True, False), (False, True)])
async def test_a_template_that_knows_of_thoughts_is_told_whether_to_think(
    services: Services, user_id: str, shelf: Shelf, reasoning: bool | None, is_marked: bool
) -> None:
    prompts: list[bytes] = []

    def make() -> ScriptedBackend:
        tokenizer = ByteTokenizer(chat_template=SWITCHED)

        def listen(token_ids, num_prompt_tokens):  # type: ignore[no-untyped-def]
            prompts.append(bytes(token for token in token_ids[:num_prompt_tokens] if token < 256))
            return tokenizer.end_of_turn_id

        return ScriptedBackend(listen, tokenizer=tokenizer)

    await shelf.put(services, "thinker", make)
    setup = ChatSetup(parameters={} if reasoning is None else {"reasoning": reasoning})
    await ended(services, await services.chat.send(user_id, None, "Hi", model_id="thinker", setup=setup))
    assert prompts[-1].endswith(b"<think></think>") is is_marked
    assert services.engines.loaded()["thinker"].info.reasoning_default is True
    await ended(services, await services.chat.send(user_id, None, "Hi", setup=setup))
    assert services.engines.loaded()["parrot"].info.reasoning_default is None
