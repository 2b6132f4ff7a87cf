"""What is typed into the search: words, and filters among them. Pure functions, used by `app.services.searching`.

    lease tag:work in:"Moving office" before:2026-10 after:2026-03-01 from:me is:pinned is:archived model:qwen

Each filter has its name in every language of the pages; the words that a page offers come from its own. A filter that
is not finished yet, or that says nothing sensible, is left out of the search rather than searched for as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from store.tables import MessageRole

_PART = re.compile(r'(?P<name>[^\W\d_]+):(?:"(?P<quoted>[^"]*)"?|(?P<plain>\S*))|(?P<word>\S+)')
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")

# Spelt as people type them, in English and German.
NAMES: Final = {
    "tag": "tag", "schlagwort": "tag",
    "in": "folder", "folder": "folder", "ordner": "folder",
    "is": "is", "ist": "is",
    "before": "before", "vor": "before",
    "after": "after", "since": "after", "nach": "after", "seit": "after", "ab": "after",
    "from": "role", "von": "role", "role": "role",
    "model": "model", "modell": "model",
}
_ROLES: Final = {
    "me": MessageRole.USER, "user": MessageRole.USER, "mir": MessageRole.USER, "ich": MessageRole.USER,
    "model": MessageRole.ASSISTANT, "assistant": MessageRole.ASSISTANT, "modell": MessageRole.ASSISTANT,
}
_DAYS_AGO: Final = {"today": 0, "heute": 0, "yesterday": 1, "gestern": 1}


@dataclass(frozen=True, slots=True)
class SearchWords:
    """Folder and tags by the names that were typed, or their beginnings."""

    words: str = ""
    folder: str | None = None
    tags: tuple[str, ...] = ()
    is_archived: bool | None = None
    is_pinned: bool | None = None
    before: datetime | None = None
    after: datetime | None = None
    role: MessageRole | None = None
    model: str = ""
    filters: tuple[str, ...] = field(default=(), compare=False)      # as they were typed


def read_search(typed: str, now: datetime) -> SearchWords:
    """`now` is local: days and months begin where its reader is."""
    read = SearchWords()
    words: list[str] = []
    filters: list[str] = []
    for part, name, value in _parts(typed):
        if name is None:
            words.append(part)
        else:
            filters.append(part)
            read = _with(read, name, value, now)
    return replace(read, words=" ".join(words), filters=tuple(filters))


def _parts(typed: str) -> Iterator[tuple[str, str | None, str]]:
    for found in _PART.finditer(typed):
        name = NAMES.get((found["name"] or "").casefold())
        yield found[0], name, (found["quoted"] or found["plain"] or "").strip()


def _with(read: SearchWords, name: str, value: str, now: datetime) -> SearchWords:
    key = value.casefold()
    if not value:
        return read
    if name == "tag":
        return replace(read, tags=(*read.tags, value))
    if name == "folder":
        return replace(read, folder=value)
    if name == "model":
        return replace(read, model=value)
    if name == "role":
        return replace(read, role=_ROLES.get(key, read.role))
    if name == "is":
        return _IS[key](read) if key in _IS else read
    at = _moment(key, now)
    if at is None:
        return read
    return replace(read, before=at) if name == "before" else replace(read, after=at)


_IS: Final[dict[str, Callable[[SearchWords], SearchWords]]] = {
    **dict.fromkeys(("pinned", "angeheftet"), lambda read: replace(read, is_pinned=True)),
    **dict.fromkeys(("archived", "archiviert"), lambda read: replace(read, is_archived=True)),
    **dict.fromkeys(("active", "aktiv"), lambda read: replace(read, is_archived=False)),
}


def _moment(value: str, now: datetime) -> datetime | None:
    """The first moment of a year, a month or a day."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if value in _DAYS_AGO:
        return midnight - timedelta(days=_DAYS_AGO[value])
    found = _DATE.fullmatch(value.rstrip("-"))
    if found is None:
        return None
    year, month, day = (int(part) if part else 1 for part in found.groups())
    try:
        return midnight.replace(year=year, month=month, day=day)
    except ValueError:
        return None
