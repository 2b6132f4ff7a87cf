"""What a `kill -9` leaves: all that was acknowledged, and one whole version. Real processes, really killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from store.database import Database
from store.upgrade import newest_version
from tests.store.helpers import add_migration, ask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

ROOT = Path(__file__).parents[2]

OPEN = "import sys; from pathlib import Path; from store.database import Database; db = Database.open(Path(sys.argv[1])"
WRITE_UNTIL_KILLED = f"""
{OPEN})
from store import answers, messages
from store.accounts import add_user
from store.tables import MessageStatus, UserRole
user = db.run_sync(add_user, "Anna", "anna", "a hash", UserRole.ADMIN)
turn = db.run_sync(messages.start_conversation, user.id, "Counting", "Count!", model_id=None)
n = 0
while True:
    n += 1
    assert not db.run_sync(answers.save_progress, {{turn.answer.id: answers.SoFar(str(n))}})
    if n % 5 == 0:
        assert db.run_sync(messages.edit_turn, user.id, turn.user_message.id, f"Count! {{n}}", model_id=None)
    print(n, flush=True)
"""
DIES_AT = """
import os, signal


def upgrade():
    for step in range(4):
        if os.environ["DIE_AT"] == "{name}-" + str(step):
            os.kill(os.getpid(), signal.SIGKILL)
        op.execute("CREATE TABLE {name}_" + str(step) + " (id INTEGER)")
        op.execute("UPDATE message SET content = content || '+'")
"""


def python(code: str, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )


@pytest.mark.parametrize("num_commits", [1, 37, 150])
def test_no_acknowledged_commit_is_lost(tmp_path: Path, num_commits: int) -> None:
    path = tmp_path / "inglenook.sqlite3"
    writer = python(WRITE_UNTIL_KILLED, path)
    assert writer.stdout is not None
    while int(writer.stdout.readline()) < num_commits:
        pass
    writer.kill()
    acknowledged = int(([str(num_commits), *writer.stdout.read().split()])[-1])
    writer.communicate()

    Database.open(path).close()
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    ((counted,),) = ask(path, "SELECT max(CAST(content AS INTEGER)) FROM message WHERE role = 'assistant'")
    assert counted in (acknowledged, acknowledged + 1)      # one more may be saved but not yet said
    ((num_edits,),) = ask(path, "SELECT count(*) FROM message WHERE content LIKE 'Count! %'")
    assert num_edits in (acknowledged // 5, (acknowledged + 1) // 5)


@pytest.mark.parametrize("moment", ["first-0", "first-3", "second-0", "second-2", "never"])
def test_an_upgrade_that_is_killed_leaves_the_old_or_the_new_version(
    old: Path, newer: Path, moment: str
) -> None:
    before = ask(old, "SELECT content FROM message ORDER BY id")
    add_migration(newer, DIES_AT.replace("{name}", "first"))
    newest = add_migration(newer, DIES_AT.replace("{name}", "second"))
    upgrade = python(f"{OPEN}, migrations=Path(sys.argv[2])); db.close()", old, newer, DIE_AT=moment)
    _, stderr = upgrade.communicate()

    killed = moment != "never"
    assert upgrade.returncode == (-signal.SIGKILL if killed else 0), stderr
    (backup,) = (old.parent / "backups").glob("*.sqlite3")
    assert ask(backup, "SELECT content FROM message ORDER BY id") == before
    assert ask(old, "PRAGMA integrity_check") == [("ok",)]
    assert ask(old, "PRAGMA user_version") == [(newest - 2 if killed else newest,)]
    assert ask(old, "SELECT content FROM message ORDER BY id") == (
        before if killed else [(f"{content}++++++++",) for (content,) in before]
    )
    if killed:
        again = python(f"{OPEN}, migrations=Path(sys.argv[2])); db.close()", old, newer, DIE_AT="never")
        assert again.wait() == 0
        assert ask(old, "PRAGMA user_version") == [(newest,)]


def test_processes_that_start_together_make_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "inglenook.sqlite3"
    together = [python(f"{OPEN}); db.close()", path) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in together] == [("", 0)] * 4
    assert ask(path, "PRAGMA user_version") == [(newest_version(),)]
    assert ask(path, "PRAGMA journal_mode") == [("wal",)]


def test_an_ordinary_start_does_without_alembic(old: Path) -> None:
    process = python(f"{OPEN}); print('alembic' in sys.modules)", old)
    assert process.communicate()[0].strip() == "False"


def test_a_lone_log_of_a_file_that_was_taken_away_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "inglenook.sqlite3"
    writer = python(WRITE_UNTIL_KILLED, path)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "1\n"
    writer.kill()
    writer.communicate()
    path.unlink()
    Database.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM message").fetchone() == (0,)
