"""The sidebar of the chat page: a new chat, and the chats there are, by day; see conversations.js."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nicegui.element import Element

from store.tables import Conversation
from ui.components.elements import icon, tag
from ui.words import day_group


@dataclass(frozen=True, slots=True)
class SidebarActions:
    new_chat: Callable[[], Awaitable[None]]
    open: Callable[[str], Awaitable[None]]
    rename: Callable[[str, str], Awaitable[None]]
    delete: Callable[[str], Awaitable[None]]
    print: Callable[[str], Awaitable[None]]
    more: Callable[[], Awaitable[None]]


class ConversationList(Element, component="conversations.js"):
    def __init__(self, actions: SidebarActions) -> None:
        super().__init__()
        self._props.update(items=[], active="", more=False)
        self.on("open", lambda event: actions.open(event.args))
        self.on("rename", lambda event: actions.rename(event.args["id"], event.args["title"]))
        self.on("delete", lambda event: actions.delete(event.args))
        self.on("print", lambda event: actions.print(event.args))
        self.on("more", actions.more)

    def show(
        self, conversations: Sequence[Conversation], *, active: str | None, writing: Collection[str], more: bool
    ) -> None:
        now = datetime.now().astimezone()
        wanted: dict[str, Any] = {
            "items": [
                {
                    "id": conversation.id,
                    "title": conversation.title,
                    "group": day_group(conversation.updated_at.astimezone(), now),
                    "writing": conversation.id in writing,
                }
                for conversation in conversations
            ],
            "active": active or "",
            "more": more,
        }
        if any(self._props[key] != value for key, value in wanted.items()):
            self._props.update(wanted)
            self.update()


def chat_sidebar(actions: SidebarActions, keys: str) -> ConversationList:
    """`keys` names the shortcut of a new chat on this reader's keyboard."""
    with tag("nav", "nk-side-act"), tag("a", "nk-nav strong", href="/") as link:
        icon("square-pen")
        tag("span", text="New chat")
        tag("kbd", "", keys)
    link.props("data-nk-new-chat data-nk-close-menu")
    link.on("click.exact.prevent", actions.new_chat, args=[])
    return ConversationList(actions)
