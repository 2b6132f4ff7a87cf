"""The sidebar of the chat page: a new chat, the search, and all chats there are; see conversations.js.

What a person does there arrives as `Act`s and a few events; `ui.chat.chats` does it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui.element import Element

from ui.language import t
from ui.theme import ASSETS

Act = Mapping[str, Any]         # {"do": "move", "ids": [...], ...}: see assets/build/sidebar/menu.js and drag.js


@dataclass(frozen=True, slots=True)
class SidebarActions:
    new_chat: Callable[[], Awaitable[None]]
    open: Callable[[str, str | None], Awaitable[None]]      # a chat, and the message in it to go to
    rename: Callable[[str, str], Awaitable[None]]
    rename_folder: Callable[[str, str], Awaitable[None]]
    print: Callable[[str], Awaitable[None]]
    act: Callable[[Act], Awaitable[None]]
    undo: Callable[[], Awaitable[None]]                     # the last step


class ConversationList(
    Element,
    component="conversations.js",
    esm={"inglenook-sidebar": str(ASSETS / "vendor" / "sidebar")},
):
    """Rows come by themselves, from ui/lists.py; `first` are those of the first sight, which come with the page."""

    def __init__(self, actions: SidebarActions, *, is_mac: bool) -> None:
        super().__init__()
        mod = "⌘" if is_mac else t("key-mod")
        self._props.update(
            outline={"pinned": 0, "archived": 0, "folders": [], "days": [], "tags": [], "models": []},
            first=[], active="", writing=[], version=0,
            keysNew=f"{mod} ⇧ O", keysSearch=f"{mod} ⇧ F",
        )
        self.on("new-chat", actions.new_chat, args=[])
        self.on("open", lambda event: actions.open(event.args["id"], event.args.get("message")))
        self.on("rename", lambda event: actions.rename(event.args["id"], event.args["title"]))
        self.on("rename-folder", lambda event: actions.rename_folder(event.args["id"], event.args["title"]))
        self.on("print", lambda event: actions.print(event.args))
        self.on("act", lambda event: actions.act(event.args))
        self.on("undo", actions.undo, args=[])

    def show_first(self, rows: Sequence[tuple[str, list[dict[str, Any]]]]) -> None:
        """Before the page is sent."""
        self._props["first"] = [{"place": place, "rows": page} for place, page in rows]

    def show_outline(self, outline: Mapping[str, Any]) -> None:
        """How the list lies now. The rows in sight are read again, for a title may have changed."""
        self._props.update(outline=outline, version=self._props["version"] + 1)
        self.update()

    def show(self, *, active: str | None, writing: Collection[str]) -> None:
        wanted: dict[str, Any] = {"active": active or "", "writing": sorted(writing)}
        if any(self._props[key] != value for key, value in wanted.items()):
            self._props.update(wanted)
            self.update()
