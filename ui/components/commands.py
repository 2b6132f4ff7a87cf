"""The list of commands (Ctrl K) and the sheet of shortcuts, on every page; see commands.js. On the event loop.

The frame makes one. Chats, models and new chats open as on any link, unless the page says how it does it: the chat page
changes what it shows instead of being loaded anew.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from app.schemas import HIGHLIGHT_END, HIGHLIGHT_START
from app.services.container import Services
from store.tables import User, UserRole
from ui.shortcuts import COMMANDS
from ui.theme import ASSETS
from ui.words import day_label, model_label

NUM_RECENT = 4
NUM_HITS = 7
NUM_MODELS = 6

Opener = Callable[[str], Awaitable[None]]


class Commands(
    Element, component="commands.js", esm={"inglenook-commands": str(ASSETS / "scripts" / "commands")}
):
    def __init__(self, services: Services, user: User) -> None:
        super().__init__()
        self._services = services
        self._user = user
        self._page = ui.context.client
        self.open_chat: Opener = self._load_chat
        self.begin_chat: Opener = self._load_new_chat       # with this text in the composer
        self.use_model: Opener = self._load_with_model
        self.set_dark: Callable[[bool], Awaitable[None]]    # the frame's
        self._props.update(commands=self._offered(), marks=[HIGHLIGHT_START, HIGHLIGHT_END])
        self.on("opened", self._show_first)
        self.on("search", self._search)
        self.on("chat", lambda event: self.open_chat(event.args))
        self.on("begin", lambda event: self.begin_chat(event.args))
        self.on("model", lambda event: self.use_model(event.args))
        self.on("theme", lambda event: self.set_dark(event.args))

    def show_role(self) -> None:
        """Their reader may do other things from now on."""
        self._props["commands"] = self._offered()
        self.update()

    def _offered(self) -> list[dict[str, Any]]:
        is_admin = self._user.role is UserRole.ADMIN
        return [each.props() for each in COMMANDS if is_admin or not each.is_for_admins]

    async def _show_first(self) -> None:
        """Before anything is typed: the chats of late. And the models, which do not change with what is typed."""
        recent = await self._services.conversations.list_recent(self._user.id, limit=NUM_RECENT)
        entries = [entry.model for entry in await self._services.models.list() if not entry.model.embeds]
        self.run_method("begin", {
            "chats": [_chat(chat.id, chat.title, "", chat.updated_at) for chat in recent],
            "models": [{"id": model.id, "name": model_label(model)} for model in entries[:NUM_MODELS]],
        })

    async def _search(self, event: GenericEventArguments) -> None:
        hits = await self._services.conversations.search(self._user.id, event.args["text"], limit=NUM_HITS)
        self.run_method("found", event.args["turn"], [
            _chat(hit.conversation_id, hit.marked_title, hit.snippet if hit.message_id else "", hit.updated_at)
            for hit in hits
        ])

    async def _load_chat(self, conversation_id: str) -> None:
        self._go(f"/c/{conversation_id}")

    async def _load_new_chat(self, text: str) -> None:
        if text:
            key, draft = json.dumps(f"inglenook.draft.{self._user.id}.new"), json.dumps(text)
            self._page.run_javascript(f"sessionStorage.setItem({key}, {draft})")
        self._go("/")

    async def _load_with_model(self, model_id: str) -> None:
        self._go(f"/?model={model_id}")

    def _go(self, path: str) -> None:
        self._page.run_javascript(f"location.assign({json.dumps(path)})")


def _chat(chat_id: str, title: str, said: str, at: datetime) -> dict[str, Any]:
    """`said`: the words of a message that match, where it is not the title that does."""
    now = datetime.now().astimezone()
    return {"id": chat_id, "title": title, "said": said, "when": day_label(at.astimezone(), now)}
