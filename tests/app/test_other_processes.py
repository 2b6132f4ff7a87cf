"""What the command line does to models and connections reaches the open pages of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from sqlmodel import Session

from app.services.changes import Change
from app.services.container import Services
from store import connections, models
from store.database import Database
from store.tables import Model


@pytest.fixture
def elsewhere(services: Services) -> Iterator[Database]:
    """The database as another process has it open."""
    opened = Database.open(services.settings.database_path)
    yield opened
    opened.close()


async def heard(services: Services) -> list[Change]:
    """What pages are told by one look."""
    told: list[Change] = []
    stop = services.changes.watch("somebody", told.append)
    await services.other_processes.look()
    await asyncio.sleep(0)              # each watcher has a turn of its own
    stop()
    return told


@pytest.mark.parametrize("change", [
    lambda session: connections.set_allowed(session, True),
    lambda session: models.remove(session, "parrot"),
    lambda session: models.upsert(session, _another(session)),
])
async def test_a_change_by_another_process_is_told_once(
    services: Services, elsewhere: Database, change: Callable[..., object]
) -> None:
    assert await heard(services) == []                      # nothing to hold it against
    assert await heard(services) == []
    await elsewhere.run(change)
    assert await heard(services) == [Change("models")]
    assert await heard(services) == []


async def test_what_concerns_no_model_is_not_told(services: Services, elsewhere: Database, user_id: str) -> None:
    await heard(services)
    before = services.db.written_at()
    await services.titles.set_wanted(user_id, False)
    assert services.db.written_at() != before and await heard(services) == []


def _another(session: Session) -> Model:
    parrot = models.get(session, "parrot")
    assert parrot is not None
    return Model(**{**parrot.model_dump(), "id": "other", "name": "Other", "is_default": False})
