"""The bar over a chat: which model answers, the chat's menu and settings. `ChatPage` owns it. On the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.services.meter import ContextUse
from app.services.models import ModelEntry
from store.tables import Conversation, User, UserRole, WhenFull
from ui.chat.chosen import Choice
from ui.chat.setup import SetupRoom
from ui.components.context_meter import ContextGauge
from ui.components.elements import icon, icon_button, tag
from ui.components.frame import open_menu_buttons
from ui.components.model_picker import ModelPicker
from ui.language import t


@dataclass(frozen=True, slots=True)
class HeadActions:
    choose_model: Callable[[str], Awaitable[None]]
    choose_preset: Callable[[str | None], Awaitable[None]]
    set_temporary: Callable[[bool], None]       # of the chat that is about to begin
    new_chat: Callable[[], Awaitable[None]]
    when_full: Callable[[WhenFull], Awaitable[None]]        # what becomes of the oldest messages of the chat shown


class ChatHead:
    def __init__(self, user: User, actions: HeadActions) -> None:
        self._user = user
        self._actions = actions
        self._is_temporary = False

    def build(self) -> None:
        open_menu_buttons()
        self._heading = tag("div", "nk-sr")
        self._picker = ModelPicker(
            self._actions.choose_model, self._actions.choose_preset, sees_models=self._sees_models
        )
        tag("span", "nk-grow")
        self._gauge = ContextGauge(self._actions.when_full)
        with tag("button", "nk-btn nk-btn-ghost nk-btn-sm nk-temporary", type="button",
                 aria_label=t("head-temporary"), title=t("head-temporary")) as self._temporary:
            icon("message-circle-dashed")
            tag("span", "nk-hide-xs", t("head-temporary"), aria_hidden="true")
        self._temporary.on("click", lambda: self._actions.set_temporary(not self._is_temporary), args=[])
        with tag("span", "nk-tag nk-temporary-tag") as self._temporary_tag:
            icon("message-circle-dashed", 14)
            tag("span", "nk-hide-xs", t("head-temporary"))
        self._settings = icon_button("sliders-horizontal", t("head-settings"), "nk-chat-settings")
        self._settings.props("data-nk-drawer aria-expanded=false")
        # Opens the menu that the chat's row in the sidebar has: see conversations.js.
        self._menu = icon_button("ellipsis", t("head-menu"), "nk-chat-menu")
        self._menu.props("data-nk-chat-menu aria-haspopup=menu")
        with tag("a", "nk-ib nk-only-sm", href="/", aria_label=t("head-new-chat")) as link:
            icon("square-pen", 20)
        link.on("click.prevent", self._actions.new_chat, args=[])

    def _sees_models(self) -> bool:
        return self._user.role is UserRole.ADMIN

    def show_chat(self, conversation: Conversation | None, *, is_new: bool, is_temporary: bool) -> None:
        self._is_temporary = is_temporary
        self._menu.set_visibility(conversation is not None and not is_temporary)
        self._temporary.set_visibility(is_new)
        self._temporary.props["aria-pressed"] = "true" if is_temporary else "false"
        self._temporary.classes(add="on") if is_temporary else self._temporary.classes(remove="on")
        self._temporary.update()
        self._temporary_tag.set_visibility(is_temporary and not is_new)
        self._settings.set_visibility(is_new or conversation is not None)

    def open_models(self) -> None:
        self._picker.open()

    def show_models(
        self, models: Sequence[ModelEntry], choice: Choice, room: SetupRoom, speeds: Mapping[str, float]
    ) -> None:
        preset = room.preset
        self._picker.show(
            models, choice.entry, choice.absence, room.presets, preset.id if preset is not None else None, speeds
        )
        label = t("head-settings" if room.setup.is_plain else "head-settings-changed")
        if self._settings.props["aria-label"] != label:
            self._settings.props.update({"aria-label": label, "title": label})
            self._settings.classes(remove="changed") if room.setup.is_plain else self._settings.classes(add="changed")
            self._settings.update()

    def show_context(self, use: ContextUse | None) -> None:
        self._gauge.show(use)

    def show_heading(self, text: str) -> None:
        """For who finds their way by headings. "" on an empty page, whose greeting is one itself."""
        self._heading.clear()
        if text:
            with self._heading:
                tag("h1", "", text)
