"""Brings a database file to this version's schema, before anything else opens it. Called by `Database.open`, at start.

All pending migrations run in one transaction that also moves `PRAGMA user_version`: whatever ends the process, the file
is wholly at the old schema or wholly at the new one. A copy is made first. A newer version's file is only looked at.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import structlog
from sqlalchemy import Connection

from store.errors import DatabaseTooNew, DatabaseUnusable, MigrationFailed, StoreError
from store.sqlite import connect, for_writing, make_engine

MIGRATIONS = Path(__file__).parent / "migrations"
NUM_BACKUPS_KEPT = 5

log = structlog.get_logger(__name__)


def upgrade(path: Path, migrations: Path = MIGRATIONS) -> None:
    """Raises DatabaseUnusable, DatabaseTooNew or MigrationFailed; the file is then as it was."""
    newest = newest_version(migrations)
    version = _look(path)
    if version > newest:
        raise DatabaseTooNew(
            f"This data was written by a newer Inglenook (schema {version}; this one knows {newest}) and was left as "
            f"it is. Start the newer version, or choose another data folder. ({path})"
        )
    if version < newest:
        _migrate(path, migrations, newest)


def newest_version(migrations: Path = MIGRATIONS) -> int:
    """The files are named `0001_what.py`; reading their names keeps Alembic out of an ordinary start."""
    return max(int(file.name[:4]) for file in (migrations / "versions").glob("[0-9][0-9][0-9][0-9]_*.py"))


def _look(path: Path) -> int:
    """The file's version, 0 when empty."""
    # A log that a crash left is read but not put into the file, which may be a newer version's. Without one, a reader
    # that may write tidies up after itself, and rolls back an interrupted first start.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)) as connection:
        connection.execute("BEGIN")        # one snapshot for both questions
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 0 and num_tables:
        raise DatabaseUnusable(
            f"This is another program's database and was left as it is. Move it away, or choose another data folder. "
            f"({path})"
        )
    return version


def _migrate(path: Path, migrations: Path, newest: int) -> None:
    # Foreign keys are off: altering a table makes it anew, and dropping the old one would delete what hangs on it.
    sql_engine = make_engine(path, foreign_keys=False)
    try:
        with for_writing(sql_engine).begin() as connection:
            version: int = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version >= newest:          # another process was quicker
                return
            backup = _back_up(path, version) if version else None
            try:
                _run_alembic(connection, migrations)
                _check_foreign_keys(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {newest}")
            except Exception as error:
                copy = f" A copy is at {backup}." if backup else ""
                raise MigrationFailed(
                    f"The database could not be brought from schema {version} to {newest} and is unchanged.{copy} "
                    f"Start the previous version, and report this: {error}"
                ) from error
    finally:
        sql_engine.dispose()
    if backup:
        log.info("database upgraded", old=version, new=newest, copy=str(backup))


def _run_alembic(connection: Connection, migrations: Path) -> None:
    from alembic import command  # noqa: PLC0415  a tenth of a second that only an upgrade needs
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_foreign_keys(connection: Connection) -> None:
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise StoreError(f"a row of {broken[0]} points at no row of {broken[2]}")


def _back_up(path: Path, version: int) -> Path:
    folder = path.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    for unfinished in folder.glob("*.part"):       # by a start that was killed
        unfinished.unlink()
    copy = folder / f"{path.stem}-{version:04}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}Z{path.suffix}"
    copy_database(path, copy)
    for old in sorted(folder.glob(f"{path.stem}-*{path.suffix}"), key=_time_of)[:-NUM_BACKUPS_KEPT]:
        old.unlink()
    return copy


def _time_of(backup: Path) -> str:
    return backup.stem.rsplit("-", 1)[-1]


def copy_database(source: Path, target: Path) -> None:
    """A consistent copy while others use `source`; `target` appears whole or not at all. Raises DatabaseUnusable."""
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    with closing(connect(source)) as original, closing(connect(part)) as copy:
        original.backup(copy)
        (finding,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if finding != "ok":
        part.unlink()
        raise DatabaseUnusable(
            f"The database file is damaged ({finding}). Stop Inglenook and put a copy from `backups` in its place. "
            f"({source})"
        )
    with part.open("r+b") as file:
        os.fsync(file.fileno())
    part.replace(target)
