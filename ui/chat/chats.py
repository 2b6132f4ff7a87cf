"""The sidebar's side of the chat page: which chats it lists, and what is done to them there. On the event loop.

`ChatPage` owns it, says which chat is shown, and opens the one that is asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.errors import AppError
from app.services.container import Services
from store.tables import Conversation
from ui.components.sidebar import ConversationList, SidebarActions, chat_sidebar
from ui.components.toast import Toast

NUM_LISTED = 100        # chats, and as many more each time they are asked for


@dataclass(frozen=True, slots=True)
class PageActions:
    """What the list asks of its page."""

    open: Callable[[str], Awaitable[None]]
    new_chat: Callable[[], Awaitable[None]]
    print: Callable[[str], Awaitable[None]]
    refuse: Callable[[Exception], None]
    shown: Callable[[], str | None]         # the id of the chat that is shown, or will be in a moment


class ChatList:
    def __init__(self, services: Services, user_id: str, page: PageActions) -> None:
        self._services = services
        self._user_id = user_id
        self._page = page
        self._num_listed = NUM_LISTED
        self._deleted_here: str | None = None       # the chat that was shown when it was deleted

    def build(self, *, is_mac: bool) -> None:
        actions = SidebarActions(
            new_chat=self._page.new_chat, open=self._page.open, rename=self._rename, delete=self.delete,
            print=self._page.print, more=self._list_more,
        )
        self._list: ConversationList = chat_sidebar(actions, "⌘ ⇧ O" if is_mac else "Ctrl ⇧ O")

    def build_toast(self) -> None:
        self._toast = Toast(on_act=self._undo_delete)

    async def show(self, active_id: str | None) -> None:
        """Read the list again, and show what differs. The chat of `active_id` is marked as the one that is open."""
        conversations = await self._services.conversations.list_recent(self._user_id, limit=self._num_listed + 1)
        self._list.show(
            conversations[:self._num_listed],
            active=active_id,
            writing=self._services.generations.conversations_being_written(self._user_id),
            more=len(conversations) > self._num_listed,
        )
        self._active_id = active_id

    def start_rename(self, conversation: Conversation) -> None:
        self._list.run_method("startRename", {"id": conversation.id, "title": conversation.title})

    async def delete(self, conversation_id: str) -> None:
        """No question beforehand: it can be undone."""
        if not await self._try(self._services.conversations.delete(self._user_id, conversation_id)):
            return
        if self._page.shown() == conversation_id:
            self._deleted_here = conversation_id
            await self._page.new_chat()
        self._toast.show("Chat deleted", action="Undo", subject=conversation_id)

    async def _undo_delete(self, conversation_id: str) -> None:
        is_back = await self._try(self._services.conversations.restore(self._user_id, conversation_id))
        if is_back and self._deleted_here == conversation_id and self._page.shown() is None:
            await self._page.open(conversation_id)

    async def _rename(self, conversation_id: str, title: str) -> None:
        await self._try(self._services.conversations.rename(self._user_id, conversation_id, title))

    async def _list_more(self) -> None:
        self._num_listed += NUM_LISTED
        await self.show(self._active_id)

    async def _try(self, action: Awaitable[object]) -> bool:
        """Whether it could be done; if not, the page says why."""
        try:
            await action
        except AppError as error:
            self._page.refuse(error)
            return False
        return True
