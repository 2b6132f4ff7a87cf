"""A person's conversations: listing, reading a branch, showing another, setting up, searching. On the event loop.

Whatever belongs to somebody else does not exist here: NotFound. Naming, deleting and undo: `OrganiseService`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from app.errors import InvalidInput, NotFound
from app.language import Said
from app.names import clean_label
from app.schemas import SearchHit, ThreadMessage
from app.services.changes import Change, Changes
from app.services.setup import ChatSetup
from app.services.temporary import TemporaryChats
from store import conversations, deletions, library, messages, search
from store.database import Database
from store.tables import Conversation, now

T = TypeVar("T")

GENERATED_TITLE_CHARS = 48
NEW_TITLE = "New chat"


class ConversationService:
    def __init__(self, db: Database, temporary: TemporaryChats, changes: Changes) -> None:
        self._db = db
        self._temporary = temporary
        self._changes = changes
        self._on_deleted: list[Callable[[str, str], None]] = []

    async def list_recent(
        self, user_id: str, *, limit: int = 200, before: datetime | None = None
    ) -> list[Conversation]:
        """Newest first; `before` is the `updated_at` of the last one seen."""
        return await self._db.read(conversations.list_recent, user_id, limit=limit, before=before)

    async def get(self, user_id: str, conversation_id: str) -> Conversation:
        return _found(await self._home_of(conversation_id).read(conversations.get, user_id, conversation_id))

    async def thread(self, user_id: str, conversation_id: str, leaf_id: str | None = None) -> list[ThreadMessage]:
        """The branch from the root to `leaf_id`, or the one that is shown."""
        branch = _found(await self._home_of(conversation_id).read(messages.branch, user_id, conversation_id, leaf_id))
        return [ThreadMessage(message, siblings.index(message.id), siblings) for message, siblings in branch]

    async def create(self, user_id: str, model_id: str | None = None, *, title: str = NEW_TITLE) -> Conversation:
        conversation = await self._db.run(conversations.create, user_id, title=title, model_id=model_id)
        self._changes.announce(user_id, Change("conversations", conversation.id))
        return conversation

    async def set_up(self, user_id: str, conversation_id: str, setup: ChatSetup) -> Conversation:
        """How it is answered from now on. Raises InvalidInput, whose `field` says what is wrong."""
        home, columns = self._home_of(conversation_id), setup.checked().columns()
        conversation = _found(await home.run(conversations.set_up, user_id, conversation_id, **columns))
        self._changes.announce(user_id, Change("thread", conversation_id))
        return conversation

    async def reveal(self, user_id: str, conversation_id: str, message_id: str) -> None:
        """Show the branch on which this message of the chat stands, unless that is shown already."""
        shown = await self.thread(user_id, conversation_id)
        if all(item.message.id != message_id for item in shown):
            message = _found(await self._db.read(messages.get, user_id, message_id))
            _must(message.conversation_id == conversation_id)
            await self.select_branch(user_id, message_id)

    async def select_branch(self, user_id: str, message_id: str) -> None:
        """Show the branch through this message, down to the newest leaf under it."""
        conversation = _found(await self._home_of(message_id).run(messages.show_branch, user_id, message_id))
        self._changes.announce(user_id, Change("thread", conversation.id))

    async def search(self, user_id: str, text: str, limit: int = 20) -> list[SearchHit]:
        """Plain words; what the sidebar's search understands beside them is in `app.services.searching`."""
        return await self._db.read(search.search, user_id, text, limit=limit)

    async def purge_deleted(self, older_than: timedelta) -> int:
        """Everybody's chats, and messages, that were deleted longer ago than this. How many chats there were."""
        await self._db.run(deletions.purge, now() - older_than)
        await self._db.run(library.purge, now() - older_than)
        return await self._db.run(conversations.purge, now() - older_than)

    def deleted(self, user_id: str, conversation_id: str) -> None:
        """Tell those who asked by `on_deleted`."""
        for callback in self._on_deleted:
            callback(user_id, conversation_id)

    def _home_of(self, row_id: str) -> Database:
        return self._temporary.home_of(row_id)

    def on_deleted(self, callback: Callable[[str, str], None]) -> None:
        """`callback(user_id, conversation_id)` after each deletion: what still writes there should stop."""
        self._on_deleted.append(callback)


def checked_title(title: str) -> str:
    """As a person wrote it, tidied. Raises InvalidInput where nothing is left."""
    title = clean_label(title)
    if not title:
        raise InvalidInput(Said("error-title-missing"), field="title")
    return title


def title_from(text: str) -> str:
    """A title from a chat's first message: its first words, cut between words where that leaves enough of them."""
    title = clean_label(text, max_chars=None)
    if len(title) <= GENERATED_TITLE_CHARS:
        return title or NEW_TITLE
    cut = title[:GENERATED_TITLE_CHARS]
    if not title[GENERATED_TITLE_CHARS].isspace() and " " in cut[GENERATED_TITLE_CHARS // 2:]:
        cut = cut.rpartition(" ")[0]
    return cut.rstrip(" .,;:-–—(\"'") + "…"


def _found(value: T | None) -> T:
    if value is None:
        raise NotFound(Said("error-no-chat"))
    return value


def _must(done: bool) -> None:
    _found(done or None)
