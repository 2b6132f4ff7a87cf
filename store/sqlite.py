"""How the file is opened, and what SQLite's errors mean to a person. For `store.database` and `store.upgrade`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from store.errors import DatabaseUnusable

BUSY_TIMEOUT_MS = 5000                     # another process, the command line say, may hold the write lock meanwhile
WAL_ATTEMPTS = 50
_WRITES = "inglenook_writes"

_ADVICE = {                                # SQLite's primary result code: what happened, and what to do
    "SQLITE_FULL": "The disk is full, nothing of this step was saved. Free some space and try again.",
    "SQLITE_BUSY": "Another process is writing to the database for a long time. Try again, or end the other process.",
    "SQLITE_LOCKED": "Another process is writing to the database for a long time. Try again, or end the other process.",
    "SQLITE_READONLY": "The database file or its folder is read-only for this user. Correct owner or permissions.",
    "SQLITE_CANTOPEN": "The database file cannot be opened. Check that its folder exists and belongs to this user.",
    "SQLITE_PERM": "The database file cannot be opened. Check that its folder exists and belongs to this user.",
    "SQLITE_IOERR": "Reading or writing the database file failed. Is the disk full or broken? Copies are in `backups`.",
    "SQLITE_CORRUPT": "The database file is damaged. Stop Inglenook and put a copy from `backups` in its place.",
    "SQLITE_NOTADB": "This file is not a database of Inglenook's. Move it away, or choose another data folder.",
}


def connect(path: Path, *, foreign_keys: bool = True) -> sqlite3.Connection:
    """No implicit BEGIN or COMMIT by the driver: it would end a transaction before each CREATE TABLE."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
    connection.execute("PRAGMA synchronous = NORMAL")      # with WAL: a killed process loses nothing that was committed
    return connection


def connect_to_watch(path: Path) -> sqlite3.Connection:
    """For the event loop, which never waits: where the file is locked, this raises at once."""
    connection = connect(path)
    connection.execute("PRAGMA busy_timeout = 0")
    return connection


def use_wal(connection: sqlite3.Connection) -> None:
    """For the file, for good. Processes that start together may be in each other's way here: SQLite does not wait for
    the lock that this takes, but it does for the one of who writes, and afterwards the file may be in WAL mode already.
    """
    for attempts_left in reversed(range(WAL_ATTEMPTS)):
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not attempts_left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")


def make_engine(path: Path, *, foreign_keys: bool = True) -> Engine:
    """Transactions are BEGIN ones, or BEGIN IMMEDIATE through `for_writing`."""
    sql_engine = create_engine(
        "sqlite://", creator=lambda: connect(path, foreign_keys=foreign_keys), poolclass=QueuePool, pool_size=8
    )
    event.listen(sql_engine, "begin", _begin)
    return sql_engine


def make_engine_in_memory() -> Engine:
    """One connection, whose database never touches a disk: sorting takes no file either, and what goes is wiped."""
    connection = connect(Path(":memory:"), foreign_keys=False)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA secure_delete = ON")
    sql_engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    event.listen(sql_engine, "begin", _begin)
    return sql_engine


def for_writing(sql_engine: Engine) -> Engine:
    """The write lock is taken first: a reader that turns writer fails at once when another wrote in between."""
    return sql_engine.execution_options(**{_WRITES: True})


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")


@contextmanager
def readable_errors(path: Path) -> Iterator[None]:
    """Turn a failing file or disk into `DatabaseUnusable`; errors of a statement pass as they are."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        advice = _advice(error.orig if isinstance(error, DBAPIError) else error)
        if advice is None:
            raise
        raise DatabaseUnusable(f"{advice} ({path})") from error


def _advice(error: Any) -> str | None:
    name: str = getattr(error, "sqlite_errorname", None) or ""
    return _ADVICE.get("_".join(name.split("_")[:2]))      # SQLITE_IOERR_WRITE and its kin are SQLITE_IOERR


def storable(text: str) -> str:
    """Half a surrogate pair, which a browser or a model can send, is no text to SQLite: U+FFFD takes its place."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
