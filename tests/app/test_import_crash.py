"""`kill -9` in the middle of an import: whole conversations are there, and the same file once more adds the rest."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.services.container import Services
from app.settings import Settings
from store import accounts
from store.database import Database
from store.imports import Merged
from store.tables import UserRole
from tests.app.elsewhere import chatgpt_conversation, write_json
from tests.app.house import Shelf
from tests.store.helpers import ask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL"),
]

ROOT = Path(__file__).parents[2]
NUM_CHATS = 400
IMPORT = """
import asyncio, sys
from pathlib import Path
from app.services import imports
from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine

class Told(dict):
    def __setitem__(self, merged, number):
        super().__setitem__(merged, number)
        print(number, flush=True)

async def main():
    services = Services.open(Settings(data_dir=Path(sys.argv[1])), load_engine)
    task = asyncio.create_task(services.imports.read_here(sys.argv[2], Path(sys.argv[3])))
    await asyncio.sleep(0)
    latest = services.imports.latest(sys.argv[2])
    latest.counts = Told(latest.counts)
    await task

asyncio.run(main())
"""


@pytest.mark.parametrize("num_added", [1, 60, 333])
def test_a_killed_import_leaves_whole_chats_and_is_gone_on_with(tmp_path: Path, num_added: int) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    with closing(Database.open(settings.database_path)) as db:
        user = db.run_sync(accounts.add_user, "Anna", "anna", "a hash", UserRole.ADMIN)
    assert user is not None
    file = write_json(tmp_path / "a.json", [chatgpt_conversation(f"c{number}") for number in range(NUM_CHATS)])
    child = subprocess.Popen(
        [sys.executable, "-c", IMPORT, settings.data_dir, user.id, file],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    assert child.stdout is not None
    while int(child.stdout.readline()) < num_added:
        pass
    child.kill()
    _, stderr = child.communicate()
    assert child.returncode == -signal.SIGKILL, stderr

    assert ask(settings.database_path, "PRAGMA integrity_check") == [("ok",)]
    ((num_left,),) = ask(settings.database_path, "SELECT count(*) FROM conversation")
    assert num_added <= num_left < NUM_CHATS
    sizes = ask(settings.database_path, "SELECT count(*) FROM message GROUP BY conversation_id")
    assert sizes == [(6,)] * num_left
    dangling = "SELECT count(*) FROM conversation WHERE current_message_id NOT IN (SELECT id FROM message)"
    assert ask(settings.database_path, dangling) == [(0,)]

    with closing(Services.open(settings, Shelf().load)) as services:
        done = asyncio.run(services.imports.read_here(user.id, file))
    assert (done.counts[Merged.KNOWN], done.counts[Merged.ADDED]) == (num_left, NUM_CHATS - num_left)
    ((num_messages,),) = ask(settings.database_path, "SELECT count(*) FROM message")
    assert num_messages == 6 * NUM_CHATS
