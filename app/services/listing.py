"""How the sidebar's list lies: pinned, folders, and days, in numbers; and any stretch of it. On the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from app.errors import NotFound
from app.language import Said
from store import folders, organise, sidebar
from store.database import Database
from store.sidebar import Counts, Listed, Place, Standing
from store.tables import Folder

NUM_YEARS = 30              # further back everything is one group
MAX_PAGE = 200
MAX_OFFSET = 2**40          # what SQLite counts with ends at 2**63


@dataclass(frozen=True, slots=True)
class DayGroup:
    """Chats under one heading of the days' list. `kind` is "today", "yesterday", "week", "days", "month" or "year"."""

    kind: str
    start: datetime             # local; older ones stand below
    num_chats: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    num_pinned: int
    num_archived: int
    folders: list[tuple[Folder, int]]       # each after its parent, with how many chats are listed in it
    days: list[DayGroup]                    # from today on, none of them empty


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    title: str
    tags: tuple[str, ...]


class ListingService:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def outline(self, user_id: str, now: datetime | None = None) -> Outline:
        groups = day_groups(now or datetime.now().astimezone())
        counts, known = await self._db.read(_outline, user_id, [group.start for group in groups])
        return Outline(
            num_pinned=counts.num_pinned,
            num_archived=counts.num_archived,
            folders=[(folder, counts.of_folders.get(folder.id, 0)) for folder in known],
            days=_with_numbers(groups, counts),
        )

    async def page(self, user_id: str, place: Place, *, offset: int, limit: int) -> list[Row]:
        """`limit` of MAX_PAGE at most."""
        return await self._db.read(
            _page, user_id, place, min(max(offset, 0), MAX_OFFSET), min(max(limit, 0), MAX_PAGE)
        )

    async def one(self, user_id: str, conversation_id: str) -> tuple[Row, Standing]:
        """A chat as its row shows it, and where that stands. Raises NotFound."""
        return await self._db.read(_one, user_id, conversation_id)


def day_groups(now: datetime) -> list[DayGroup]:
    """All that there may be, from the newest to the oldest. `now` is local."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    groups = [
        DayGroup("today", midnight),
        DayGroup("yesterday", midnight - timedelta(days=1)),
        DayGroup("week", midnight - timedelta(days=7)),
        DayGroup("days", midnight - timedelta(days=30)),
    ]
    months = [midnight.replace(month=month, day=1) for month in range(midnight.month, 0, -1)]
    years = [midnight.replace(year=midnight.year - back, month=1, day=1) for back in range(1, NUM_YEARS)]
    older = [DayGroup("month", start) for start in months] + [DayGroup("year", start) for start in years]
    return groups + [group for group in older if group.start < groups[-1].start]


def _with_numbers(groups: Sequence[DayGroup], counts: Counts) -> list[DayGroup]:
    """What is older than all groups goes with the last one."""
    since = [*counts.since[:-1], counts.num_by_day]
    numbers = [number - before for number, before in zip(since, [0, *since[:-1]], strict=True)]
    return [
        DayGroup(group.kind, group.start, number) for group, number in zip(groups, numbers, strict=True) if number
    ]


def _outline(session: Session, user_id: str, moments: list[datetime]) -> tuple[Counts, list[Folder]]:
    return sidebar.counts(session, user_id, moments), folders.list_folders(session, user_id)


def _page(session: Session, user_id: str, place: Place, offset: int, limit: int) -> list[Row]:
    listed: list[Listed] = sidebar.page(session, user_id, place, offset=offset, limit=limit)
    tags = organise.tags_of(session, user_id, [each.id for each in listed])
    return [Row(each.id, each.title, tuple(tags.get(each.id, ()))) for each in listed]


def _one(session: Session, user_id: str, conversation_id: str) -> tuple[Row, Standing]:
    found = sidebar.standing(session, user_id, conversation_id)
    if found is None:
        raise NotFound(Said("error-no-chat"))
    tags = organise.tags_of(session, user_id, [found.id])
    return Row(found.id, found.title, tuple(tags.get(found.id, ()))), found
