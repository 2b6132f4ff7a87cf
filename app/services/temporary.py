"""Temporary chats: never stored. Their rows live in a database of their own, in this process's memory.

So whatever works on a chat's rows works on theirs. `home_of` says in which of the two databases a thing is; it alone
knows. The page that began such a chat ends it when it is left. All on the event loop, but the queries.
"""

from __future__ import annotations

from collections.abc import Callable

from store import conversations
from store.database import Database
from store.tables import Conversation, Message


class TemporaryChats:
    def __init__(self, stored: Database) -> None:
        self._stored = stored
        self._memory = Database.in_memory((Conversation, Message))
        self._owners: dict[str, str] = {}               # of its chats, by their ids
        self._chats: dict[str, str] = {}                # by the ids of their messages
        self._on_ended: list[Callable[[str, str], None]] = []

    @property
    def memory(self) -> Database:
        """Where a new one begins."""
        return self._memory

    def holds(self, conversation_id: str | None) -> bool:
        return conversation_id in self._owners

    def home_of(self, row_id: str) -> Database:
        """Of a chat or a message. Whose it is, the query finds out."""
        return self._memory if row_id in self._owners or row_id in self._chats else self._stored

    def note(self, conversation: Conversation, *message_ids: str) -> None:
        """What was just written there."""
        self._owners[conversation.id] = conversation.user_id
        self._chats.update(dict.fromkeys(message_ids, conversation.id))

    async def end(self, user_id: str, conversation_id: str) -> None:
        """What is being written there stops, and all of it is gone. Nothing happens where there is no such chat."""
        if self._owners.get(conversation_id) != user_id:
            return
        del self._owners[conversation_id]
        for callback in self._on_ended:
            callback(user_id, conversation_id)
        await self._memory.run(conversations.erase, conversation_id)
        self._chats = {message: chat for message, chat in self._chats.items() if chat != conversation_id}

    def on_ended(self, callback: Callable[[str, str], None]) -> None:
        """`callback(user_id, conversation_id)` as one ends: what still writes there should stop."""
        self._on_ended.append(callback)

    def close(self) -> None:
        self._memory.close()

