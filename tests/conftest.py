"""For every folder: quick tests run first, and a real database in the test's own folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.collector  # noqa: F401
from store.database import Database
from tests.engine.upstream import Upstream


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is broken shows early: tests without a mark, then the slow ones, then those in a browser."""
    items.sort(key=lambda item: [item.get_closest_marker(mark) is not None for mark in ("e2e", "slow")])


@pytest.fixture(scope="session")
def new_database_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As the migrations make it; run once, since they take longer than most tests."""
    path = tmp_path_factory.mktemp("new") / "inglenook.sqlite3"
    Database.open(path).close()
    return path


@pytest.fixture
def database(tmp_path: Path, new_database_file: Path) -> Iterator[Database]:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    opened = Database.open(Path(shutil.copy(new_database_file, folder)))
    yield opened
    opened.close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A server elsewhere that does right, unless it is told to do wrong."""
    server = Upstream()
    yield server
    server.close()
