"""From an old file to a new one: wholly, or not at all."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from store import accounts, conversations, models, search, settings
from store.database import Database
from store.errors import DatabaseTooNew, DatabaseUnusable, MigrationFailed
from store.tables import Message
from store.upgrade import newest_version
from tests.store.helpers import add_migration, ask

ADD_NOTE = """
def upgrade():
    op.add_column("message", sa.Column("note", sa.String()))
"""
ADD_NOTE_THEN_FAIL = """
def upgrade():
    op.add_column("message", sa.Column("note", sa.String()))
    op.execute("UPDATE message SET note = 'half'")
    raise RuntimeError("halfway")
"""
MAKE_CONVERSATION_ANEW = """
def upgrade():
    with op.batch_alter_table("conversation") as batch:
        batch.alter_column("title", type_=sa.Text(), existing_nullable=False)
"""
LOSE_A_USER = """
def upgrade():
    op.execute("DELETE FROM user")
"""


def test_the_migrations_make_what_the_tables_describe(database: Database) -> None:
    with database.session() as session:
        context = MigrationContext.configure(session.connection(), opts={"include_name": _not_the_search_index})
        assert compare_metadata(context, Message.metadata) == []


def _not_the_search_index(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "table" or not (name or "").startswith("search_")


def test_a_new_file_is_at_the_newest_version(database: Database) -> None:
    assert ask(database.path, "PRAGMA user_version") == [(newest_version(),)]
    assert ask(database.path, "SELECT version_num FROM alembic_version") == [(f"{newest_version():04}",)]
    assert not (database.path.parent / "backups").exists()


def test_an_old_file_is_copied_and_then_upgraded(old: Path, newer: Path) -> None:
    version = add_migration(newer, ADD_NOTE)
    Database.open(old, migrations=newer).close()
    assert ask(old, "PRAGMA user_version") == [(version,)]
    assert ask(old, "SELECT content, note FROM message ORDER BY created_at") == [
        ("What is the capital of France?", None), ("Paris.", None),
    ]
    (backup,) = (old.parent / "backups").iterdir()
    assert backup.name.startswith(f"inglenook-{version - 1:04}-")
    assert ask(backup, "PRAGMA user_version") == [(version - 1,)]
    assert ask(backup, "SELECT content FROM message ORDER BY created_at") == [
        ("What is the capital of France?",), ("Paris.",),
    ]


def test_models_of_the_first_version_have_no_adapters(tmp_path: Path, newer: Path) -> None:
    for migration in (newer / "versions").glob("*.py"):
        if migration.name[:4] > "0001":
            migration.unlink()
    path = tmp_path / "first" / "inglenook.sqlite3"
    Database.open(path, migrations=newer).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO model VALUES ('m', 'M', 'm.gguf', 'gguf', 'llama', 'Q4_1', 5, 1, 8192, 0, 1, '2026-01-01')"
        )
    with closing(Database.open(path)) as database:
        model = database.run_sync(models.get, "m")
        assert model is not None
        assert (model.adapters, model.context_tokens, model.is_default) == ([], 8192, True)


def test_titles_of_an_older_version_are_found_kept_and_forgotten_with_their_chat(tmp_path: Path, newer: Path) -> None:
    for migration in (newer / "versions").glob("*.py"):
        if migration.name[:4] > "0003":
            migration.unlink()
    path = tmp_path / "older" / "inglenook.sqlite3"
    Database.open(path, migrations=newer).close()
    at = "2026-01-01 00:00:00.000000"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO user VALUES ('u', 'Anna', 'anna', 'a hash', 'user', 1, ?)", (at,))
        connection.execute(
            "INSERT INTO conversation VALUES ('c', 'u', 'Pearwood', NULL, 'm', ?, ?, NULL)", (at, at)
        )
        connection.execute(
            "INSERT INTO message (id, conversation_id, role, content, reasoning, status, created_at)"
            " VALUES ('m', 'c', 'user', 'Walnut too', '', 'complete', ?)", (at,)
        )
    with closing(Database.open(path)) as database, database.session() as session:
        for word, message_id in (("pearwood", None), ("walnut", "m")):
            (hit,) = search.search(session, "u", word, limit=9)
            assert (hit.title, hit.message_id) == ("Pearwood", message_id)
        assert not conversations.name_by_model(session, "u", "c", "Better"), "it may be a person's"
        conversation = conversations.get(session, "u", "c")
        assert conversation is not None and (conversation.folder_id, conversation.pin_position) == (None, None)
        session.delete(conversation)
        session.flush()
        for table in ("search_fts", "search_titles", "search_document"):
            assert session.connection().exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0


def test_of_people_of_an_older_version_the_last_sign_in_is_known(tmp_path: Path, newer: Path) -> None:
    for migration in (newer / "versions").glob("*.py"):
        if migration.name[:4] > "0010":
            migration.unlink()
    path = tmp_path / "older" / "inglenook.sqlite3"
    Database.open(path, migrations=newer).close()
    early, late = "2026-01-01 00:00:00.000000", "2026-03-01 00:00:00.000000"
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("anna", "ben"):
            connection.execute("INSERT INTO user VALUES (?, ?, ?, 'a hash', 'user', 1, ?)", (name, name, name, early))
        for token, at in (("one", late), ("other", early)):
            connection.execute(
                "INSERT INTO login_session (id, user_id, token_hash, user_agent, created_at, expires_at)"
                " VALUES (?, 'anna', ?, '', ?, '2027-01-01 00:00:00.000000')", (token, token, at)
            )
    with closing(Database.open(path)) as database:
        seen = {user.name: user.last_seen_at for user in database.run_sync(accounts.list_users)}
        assert seen == {"anna": datetime(2026, 3, 1, tzinfo=UTC), "ben": None}


def test_opening_a_file_of_this_version_copies_nothing(old: Path) -> None:
    before = old.read_bytes()
    Database.open(old).close()
    assert old.read_bytes() == before
    assert not (old.parent / "backups").exists()


def test_the_newest_five_copies_are_kept(old: Path, newer: Path) -> None:
    versions = []
    for _ in range(7):
        versions.append(add_migration(newer, "def upgrade():\n    pass\n"))
        Database.open(old, migrations=newer).close()
    kept = sorted(file.name.split("-")[1] for file in (old.parent / "backups").iterdir())
    assert kept == [f"{version - 1:04}" for version in versions[-5:]]


def test_a_migration_that_fails_halfway_leaves_the_file_as_it_was(old: Path, newer: Path) -> None:
    good = add_migration(newer, "def upgrade():\n    op.execute('CREATE TABLE good (id INTEGER)')\n")
    add_migration(newer, ADD_NOTE_THEN_FAIL)
    before = dump(old)
    with pytest.raises(MigrationFailed, match=r"is unchanged.*backups.*halfway"):
        Database.open(old, migrations=newer)
    assert dump(old) == before
    assert ask(old, "PRAGMA user_version") == [(good - 1,)]
    assert ask(old, "PRAGMA integrity_check") == [("ok",)]
    Database.open(old).close()             # the previous version goes on with it


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_making_a_table_anew_keeps_what_hangs_on_it(old: Path, newer: Path) -> None:
    add_migration(newer, MAKE_CONVERSATION_ANEW)
    Database.open(old, migrations=newer).close()
    assert ask(old, "SELECT count(*) FROM message") == [(2,)]


def test_a_migration_may_not_leave_rows_without_their_owner(old: Path, newer: Path) -> None:
    add_migration(newer, LOSE_A_USER)
    with pytest.raises(MigrationFailed, match="points at no row of user"):
        Database.open(old, migrations=newer)
    assert ask(old, "SELECT name FROM user") == [("Anna",)]


def test_a_newer_versions_file_is_refused_and_untouched(old: Path, newer: Path) -> None:
    add_migration(newer, ADD_NOTE)
    Database.open(old, migrations=newer).close()
    before = {file.name: file.read_bytes() for file in old.parent.iterdir() if file.is_file()}
    with pytest.raises(DatabaseTooNew, match="written by a newer Inglenook"):
        Database.open(old)
    assert {file.name: file.read_bytes() for file in old.parent.iterdir() if file.is_file()} == before


def test_a_newer_versions_file_is_refused_also_when_that_one_crashed(old: Path, newer: Path, tmp_path: Path) -> None:
    add_migration(newer, ADD_NOTE)
    database = Database.open(old, migrations=newer)
    database.run_sync(settings.set_of_system, "last words", "…")
    crashed = Path(shutil.copytree(old.parent, tmp_path / "crashed")) / old.name      # with its log, as kills leave it
    database.close()
    log = crashed.with_name(f"{crashed.name}-wal")
    assert log.stat().st_size > 0
    before = (crashed.read_bytes(), log.read_bytes())
    with pytest.raises(DatabaseTooNew):
        Database.open(crashed)
    assert (crashed.read_bytes(), log.read_bytes()) == before


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "inglenook.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match="another program's database"):
        Database.open(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "inglenook.sqlite3"
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(DatabaseUnusable, match=r"not a database of Inglenook's\. Move it away"):
        Database.open(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_damaged_file_is_not_upgraded(old: Path, newer: Path) -> None:
    add_migration(newer, ADD_NOTE)
    damaged = bytearray(old.read_bytes())
    for page in range(2, len(damaged) // 4096):
        damaged[page * 4096: page * 4096 + 8] = b"\xff" * 8
    old.write_bytes(damaged)
    with pytest.raises(DatabaseUnusable, match="damaged"):
        Database.open(old, migrations=newer)
    assert old.read_bytes() == damaged
