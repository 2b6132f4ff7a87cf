"""A chat's settings on its page: the picker's presets, the drawer, the switch for thoughts, and temporary chats."""

from __future__ import annotations

from typing import Any

from nicegui.element import Element
from nicegui.testing import User

from app.services.setup import ChatSetup
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import CHATML_TEMPLATE, ByteTokenizer
from store.tables import Conversation, UserRole, WhenFull
from tests.ui.conftest import PARIS, Home, Person
from tests.ui.using import choose, click, elements, has, one, told, trigger, until
from ui.components.answer import Answer
from ui.components.composer import Composer
from ui.components.drawer import Drawer
from ui.components.menu_choices import MenuChoices
from ui.components.menu_filter import MenuFilter
from ui.components.parameters import ParameterForm
from ui.components.prompt_form import PromptForm
from ui.components.sidebar import ConversationList
from ui.components.thread import Thread

QUESTION = "What is the capital of France?"
PIRATE = ChatSetup(system_prompt="Speak like a pirate.", parameters={"temperature": 0.1})
SWITCHED = CHATML_TEMPLATE + "{% if enable_thinking is false %}<think></think>{% endif %}"


def labelled(tab: User, label: str) -> list[Element]:
    return [each for each in elements(tab, Element) if each.props.get("aria-label") == label and each.visible]


async def ask(tab: User, text: str = QUESTION) -> None:
    trigger(one(tab, Composer), "send", text)
    await until(lambda: has(tab, Answer))
    await until(lambda: elements(tab, Answer)[-1].props["state"]["status"] != "streaming")


async def only_chat(person: Person) -> Conversation:
    (conversation,) = await person.home.services.conversations.list_recent(person.id)
    return conversation


def change(tab: User, name: str, value: Any) -> None:
    trigger(one(tab, ParameterForm), "change", {"name": name, "value": value})


def values(tab: User) -> dict[str, Any]:
    return dict(one(tab, ParameterForm).props["values"])


async def test_a_preset_is_chosen_for_a_new_chat_and_changed_in_it(ada: Person) -> None:
    await ada.home.services.presets.create(ada.id, "Pirate", PIRATE)
    tab = await ada.at("/")
    assert labelled(tab, "Chat settings")
    choose(tab, "Pirate")
    await until(lambda: labelled(tab, "Chat settings, changed"))
    await ask(tab)
    assert ChatSetup.of(await only_chat(ada)).system_prompt == PIRATE.system_prompt
    choose(tab, "No preset")
    await until(lambda: labelled(tab, "Chat settings"))
    assert ChatSetup.of(await only_chat(ada)).is_plain


async def test_new_chats_begin_with_the_default_preset_and_other_chats_keep_their_own(ada: Person, ben: Person) -> None:
    services = ada.home.services
    other = await services.conversations.create(ada.id, title="Other")
    preset = await services.presets.create(ada.id, "Pirate", PIRATE)
    await services.presets.set_default(ada.id, preset.id)
    tab = await ada.at("/")
    assert labelled(tab, "Chat settings, changed")
    trigger(one(tab, ConversationList), "open", {"id": other.id})
    await until(lambda: labelled(tab, "Chat settings"))
    assert labelled(await ben.at("/"), "Chat settings")     # a preset is its owner's alone
    await (await ben.at("/")).should_not_see("Pirate")


async def test_new_chats_with_a_model_begin_with_its_preset_until_one_is_chosen(home: Home, ben: Person) -> None:
    admin, services = await home.person("Root", UserRole.ADMIN), home.services
    await home.shelf.put(services, "parrot", lambda: ScriptedBackend(PARIS))
    preset = await services.presets.create(admin.id, "Pirate", PIRATE)
    tab = await ben.at("/")
    assert labelled(tab, "Chat settings")
    await services.model_settings.change("parrot", {"preset_id": preset.id})
    choose(tab, "Parrot")
    await until(lambda: labelled(tab, "Chat settings, changed"))
    await ask(tab)
    setup = ChatSetup.of(await only_chat(ben))
    assert (setup.system_prompt, setup.preset_id, setup.model_id) == (PIRATE.system_prompt, None, "parrot")
    await tab.should_not_see("Pirate")                      # it is the admin's: only what it says is for all

    plain = await ben.at("/")
    choose(plain, "Parrot")
    await until(lambda: labelled(plain, "Chat settings, changed"))
    trigger(one(plain, Drawer), "open")
    click(plain, "Reset all")
    await until(lambda: labelled(plain, "Chat settings"))
    own = await services.presets.create(ben.id, "Brief", ChatSetup(system_prompt="Be brief."))
    await services.presets.set_default(ben.id, own.id)
    third = await ben.at("/")
    choose(third, "Parrot")
    trigger(one(third, Drawer), "open")
    await until(lambda: values(third) == {"system_prompt": "Be brief."})


async def test_the_drawer_shows_checks_and_keeps_what_is_set(ada: Person) -> None:
    tab = await ada.at("/")
    await ask(tab)
    assert not has(tab, ParameterForm)          # pages are left without, until it is opened
    trigger(one(tab, Drawer), "open")
    change(tab, "temperature", 0.3)
    change(tab, "system_prompt", "Be brief.")
    change(tab, "when_full", "summarise")
    change(tab, "stop", ["END"])
    await until(lambda: len(values(tab)) == 4)
    change(tab, "temperature", 7)
    await until(lambda: "from 0 to 2" in one(tab, ParameterForm).props["refused"].get("temperature", ""))
    kept = ChatSetup.of(await only_chat(ada))
    assert kept.parameters == {"temperature": 0.3, "stop": ["END"]}
    assert (kept.system_prompt, kept.when_full) == ("Be brief.", WhenFull.SUMMARISE)

    second = await ada.at(f"/c/{(await only_chat(ada)).id}")
    trigger(one(second, Drawer), "open")
    change(second, "temperature", None)
    await until(lambda: "temperature" not in values(tab))       # in the first tab too
    click(second, "Reset all")
    await until(lambda: values(tab) == values(second) == {})


async def test_the_switch_for_thoughts_is_there_where_the_model_has_one(home: Home, ada: Person) -> None:
    make = lambda: ScriptedBackend(PARIS, tokenizer=ByteTokenizer(chat_template=SWITCHED))  # noqa: E731
    await home.shelf.put(home.services, "thinker", make)
    tab = await ada.at("/")
    assert one(tab, Composer).props["reasoning"] is None
    await home.services.engines.load("thinker")
    choose(tab, "Thinker")
    await until(lambda: one(tab, Composer).props["reasoning"] is True)
    trigger(one(tab, Composer), "think", False)
    await until(lambda: one(tab, Composer).props["reasoning"] is False)
    await ask(tab)
    assert (await only_chat(ada)).parameters == {"reasoning": False}


async def test_more_than_eight_models_can_be_searched_in_a_menu_made_as_it_opens(home: Home, ada: Person) -> None:
    few = await ada.at("/")
    click(few, "Model: ")
    assert not has(few, MenuFilter)
    for number in range(8):
        await home.shelf.put(home.services, f"model-{number}", "Hi")
    tab = await ada.at("/")
    assert not has(tab, MenuChoices)
    click(tab, "Model: ")
    assert has(tab, MenuFilter)
    assert len(one(tab, MenuChoices).props["items"]) == 9


async def test_the_open_picker_follows_what_changes(home: Home, ada: Person) -> None:
    tab = await ada.at("/")
    click(tab, "Model: ")
    await home.shelf.put(home.services, "parrot", "Hi")
    await home.services.engines.load("parrot")
    await until(lambda: "Parrot" in [item["name"] for item in one(tab, MenuChoices).props["items"]])


async def test_a_prompt_is_offered_by_its_command_and_asks_for_its_variables(ada: Person, ben: Person) -> None:
    prompts = ada.home.services.prompts
    prompt = await prompts.create(ada.id, name="Translate", command="", content="Into {{language=German|Polish}}!")
    tab = await ada.at("/")
    composer = one(tab, Composer)
    trigger(composer, "slash")
    await until(lambda: told(tab, '"offer"'))
    assert '"command":"translate"' in told(tab, '"offer"')[-1].replace('": ', '":')
    trigger(composer, "prompt", {"id": prompt.id, "selected": ""})
    await until(lambda: has(tab, PromptForm))
    assert one(tab, PromptForm).props["parts"] == [
        "Into ", {"name": "language", "default": "German", "choices": ("German", "Polish")}, "!",
    ]
    trigger(one(tab, PromptForm), "closed")
    assert not has(tab, PromptForm)
    elsewhere = await ben.at("/")
    trigger(one(elsewhere, Composer), "prompt", {"id": prompt.id, "selected": ""})
    await until(lambda: told(elsewhere, '"refuse"'))
    assert not has(elsewhere, PromptForm)


async def test_a_temporary_chat_is_on_its_page_alone_and_ends_with_it(home: Home, ada: Person) -> None:
    tab = await ada.at("/")
    click(tab, "Temporary chat")
    await tab.should_see("Kept nowhere.")
    assert one(tab, Composer).props["draft"] == ""
    await ask(tab)
    assert not told(tab, "/c/")         # the address tells nothing, and leads nowhere
    await tab.should_see("gone when you leave this page")
    assert one(tab, ConversationList).props["outline"]["days"] == []
    assert one(tab, Thread).props["title"] == "Temporary chat"
    chat = next(iter(home.services.temporary._owners))
    assert (await (await ada.http().__aenter__()).get(f"/ui/stream/{elements(tab, Answer)[0].props['messageId']}")).text
    trigger(elements(tab, Answer)[0], "again")
    await until(lambda: elements(tab, Answer)[0].props["versions"] == 2)
    await until(lambda: elements(tab, Answer)[0].props["state"]["status"] == "complete")
    assert home.services.temporary.holds(chat)
    trigger(one(tab, ConversationList), "newChat")
    await until(lambda: not home.services.temporary.holds(chat))
    await tab.should_see("What shall we work on?")
    assert await home.services.conversations.list_recent(ada.id) == []


async def test_a_temporary_chat_ends_when_its_page_is_closed(home: Home, ada: Person) -> None:
    tab = await ada.at("/")
    click(tab, "Temporary chat")
    await ask(tab)
    chat = next(iter(home.services.temporary._owners))
    assert tab.client is not None
    tab.client.delete()
    await until(lambda: not home.services.temporary.holds(chat))


async def test_a_temporary_chat_ends_with_the_page_that_began_it_and_another_that_shows_it_is_told(
    home: Home, ada: Person
) -> None:
    tab = await ada.at("/")
    click(tab, "Temporary chat")
    await ask(tab)
    chat = next(iter(home.services.temporary._owners))
    other = await ada.at(f"/c/{chat}")
    await other.should_see("gone when you leave this page")
    trigger(one(other, ConversationList), "newChat")
    await other.should_see("What shall we work on?")
    assert home.services.temporary.holds(chat)
    other = await ada.at(f"/c/{chat}")
    trigger(one(tab, ConversationList), "newChat")
    await until(lambda: not home.services.temporary.holds(chat))
    await other.should_see("This temporary chat is gone")
