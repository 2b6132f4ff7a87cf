"""Small values that services hand to both faces, the pages and the API, beside the rows of `store.tables`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from store.search import HIGHLIGHT_END, HIGHLIGHT_START, SearchHit
from store.tables import Message

__all__ = [
    "EXPORT_PATH", "HIGHLIGHT_END", "HIGHLIGHT_START", "IMPORT_PATH", "UPLOAD_PATH", "SearchHit", "ThreadMessage",
]

EXPORT_PATH: Final = "/chats/export"        # of all chats; of one: /chats/{id}/export. See `app.api.chats`
IMPORT_PATH: Final = "/chats/import"
UPLOAD_PATH: Final = "/hub/upload"          # of a model's file. See `app.api.hub`


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a branch, and its versions: edits or regenerations, oldest first, itself included."""

    message: Message
    sibling_index: int
    sibling_ids: tuple[str, ...]
