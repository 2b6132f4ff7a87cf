"""Small values that services hand to both faces, the pages and the API, beside the rows of `store.tables`."""

from __future__ import annotations

from dataclasses import dataclass

from store.search import HIGHLIGHT_END, HIGHLIGHT_START, SearchHit
from store.tables import Message

__all__ = ["HIGHLIGHT_END", "HIGHLIGHT_START", "SearchHit", "ThreadMessage"]


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message of a branch, and its versions: edits or regenerations, oldest first, itself included."""

    message: Message
    sibling_index: int
    sibling_ids: tuple[str, ...]
