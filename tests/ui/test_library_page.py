"""The library page, built for real and used without a browser."""

from __future__ import annotations

import json

from nicegui import ui
from nicegui.testing import User

from app.services.setup import ChatSetup
from tests.ui.conftest import Person
from tests.ui.using import click, elements, one, told, trigger, until
from ui.components.choice import Choice
from ui.components.library_file import LibraryFile
from ui.components.parameters import ParameterForm
from ui.components.toast import Toast


def fill(tab: User, **fields: str) -> None:
    boxes = {
        str(box.props["aria-label"]): box
        for kind in (ui.input, ui.textarea) for box in elements(tab, kind)
    }
    for label, value in fields.items():
        boxes[label].value = value


def save(tab: User) -> None:
    (form,) = [each for each in elements(tab, ui.element) if "nk-editor" in each.classes]
    trigger(form, "submit")


async def saved(tab: User) -> None:
    save(tab)
    dialog = one(tab, ui.dialog)
    await until(lambda: not dialog.value)
    trigger(dialog, "hide")     # the browser says so, once it has faded


async def test_a_prompt_is_made_changed_deleted_and_brought_back(ada: Person) -> None:
    prompts = ada.home.services.prompts
    tab = await ada.at("/library")
    await tab.should_see("Save what you write often")
    click(tab, "New prompt")
    save(tab)
    await tab.should_see("Give the prompt a name.")
    fill(tab, Name="Translate", Prompt="Into {{language}}: {{text}}")
    await tab.should_see("Asks for: language, text")
    await saved(tab)
    await tab.should_see("/translate")

    click(tab, "New prompt")
    fill(tab, Name="Other", Command="translate", Prompt="x")
    save(tab)
    await tab.should_see("/translate is taken by “Translate”.")
    fill(tab, Command="other")
    await saved(tab)
    assert [prompt.command for prompt in await prompts.list(ada.id)] == ["other", "translate"]
    await prompts.delete(ada.id, (await prompts.list(ada.id))[0].id)     # in another tab
    await tab.should_not_see("/other")
    click(tab, "Delete")
    await until(lambda: told(tab, "Prompt deleted"))
    await tab.should_not_see("/translate")
    (toast,) = told(tab, "Prompt deleted")
    subject = toast[toast.index("prompt ") :].split('"')[0]
    trigger(one(tab, Toast), "act", subject)
    await tab.should_see("/translate")


async def test_a_preset_is_made_with_parameters_and_becomes_the_default(ada: Person) -> None:
    presets = ada.home.services.presets
    tab = await ada.at("/library")
    click(tab, "New preset")
    fill(tab, Name="Pirate")
    trigger(one(tab, Choice), "change", "smollm2-135m-instruct")
    form = one(tab, ParameterForm)
    trigger(form, "change", {"name": "temperature", "value": 9})
    await until(lambda: "from 0 to 2" in form.props["refused"].get("temperature", ""))
    trigger(form, "change", {"name": "temperature", "value": 0.1})
    trigger(form, "change", {"name": "system_prompt", "value": "Speak like a pirate."})
    save(tab)
    await tab.should_see("SmolLM2 135M Instruct · Temperature 0.1 · Speak like a pirate.")
    (preset,) = await presets.list(ada.id)
    assert ChatSetup.of(preset).parameters == {"temperature": 0.1}
    click(tab, "Begin new chats with it")
    await tab.should_see("Default for new chats")
    click(tab, "Duplicate")
    await tab.should_see("Copy of Pirate")
    assert [(each.name, each.is_default) for each in await presets.list(ada.id)] == [
        ("Copy of Pirate", False), ("Pirate", True),
    ]


async def test_the_library_goes_out_as_a_file_and_comes_in_from_one(ada: Person, ben: Person) -> None:
    await ada.home.services.prompts.create(ada.id, name="Mine", command="", content="My words")
    tab = await ada.at("/library")
    trigger(one(tab, LibraryFile), "export")
    await until(lambda: told(tab, "inglenook-library-"))
    theirs = await ben.at("/library")
    await theirs.should_not_see("/mine")
    library = json.dumps({"prompts": [{"name": "Mine", "content": "My words"}, {"name": "Empty"}]})
    trigger(one(theirs, LibraryFile), "read", library)
    await theirs.should_see("1 prompt and 0 presets added. 1 skipped:")
    await theirs.should_see("Empty: Write what the prompt says.")
    await theirs.should_see("/mine")
    trigger(one(theirs, LibraryFile), "read", "no library")
    await theirs.should_see("The file is not JSON.")


async def test_the_library_speaks_german(ada: Person) -> None:
    await ada.home.services.accounts.set_setting(ada.id, "language", "de")
    tab = await ada.at("/library")
    await tab.should_see("Neue Vorlage")
    click(tab, "Neue Voreinstellung")
    assert one(tab, ParameterForm).props["fields"][1]["label"] == "Temperatur"
    chat = await ada.at("/")
    await chat.should_see("Temporärer Chat")
