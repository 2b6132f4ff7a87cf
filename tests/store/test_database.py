"""Transactions, threads, and files that cannot be used."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from store import accounts, settings
from store.database import Database
from store.errors import DatabaseClosed, DatabaseUnusable
from store.tables import ApiKey, UserRole

pytestmark = pytest.mark.filterwarnings("error::ResourceWarning")


def thread_name(session: Session) -> str:
    return threading.current_thread().name


def add_one(session: Session) -> None:
    settings.set_of_system(session, "count", settings.get_of_system(session, "count", 0) + 1)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_only_the_owner_can_read_a_new_file(tmp_path: Path) -> None:
    database = Database.open(tmp_path / "data" / "inglenook.sqlite3")
    database.run_sync(add_one)
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in database.path.parent.iterdir()} == {0o600}
    database.close()


def test_the_file_is_in_wal_mode_with_foreign_keys(database: Database) -> None:
    with database.session() as session:
        connection = session.connection()
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 5000


async def test_queries_run_on_store_threads(database: Database) -> None:
    assert (await database.run(thread_name)).startswith("store-writer")
    assert (await database.read(thread_name)).startswith("store-reader")
    assert database.run_sync(thread_name) == threading.current_thread().name


async def test_rows_can_be_read_after_their_transaction(database: Database) -> None:
    user = await database.run(accounts.add_user, "Anna", "anna", "a hash", UserRole.ADMIN)
    assert user is not None
    assert (user.name, user.role, user.created_at.utcoffset() is not None) == ("Anna", UserRole.ADMIN, True)


async def test_an_exception_undoes_the_whole_transaction(database: Database) -> None:
    def add_then_fail(session: Session) -> None:
        settings.set_of_system(session, "count", 1)
        session.flush()
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        await database.run(add_then_fail)
    assert await database.read(settings.get_of_system, "count") is None


async def test_no_update_is_lost_between_many_at_once(database: Database) -> None:
    await asyncio.gather(*(database.run(add_one) for _ in range(50)), *(asyncio.to_thread(database.run_sync, add_one)
                                                                        for _ in range(10)))
    assert await database.read(settings.get_of_system, "count") == 60


async def test_a_reader_does_not_wait_for_a_writer(database: Database) -> None:
    writing, may_end = threading.Event(), threading.Event()

    def write_long(session: Session) -> None:
        settings.set_of_system(session, "count", 1)
        session.flush()
        writing.set()
        assert may_end.wait(10)

    write = asyncio.create_task(database.run(write_long))
    await asyncio.to_thread(writing.wait, 10)
    assert await database.read(settings.get_of_system, "count") is None
    may_end.set()
    await write
    assert await database.read(settings.get_of_system, "count") == 1


async def test_a_mistake_in_a_query_is_not_taken_for_a_broken_file(database: Database) -> None:
    def add_key_of_nobody(session: Session) -> None:
        session.add(ApiKey(user_id="nobody", name="a", key_hash="b", hint="c"))

    with pytest.raises(IntegrityError):
        await database.run(add_key_of_nobody)


async def test_a_lock_that_another_process_keeps_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.sqlite.BUSY_TIMEOUT_MS", 1)
    database = Database.open(tmp_path / "inglenook.sqlite3")
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseUnusable, match="Another process is writing"):
        await database.run(add_one)
    other.execute("ROLLBACK")
    await database.run(add_one)
    other.close()
    database.close()


async def test_a_full_disk_is_named_and_what_was_saved_stays(database: Database) -> None:
    await database.run(add_one)

    def fill(session: Session) -> None:
        session.connection().exec_driver_sql("PRAGMA max_page_count = 1")      # SQLite's own way to say "no more room"
        settings.set_of_system(session, "big", "x" * 1_000_000)

    with pytest.raises(DatabaseUnusable, match="The disk is full"):
        await database.run(fill)
    assert await database.read(settings.get_of_system, "count") == 1


def test_closing_leaves_one_complete_file(database: Database) -> None:
    database.run_sync(add_one)
    database.close()
    assert [file.name for file in database.path.parent.iterdir()] == ["inglenook.sqlite3"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DatabaseUnusable, match="cannot be made"):
        Database.open(tmp_path / "file" / "inglenook.sqlite3")


def test_the_version_is_another_after_anybody_has_written_and_only_then(database: Database) -> None:
    elsewhere = Database.open(database.path)
    seen = [database.version()]
    for each in (database, elsewhere):
        each.run_sync(add_one)
        seen.append(database.version())
    database.run_sync(accounts.list_users)
    assert None not in seen and len(set(seen)) == 3
    assert database.version() == seen[-1]
    elsewhere.close()


def test_a_database_in_memory_or_closed_has_no_version(database: Database) -> None:
    in_memory = Database.in_memory([])
    assert in_memory.version() is None
    in_memory.close()
    database.close()
    assert database.version() is None


async def test_who_asks_after_the_end_is_told_that_it_has_ended(tmp_path: Path) -> None:
    db = Database.open(tmp_path / "db.sqlite3")
    db.close()
    for ask in (db.read, db.run):
        with pytest.raises(DatabaseClosed, match="ended"):
            await ask(lambda session: None)
