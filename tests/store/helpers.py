"""What several tests of the store say often."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlmodel import Session

from store import accounts
from store.tables import User, UserRole
from store.upgrade import newest_version

MIGRATION_HEADER = """
from alembic import op
import sqlalchemy as sa

revision, down_revision = "{new:04}", "{old:04}"

"""


def add_person(session: Session, name: str, role: UserRole = UserRole.USER) -> User:
    user = accounts.add_user(session, name, name.casefold(), "a hash", role)
    assert user is not None
    return user


def add_migration(folder: Path, body: str) -> int:
    """Write the next version's migration; its number."""
    old = newest_version(folder)
    (folder / "versions" / f"{old + 1:04}_next.py").write_text(MIGRATION_HEADER.format(new=old + 1, old=old) + body)
    return old + 1


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question).fetchall()
