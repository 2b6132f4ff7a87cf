"""The models page: what admins can do, what others see, and that it follows what happens elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from nicegui import ui
from nicegui.element import Element
from nicegui.testing import User

from app.services.engines import ModelState
from app.services.models import STARTER_ID
from engine.backends.scripted import ScriptedBackend
from engine.errors import ModelLoadError
from engine.lora import Adapter
from engine.told import Told
from tests.engine.scripted_embedder import ScriptedEmbedder
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.tiny_lora import random_factors, write_tiny_adapter
from tests.ui.conftest import Home, Person
from tests.ui.using import click, elements, has, one, press, trigger, until
from ui.components.memory_card import Memory, Share
from ui.components.menu_choices import MenuChoices


def _texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if element.visible and (text := getattr(element, "text", None))]


async def test_it_lists_the_starter_model_with_its_state_and_size(ada: Person) -> None:
    tab = await ada.at("/models")
    texts = _texts(tab)
    names = ("SmolLM2 135M Instruct", "Default", "Small starter model")
    for text in (*names, "Ready", "1 model, 94 MiB on disk", "Memory"):
        assert text in texts, text


async def test_an_admin_unloads_and_loads_and_other_tabs_see_it(home: Home, ada: Person) -> None:
    tab, other = await ada.at("/models"), await ada.at("/models")
    click(tab, "Unload")
    for each in (tab, other):
        await until(lambda each: "On disk" in _texts(each), each)
    assert home.services.engines.status(STARTER_ID).state is ModelState.ON_DISK
    click(tab, "Load")
    for each in (tab, other):
        await until(lambda each: "Ready" in _texts(each), each)


@pytest.mark.parametrize("path", ["/models", "/models/find", f"/models/installed/{STARTER_ID}", "/models/find/a/b"])
async def test_the_pages_about_models_are_for_admins(ben: Person, path: str) -> None:
    async with ben.http() as browser:
        assert (await browser.get(path)).status_code == 403
    assert "Models" not in _texts(await ben.at("/settings"))


async def test_a_model_that_did_not_load_says_why(home: Home, ada: Person) -> None:
    def broken() -> ScriptedBackend:
        raise ModelLoadError(Told("trial-failed", detail="The file ends too early. Get it again."))

    await home.shelf.put(home.services, "broken", broken)
    tab = await ada.at("/models")
    click(tab, "Load")
    await until(lambda: "Did not load" in _texts(tab))
    assert "The file ends too early. Get it again." in _texts(tab)
    assert "Try again" in _texts(tab)


async def test_another_default_is_a_click_away(home: Home, ada: Person) -> None:
    await home.shelf.put(home.services, "parrot", "Hello")
    tab = await ada.at("/models")
    press(tab, "More for Parrot")
    click(tab, "Set as default")
    await until(lambda: not any(text == "Small starter model" and _default_before(tab) for text in _texts(tab)))
    default = await home.services.models.default()
    assert default is not None and default.id == "parrot"


def _default_before(tab: User) -> bool:
    texts = _texts(tab)
    return texts.index("Default") < texts.index("Small starter model")


async def test_a_file_that_is_no_model_is_refused_in_place(ada: Person, tmp_path: Path) -> None:
    file = tmp_path / "notes.gguf"
    file.write_text("These are my notes.")
    tab = await ada.at("/models")
    click(tab, "Add a file")
    await until(lambda: has(tab, ui.input))
    path = one(tab, ui.input)
    for value, words in ((str(tmp_path / "nowhere.gguf"), "There is no file"), (str(file), "notes.gguf")):
        path.value = value
        trigger(next(each for each in elements(tab, Element) if "nk-bring-path" in each.classes), "submit")
        await until(lambda words: any(words in text for text in _texts(tab)), words)
    assert "Add a file" in _texts(tab)


async def test_adapters_are_told_and_the_files_that_go_with_a_model(home: Home, ada: Person) -> None:
    folder = home.services.settings.models_dir
    folder.mkdir(parents=True)
    base = write_tiny_gguf(folder / "base.gguf")
    style = write_tiny_adapter(folder / "style.gguf", random_factors())
    await home.services.models.add(base, adapters=[Adapter(style, 0.5)], name="Bard")
    tab = await ada.at("/models")
    (told,) = (text for text in _texts(tab) if text.startswith("F32"))
    assert told.endswith("on disk, style.gguf at 0.5")
    press(tab, "More for Bard")
    click(tab, "Remove")
    await until(lambda: "Deleted with it, from the models folder: base.gguf, style.gguf." in _texts(tab))


@pytest.mark.parametrize("is_there", [True, False])
async def test_removing_asks_first_and_says_what_becomes_of_the_file(
    home: Home, ada: Person, tmp_path: Path, is_there: bool
) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf")
    await home.services.models.add(path)
    if not is_there:
        path.unlink()
    tab = await ada.at("/models")
    press(tab, "More for Tiny 0")
    click(tab, "Remove")
    await until(lambda: (f"Its file stays at {path}." if is_there else "Its file is gone already.") in _texts(tab))
    assert len(await home.services.models.list()) == 2


def test_memory_is_told_in_shares_that_add_up() -> None:
    share = Share("Qwen3 8B", weight_bytes=5 * 2**30, room_bytes=9 * 2**30)
    memory = Memory(total_bytes=22 * 2**30, others_bytes=2 * 2**30, shares=(share,))
    assert share.total_bytes == 14 * 2**30
    assert memory.free_bytes == 6 * 2**30
    assert Memory(16 * 2**30, 4 * 2**30, (share,)).free_bytes == 0      # promised more than there is


async def test_a_model_that_embeds_is_shown_as_such_and_not_offered_for_chats(home: Home, ada: Person) -> None:
    await home.shelf.put_embedder(home.services, "vectors", ScriptedEmbedder)
    await home.services.engines.load("vectors")
    texts = _texts(await ada.at("/models"))
    assert {"Vectors", "Embeddings", "50 for each text"} <= set(texts)
    assert "Set as default" not in texts
    tab = await ada.at("/")
    click(tab, "Model: ")
    offered = {item["name"] for choices in elements(tab, MenuChoices) for item in choices.props["items"]}
    assert "SmolLM2 135M Instruct" in offered
    assert "Vectors" not in offered
