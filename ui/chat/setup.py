"""How the chat that is shown is answered, or the new one will be: its preset, its system prompt, its parameters.

`ChatPage` owns it, and tells it which chat is shown. It builds the drawer, and is asked for the setup of a new chat; of
a chat that is there the store has it, and this only shows it. On the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.errors import InvalidInput
from app.services.container import Services
from app.services.models import ModelEntry
from app.services.setup import ChatSetup
from store.tables import Conversation, Preset
from ui.components.drawer import Drawer
from ui.components.elements import button, tag
from ui.components.parameters import ParameterForm, setup_with
from ui.language import FORESEEN, t, told


@dataclass(frozen=True, slots=True)
class SetupActions:
    """What it asks of its page."""

    changed: Callable[[], None]                     # show what follows from it
    forget_model: Callable[[], None]                # that was chosen on the page: a preset says which
    refuse: Callable[[Exception], None]


class SetupRoom:
    def __init__(self, services: Services, user_id: str, page: SetupActions) -> None:
        self._services = services
        self._user_id = user_id
        self._page = page
        self._conversation: Conversation | None = None
        self._form: ParameterForm | None = None         # once the drawer was opened
        self._model: ModelEntry | None = None
        self._num_saving = 0                            # changes on their way to the store
        self._of_models: Mapping[str, ChatSetup] = {}
        self._follows_model = False                     # a new chat that nobody has set up: its model says how
        self.setup = ChatSetup()
        self.presets: Sequence[Preset] = ()

    def build(self) -> None:
        self._drawer = Drawer(t("setup-title"), self._fill)

    @property
    def preset(self) -> Preset | None:
        """That the chat was set up from."""
        return next((preset for preset in self.presets if preset.id == self.setup.preset_id), None)

    async def read_presets(self) -> None:
        self.presets = await self._services.presets.list(self._user_id)
        self._of_models = await self._services.model_presets.setups(self._user_id)

    def begin(self, conversation: Conversation | None) -> None:
        """Another chat is shown: this one, or a new one, which begins with the default preset, or its model's."""
        self._conversation, self._follows_model = conversation, False
        if conversation is not None:
            self.setup = ChatSetup.of(conversation)
            return
        default = next((preset for preset in self.presets if preset.is_default), None)
        self.setup = ChatSetup.of(default) if default is not None else ChatSetup()
        self._follows_model = default is None

    def update(self, conversation: Conversation) -> None:
        """The same chat, read again."""
        self._conversation = conversation
        if not self._num_saving:        # else what is here is newer
            self.setup = ChatSetup.of(conversation)

    def show(self, model: ModelEntry | None) -> None:
        self._model = model
        if self._follows_model:
            self.setup = self._of_models.get(model.model.id if model else "", ChatSetup())
        if self._form is not None:
            is_loaded = model is not None and model.status.info is not None
            can_be_told = not is_loaded or thinks_first(self.setup, model) is not None
            self._form.show(self.setup, model.model if model else None, can_be_told=can_be_told)

    async def choose_preset(self, preset_id: str | None) -> None:
        """Its values take the place of the chat's; None: the model's own do."""
        preset = next((preset for preset in self.presets if preset.id == preset_id), None)
        setup = ChatSetup.of(preset) if preset is not None else ChatSetup()
        if preset is not None and preset.model_id is not None:
            self._page.forget_model()
        await self._set(replace(setup, model_id=setup.model_id or self.setup.model_id))

    async def change(self, name: str, value: Any) -> None:
        try:
            await self._set(setup_with(self.setup, name, value))
        except InvalidInput as error:
            if self._form is not None:
                self._form.refuse(error.field or name, told(error))

    async def _reset(self) -> None:
        await self._set(ChatSetup(model_id=self.setup.model_id))

    async def _set(self, setup: ChatSetup) -> None:
        conversation, self._follows_model = self._conversation, False
        self.setup = setup = setup.checked()        # before it is kept: the next change builds on it
        if conversation is not None:
            self._num_saving += 1
            try:
                await self._services.conversations.set_up(self._user_id, conversation.id, setup)
            except FORESEEN as error:
                self._page.refuse(error)            # it was deleted in another tab, say
            finally:
                self._num_saving -= 1
        if not self._num_saving:
            self._page.changed()

    def _fill(self) -> None:
        tag("p", "nk-drawer-about", t("setup-about"))
        self._form = ParameterForm(self.change)
        with tag("div", "nk-drawer-acts"):
            button(t("setup-reset"), "nk-btn-ghost nk-btn-sm", icon_name="undo-2").on("click", self._reset)
            with tag("a", "nk-btn nk-btn-ghost nk-btn-sm", href="/library"):
                tag("span", text=t("setup-library"))
        self.show(self._model)


def thinks_first(setup: ChatSetup, model: ModelEntry | None) -> bool | None:
    """Whether it will; None: it cannot be told, or is not loaded, and that is known only then."""
    info = model.status.info if model is not None else None
    if info is None or info.reasoning_default is None:
        return None
    told: bool | None = setup.parameters.get("reasoning")
    return info.reasoning_default if told is None else told
