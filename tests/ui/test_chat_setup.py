"""A chat's settings on its page: the picker's presets, the drawer, the switch for thoughts, and temporary chats."""

from __future__ import annotations

from typing import Any

from nicegui.testing import User

from app.services.setup import ChatSetup
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import CHATML_TEMPLATE, ByteTokenizer
from store.tables import Conversation
from tests.ui.conftest import Home, Person
from tests.ui.test_chat_page import QUESTION, _ask, _bubbles, _say
from tests.ui.using import click, elements, has, one, told, trigger, until
from ui.chat.head import ChatHead
from ui.components.composer import Composer
from ui.components.drawer import Drawer
from ui.components.hello import Hello
from ui.components.parameters import ParameterForm
from ui.components.sidebar import ConversationList

PIRATE = ChatSetup(system_prompt="Speak like a pirate.", parameters={"temperature": 0.1})


def settings(tab: User) -> str:
    (button,) = [each for each in elements(tab, object) if "nk-settings" in each.classes]  # type: ignore[type-var]
    return str(button.props["aria-label"])


async def test_a_preset_is_chosen_for_a_new_chat(ada: Person) -> None:
    preset = await ada.home.services.presets.create(ada.id, "Pirate", PIRATE)
    tab = await ada.at("/")
    assert settings(tab) == "Chat settings"
    click(tab, "Pirate")
    await until(lambda: settings(tab) == "Chat settings, changed")
