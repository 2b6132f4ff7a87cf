"""The sidebar's search: typed words become filters, folders and tags are found by their names. On the event loop."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from app.schemas import SearchHit
from app.services.search_words import SearchWords, read_search
from store import folders, organise, search
from store.chat_places import name_key
from store.database import Database
from store.search import Filters

MAX_HITS = 50


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[SearchHit]
    has_more: bool
    read: SearchWords           # what was understood


class SearchService:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, user_id: str, typed: str, *, limit: int = MAX_HITS, now: datetime | None = None) -> Found:
        """By title first, then the newest. Any input is fine."""
        read = read_search(typed[:search.MAX_QUERY_CHARS], now or datetime.now().astimezone())
        hits = await self._db.read(_find, user_id, read, limit + 1)
        return Found(hits[:limit], len(hits) > limit, read)


def _find(session: Session, user_id: str, read: SearchWords, limit: int) -> list[SearchHit]:
    filters = Filters(
        folder_ids=_folder_ids(session, user_id, read.folder),
        tag_ids=_tag_ids(session, user_id, read.tags),
        is_archived=read.is_archived,
        is_pinned=read.is_pinned,
        after=read.after,
        before=read.before,
        role=read.role,
        model=read.model,
    )
    return search.search(session, user_id, read.words, limit=limit, filters=filters)


def _folder_ids(session: Session, user_id: str, name: str | None) -> tuple[str, ...] | None:
    """Those of that name, or else that begin so, with what lies in them. None where no folder was asked for."""
    if name is None:
        return None
    known = folders.list_folders(session, user_id)
    names = [name_key(folder.name) for folder in known]
    chosen = {known[at].id for at in _named(name, names)}
    return tuple(folder.id for folder in known if folder.id in chosen or folder.parent_id in chosen)


def _tag_ids(session: Session, user_id: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A tag that is not there is on no chat."""
    if not names:
        return ()
    known = [tag for tag, _ in organise.list_tags(session, user_id)]
    keys = [tag.name_key for tag in known]
    found = [[known[at].id for at in _named(name, keys)] for name in names]
    return tuple(ids[0] if ids else "" for ids in found)


def _named(name: str, keys: list[str]) -> list[int]:
    key = name_key(name)
    same = [at for at, each in enumerate(keys) if each == key]
    return same or [at for at, each in enumerate(keys) if each.startswith(key)]
