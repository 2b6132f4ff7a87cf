"""The shape of a conversation: which message hangs under which. For `store.messages` and `store.deletions`, on a store
thread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from store.tables import Message


@dataclass(frozen=True, slots=True)
class Tree:
    """A conversation's shape without its texts, oldest message first. What is deleted is not in it."""

    parents: dict[str, str | None] = field(default_factory=dict)
    children: dict[str | None, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def load(cls, session: Session, conversation_id: str) -> Tree:
        tree = cls()
        rows = session.exec(
            select(Message.id, Message.parent_id)
            .where(Message.conversation_id == conversation_id, col(Message.deleted_at).is_(None))
            .order_by(col(Message.created_at), col(Message.id))
        )
        for message_id, parent_id in rows:
            tree.parents[message_id] = parent_id
            tree.children[parent_id].append(message_id)
        return tree

    def siblings(self, message_id: str) -> tuple[str, ...]:
        return tuple(self.children[self.parents[message_id]])

    def path(self, leaf_id: str) -> list[str]:
        path: list[str] = []
        message_id: str | None = leaf_id
        while message_id is not None:
            path.append(message_id)
            message_id = self.parents[message_id]
        return path[::-1]

    def parents_first(self) -> Iterator[str]:
        waiting = [*reversed(self.children[None])]
        while waiting:
            message_id = waiting.pop()
            yield message_id
            waiting.extend(reversed(self.children.get(message_id, ())))

    def under(self, root_id: str) -> set[str]:
        """`root_id` and all that hangs under it."""
        under, waiting = set(), [root_id]
        while waiting:
            message_id = waiting.pop()
            under.add(message_id)
            waiting.extend(self.children.get(message_id, ()))
        return under

    def newest_leaf(self, root_id: str) -> str:
        """Of what hangs under `root_id`; itself if nothing does."""
        under = self.under(root_id)
        leaves = (message_id for message_id in reversed(self.parents) if message_id not in self.children)
        return next(leaf for leaf in leaves if leaf in under)
