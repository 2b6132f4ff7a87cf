"""The one door to the database: sessions, and the threads they run on. Opened by `Services.open`, and by commands
that need no more.

Services await `read` and `run` on the event loop; the query itself runs on a store thread, in one transaction.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlmodel import Session, SQLModel

from store.errors import DatabaseClosed, DatabaseUnusable
from store.sqlite import (
    connect,
    connect_to_watch,
    for_writing,
    make_engine,
    make_engine_in_memory,
    readable_errors,
    use_wal,
)
from store.upgrade import MIGRATIONS, upgrade

P = ParamSpec("P")
T = TypeVar("T")

NUM_READERS = 3


class Database:
    """SQLite has one writer at a time, so writes queue for one thread and never keep the readers' threads waiting."""

    def __init__(self, path: Path, sql_engine: Engine) -> None:
        self.path = path
        self._reading = sql_engine
        self._writing = for_writing(sql_engine)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._readers = ThreadPoolExecutor(NUM_READERS, thread_name_prefix="store-reader")
        self._watch: sqlite3.Connection | None = None       # asked for the version, and nothing else
        self._is_closed = False

    @classmethod
    def open(cls, path: Path, *, migrations: Path = MIGRATIONS) -> Database:
        """Make or upgrade the file, for its owner's eyes only. Raises StoreError; the file is then as it was."""
        _make_file(path)
        with readable_errors(path):
            upgrade(path, migrations)
            with closing(connect(path)) as connection:
                use_wal(connection)
        database = cls(path, make_engine(path))
        database._watch = connect_to_watch(path)
        return database

    @classmethod
    def in_memory(cls, tables: Sequence[type[SQLModel]]) -> Database:
        """Of these tables alone, and without what others do in the file: no foreign keys, no search. Never on a disk.

        There is one connection to it, and so one thread, which reads and writes.
        """
        sql_engine = make_engine_in_memory()
        names = [str(table.__tablename__) for table in tables]
        SQLModel.metadata.create_all(sql_engine, [SQLModel.metadata.tables[name] for name in names])
        database = cls(Path(":memory:"), sql_engine)
        database._readers = database._writer
        return database

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One transaction that may write: committed at the end, rolled back by an exception. Rows outlive it."""
        with self._session(self._writing) as session:
            yield session

    async def run(self, query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`query(session, …)` on the writer's thread. Once begun it runs to its end, cancelled or not.

        Raises DatabaseClosed after `close`.
        """
        return await self._on(self._writer, partial(self._call, self._writing, query, *args, **kwargs))

    async def read(self, query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `run`, for a query that only reads: it waits for no writer."""
        return await self._on(self._readers, partial(self._call, self._reading, query, *args, **kwargs))

    async def _on(self, threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        if self._is_closed:
            raise DatabaseClosed
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    def run_sync(self, query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`run` on the caller's own thread, for the command line."""
        return self._call(self._writing, query, *args, **kwargs)

    def read_sync(self, query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`read` on the caller's own thread: it waits for no writer of another process either."""
        return self._call(self._reading, query, *args, **kwargs)

    def version(self) -> int | None:
        """Another number after every commit, of this process or another: what was read under this one still holds.

        Some 10 µs, on the event loop. None: it cannot be told now, or of a database in memory.
        """
        if self._watch is None:
            return None
        try:
            version: int = self._watch.execute("PRAGMA data_version").fetchone()[0]
        except sqlite3.Error:           # locked this very moment, or closed: whoever asks reads anew
            return None
        return version

    def written_at(self) -> tuple[int, int] | None:
        """Changes whenever anybody, in this process or another, has written; else nothing is to be read from it."""
        try:
            journal = self.path.with_name(f"{self.path.name}-wal").stat()
        except OSError:
            return None
        return journal.st_mtime_ns, journal.st_size

    def close(self) -> None:
        """Finish what was begun, then let go of the file."""
        self._is_closed = True
        self._writer.shutdown()
        self._readers.shutdown()
        self._reading.dispose()
        if self._watch is not None:
            self._watch.close()

    def _call(
        self, sql_engine: Engine, query: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._session(sql_engine) as session:
            return query(session, *args, **kwargs)

    @contextmanager
    def _session(self, sql_engine: Engine) -> Iterator[Session]:
        with readable_errors(self.path), Session(sql_engine, expire_on_commit=False) as session, session.begin():
            yield session


def _make_file(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise DatabaseUnusable(
            f"The database file cannot be made: {error.strerror}. Correct the folder's permissions, or choose another "
            f"data folder. ({path})"
        ) from error
