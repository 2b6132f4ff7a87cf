"""The bar over a chat: which model answers, and the chat's menu. `ChatPage` owns it. On the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.services.meter import ContextUse
from app.services.models import ModelEntry
from store.tables import Conversation, WhenFull
from ui.components.context_meter import ContextGauge
from ui.components.elements import icon, icon_button, menu, menu_item, menu_link, tag
from ui.components.frame import open_menu_buttons
from ui.components.model_picker import ModelPicker


@dataclass(frozen=True, slots=True)
class HeadActions:
    choose_model: Callable[[str], Awaitable[None]]
    new_chat: Callable[[], Awaitable[None]]
    rename: Callable[[], None]                  # this and the rest: the chat that is shown
    print: Callable[[], Awaitable[None]]
    delete: Callable[[], Awaitable[None]]
    when_full: Callable[[WhenFull], Awaitable[None]]        # what becomes of the oldest messages of this chat


class ChatHead:
    def __init__(self, actions: HeadActions) -> None:
        self._actions = actions

    def build(self) -> None:
        open_menu_buttons()
        self._heading = tag("div", "nk-sr")
        self._picker = ModelPicker(self._actions.choose_model)
        tag("span", "nk-grow")
        self._gauge = ContextGauge(self._actions.when_full)
        with icon_button("ellipsis", "Chat menu", "nk-not-sm") as self._menu, menu("bottom right", "top right"):
            menu_item("Rename", "pencil").on("click", self._actions.rename)
            self._export_links = {
                form: menu_link(f"Export as {name}", icon_name)
                for form, name, icon_name in (("json", "JSON", "download"), ("markdown", "Markdown", "file-text"))
            }
            menu_item("Print", "printer").on("click", self._actions.print)
            tag("hr")
            menu_item("Delete", "trash-2", classes="danger").on("click", self._actions.delete)
        with tag("a", "nk-ib nk-only-sm", href="/", aria_label="New chat") as link:
            icon("square-pen", 20)
        link.on("click.prevent", self._actions.new_chat, args=[])

    def show_chat(self, conversation: Conversation | None) -> None:
        self._menu.set_visibility(conversation is not None)
        if conversation is not None:
            for form, link in self._export_links.items():
                link.props["href"] = f"/chats/{conversation.id}/export?form={form}"

    def show_models(self, models: Sequence[ModelEntry], chosen: ModelEntry | None) -> None:
        self._picker.show(models, chosen.model.id if chosen else None)

    def show_context(self, use: ContextUse | None) -> None:
        self._gauge.show(use)

    def show_heading(self, text: str) -> None:
        """For who finds their way by headings. "" on an empty page, whose greeting is one itself."""
        self._heading.clear()
        if text:
            with self._heading:
                tag("h1", "", text)
