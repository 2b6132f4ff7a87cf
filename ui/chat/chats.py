"""The sidebar's side of the chat page: how its list lies, what is done to chats there, and how it is undone.

`ChatPage` owns it, says which chat is shown, and opens the one that is asked for. On the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count

from app.services.container import Services
from app.services.organise import OrganiseService
from store.sidebar import Place
from store.undo import Before
from ui.components.sidebar import Act, ConversationList, SidebarActions
from ui.components.toast import Toast
from ui.language import FORESEEN, t, told
from ui.lists import outline_of, row_of

NUM_FIRST = 60          # rows of each list that come with the page: as many as the browser reads at a time
NUM_STEPS = 30          # that can be undone


@dataclass(frozen=True, slots=True)
class PageActions:
    """What the list asks of its page."""

    open: Callable[[str, str | None], Awaitable[None]]      # a chat, and the message in it to go to
    new_chat: Callable[[], Awaitable[None]]
    print: Callable[[str], Awaitable[None]]
    shown: Callable[[], str | None]         # the id of the chat that is shown, or will be in a moment


@dataclass(frozen=True, slots=True)
class _Step:
    before: Before
    shown_id: str | None = None             # the chat that was shown, if this took it away


class ChatList:
    def __init__(self, services: Services, user_id: str, page: PageActions) -> None:
        self._services = services
        self._user_id = user_id
        self._page = page
        self._steps: dict[str, _Step] = {}      # by what their toast calls them, the oldest first
        self._numbers = count(1)

    def build(self, *, is_mac: bool) -> None:
        actions = SidebarActions(
            new_chat=self._page.new_chat, open=self._page.open, rename=self._rename,
            rename_folder=self._rename_folder, print=self._page.print, act=self._act, undo=self._undo_last,
        )
        self._list = ConversationList(actions, is_mac=is_mac)

    def build_toast(self) -> None:
        self._toast = Toast(on_act=self._undo)

    async def read(self, *, is_first: bool = False) -> None:
        """How the list lies now; of a new page, its first rows too."""
        listing = self._services.listing
        outline, labels = await asyncio.gather(
            listing.outline(self._user_id), self._services.organise.labels(self._user_id)
        )
        with self._list:        # in the page's language
            self._list.show_outline(outline_of(outline, labels))
        if is_first:
            pages = [
                (kind, await listing.page(self._user_id, Place(kind), offset=0, limit=NUM_FIRST))
                for kind in ("pinned", "days")
            ]
            self._list.show_first([(kind, [row_of(row) for row in rows]) for kind, rows in pages if rows])

    def show(self, active_id: str | None) -> None:
        """The chat of `active_id` is marked as the one that is open."""
        writing = self._services.generations.conversations_being_written(self._user_id)
        self._list.show(active=active_id, writing=writing)

    # --- what is done, and undone -------------------------------------------------------------------------------------

    async def _act(self, act: Act) -> None:
        organise, user_id = self._services.organise, self._user_id
        ids = [each for each in act.get("ids") or () if isinstance(each, str)]
        step: Awaitable[Before]
        match act.get("do"):
            case "move":
                done, step = "moved", organise.move(user_id, ids, act.get("folder"))
            case "pin":
                done, step = "pinned", organise.pin(user_id, ids, act.get("before"))
            case "unpin":
                done, step = "unpinned", organise.unpin(user_id, ids)
            case "archive":
                done, step = "archived", organise.archive(user_id, ids)
            case "unarchive":
                done, step = "unarchived", organise.archive(user_id, ids, is_archived=False)
            case "delete":
                done, step = "deleted", organise.delete(user_id, ids)
            case "tag":
                done, step = "tagged", organise.tag(user_id, ids, str(act.get("name") or ""))
            case "untag":
                done, step = "untagged", organise.untag(user_id, ids, str(act.get("tag") or ""))
            case "create_folder":
                done, step = "folder", _new_folder(organise, user_id, act, ids)
            case "delete_folder":
                done, step = "folder-deleted", organise.delete_folder(user_id, str(act.get("folder") or ""))
            case "place_folder":
                done, step = "folder-moved", organise.place_folder(
                    user_id, str(act.get("folder") or ""), parent_id=act.get("parent"), before_id=act.get("before")
                )
            case _:
                return
        await self._do(step, f"sidebar-done-{done}", ids)

    async def _rename(self, conversation_id: str, title: str) -> None:
        await self._do(
            self._services.organise.rename(self._user_id, conversation_id, title), "sidebar-done-renamed"
        )

    async def _rename_folder(self, folder_id: str, name: str) -> None:
        await self._do(
            self._services.organise.rename_folder(self._user_id, folder_id, name), "sidebar-done-renamed"
        )

    async def _do(self, step: Awaitable[Before], message_id: str, ids: Sequence[str] = ()) -> None:
        """`ids`: of the chats that were meant. Told is of how many it is true: others may have gone meanwhile."""
        try:
            before = await step
        except FORESEEN as error:
            self._refuse(error)
            return
        if not before:
            return                          # it was so already
        done = t(message_id, count=len(before.conversation_ids.intersection(ids)))
        shown_id = self._page.shown()
        takes_away = any(
            row.key == (shown_id,) and row.values is not None and "deleted_at" in row.values for row in before.rows
        )
        number = str(next(self._numbers))
        self._steps[number] = _Step(before, shown_id if takes_away else None)
        while len(self._steps) > NUM_STEPS:
            del self._steps[next(iter(self._steps))]
        if takes_away:
            await self._page.new_chat()
        self._toast.show(done, action=t("sidebar-undo"), subject=number)

    def _refuse(self, error: Exception) -> None:
        """Where what is done is told too: on a phone the list lies over the conversation and its composer."""
        self._toast.show(told(error))

    async def _undo_last(self) -> None:
        if self._steps:
            await self._undo(next(reversed(self._steps)))

    async def _undo(self, number: str) -> None:
        step = self._steps.pop(number, None)
        if step is None:
            return
        try:
            await self._services.organise.undo(self._user_id, step.before)
        except FORESEEN as error:
            self._refuse(error)
            return
        if step.shown_id is not None and self._page.shown() is None:
            await self._page.open(step.shown_id, None)


async def _new_folder(organise: OrganiseService, user_id: str, act: Act, ids: list[str]) -> Before:
    """With these chats in it, if there are any; undone together."""
    folder, made = await organise.create_folder(user_id, str(act.get("name") or ""), parent_id=act.get("parent"))
    return made + await organise.move(user_id, ids, folder.id) if ids else made
