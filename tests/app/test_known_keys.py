"""API keys that are kept in mind: never for longer than the database says the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlmodel import Session

from app.services.known_keys import KnownKeys
from store import accounts
from store.database import Database
from store.tables import User, UserRole

HASH = "a" * 64


@pytest.fixture
def keys(database: Database) -> KnownKeys:
    return KnownKeys(database)


@pytest.fixture
def elsewhere(database: Database) -> Iterator[Database]:
    """The same file in another process."""
    other = Database.open(database.path)
    yield other
    other.close()


@pytest.fixture
def ids(database: Database) -> tuple[str, str]:
    """Of a person and their key."""

    def add(session: Session) -> tuple[str, str]:
        accounts.add_user(session, "Anna", "anna", "-", UserRole.ADMIN)
        ben = accounts.add_user(session, "Ben", "ben", "-", UserRole.ADMIN)
        assert ben is not None
        key = accounts.add_key(session, ben.id, "laptop", HASH, "sk-…")
        assert key is not None
        return ben.id, key.id

    return database.run_sync(add)


@pytest.fixture
def asked(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hashes that the database was asked for."""
    hashes: list[str] = []
    read = database.read

    async def noted(query: Callable[..., Any], key_hash: str) -> Any:
        hashes.append(key_hash)
        return await read(query, key_hash)

    monkeypatch.setattr(database, "read", noted)
    return hashes


async def test_a_key_is_asked_for_once(keys: KnownKeys, ids: tuple[str, str], asked: list[str]) -> None:
    for _ in range(3):
        known = await keys.find(HASH)
        assert known is not None and (known[0].id, known[1].id) == ids
    assert asked == [HASH]


async def test_what_is_no_key_is_asked_for_each_time(keys: KnownKeys, asked: list[str]) -> None:
    assert [await keys.find("b" * 64) for _ in range(2)] == [None, None]
    assert len(asked) == 2


def _revoke(database: Database, user_id: str, key_id: str) -> None:
    database.run_sync(accounts.revoke_key, user_id, key_id)


def _disable(database: Database, user_id: str, key_id: str) -> None:
    database.run_sync(accounts.set_active, user_id, False)


def _remove(database: Database, user_id: str, key_id: str) -> None:
    database.run_sync(accounts.remove_user, user_id)


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize("end", [_revoke, _disable, _remove])
async def test_it_ends_with_the_next_request(
    keys: KnownKeys, database: Database, elsewhere: Database, ids: tuple[str, str], is_elsewhere: bool,
    end: Callable[[Database, str, str], None],
) -> None:
    assert await keys.find(HASH) is not None
    end(elsewhere if is_elsewhere else database, *ids)
    assert await keys.find(HASH) is None


async def test_an_owner_who_is_no_admin_any_more_is_none(
    keys: KnownKeys, elsewhere: Database, ids: tuple[str, str]
) -> None:
    async def owner() -> User:
        known = await keys.find(HASH)
        assert known is not None
        return known[0]

    assert (await owner()).role is UserRole.ADMIN
    elsewhere.run_sync(accounts.set_role, ids[0], UserRole.USER)
    assert (await owner()).role is UserRole.USER


async def test_what_ended_while_it_was_asked_for_is_not_kept(
    keys: KnownKeys, database: Database, elsewhere: Database, ids: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = database.read

    async def read_too_early(query: Callable[..., Any], key_hash: str) -> Any:
        found = await read(query, key_hash)
        monkeypatch.setattr(database, "read", read)
        _revoke(elsewhere, *ids)
        assert await keys.find(HASH) is None        # another request, which has seen the newer version
        return found

    monkeypatch.setattr(database, "read", read_too_early)
    await keys.find(HASH)
    assert await keys.find(HASH) is None


async def test_without_a_version_the_database_is_asked_each_time(
    keys: KnownKeys, database: Database, ids: tuple[str, str], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "version", lambda: None)
    assert await keys.find(HASH) is not None and await keys.find(HASH) is not None
    assert len(asked) == 2
