"""Two people who must see nothing of each other, and an old file with the migrations of a version to come."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from store import answers, messages
from store.database import Database
from store.tables import MessageStatus, User, UserRole
from store.upgrade import MIGRATIONS
from tests.store.helpers import add_person


@pytest.fixture
def session(database: Database) -> Iterator[Session]:
    with database.session() as opened:
        yield opened


@pytest.fixture
def anna(session: Session) -> User:
    return add_person(session, "Anna", UserRole.ADMIN)


@pytest.fixture
def ben(session: Session) -> User:
    return add_person(session, "Ben")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A closed database of this version with one chat of two messages."""
    database = Database.open(tmp_path / "data" / "inglenook.sqlite3")
    with database.session() as session:
        user = add_person(session, "Anna", UserRole.ADMIN)
        turn = messages.start_conversation(session, user.id, "Capitals", "What is the capital of France?", model_id="m")
        answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content="Paris.")
    database.close()
    return database.path


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A migrations folder to which a test adds the next version's."""
    return Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))
