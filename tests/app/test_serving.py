"""Starting and ending a server: the port, the signals, and an answer that is being written when it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.listening import CannotListen, PortInUse, listen, url_of
from app.main import Server
from app.settings import Settings
from store import answers
from store.database import Database
from store.tables import Message, MessageStatus
from tests.app.answering_server import STEP_S
from tests.app.house import Shelf

MOST_LOST_S = 1.5


class Child:
    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.app.answering_server", str(data_dir)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        _, self.url, self.answer_id = self.line_with("ready").split()
        self.port = int(self.url.rpartition(":")[2])

    def line_with(self, word: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        assert self.process.stderr is not None
        raise AssertionError(f"it ended without '{word}':\n{self.process.stderr.read()}")

    def write_until(self, num_characters: int) -> int:
        while (shown := int(self.line_with("shown").split()[1])) < num_characters:
            pass
        return shown

    def answer(self) -> Message:
        database = Database.open(self.data_dir / "inglenook.sqlite3")
        try:
            return database.run_sync(lambda session: session.get_one(Message, self.answer_id))
        finally:
            database.close()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    child = Child(tmp_path / "data")
    yield child
    child.process.kill()
    child.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_it_saves_the_answer_frees_the_port_and_leaves_nothing_running(
    child: Child, how: signal.Signals
) -> None:
    shown = child.write_until(50)
    child.process.send_signal(how)
    assert child.line_with("ended with").split()[2] == "1"
    assert child.process.wait(60) == 0
    answer = child.answer()
    assert answer.status is MessageStatus.INTERRUPTED
    assert len(answer.content) >= shown
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", child.port))
    again = Child(child.data_dir)
    again.write_until(5)
    again.process.send_signal(how)
    assert again.process.wait(60) == 0
    assert child.answer().content == answer.content


@pytest.mark.slow
def test_killed_it_loses_at_most_a_second_or_so(child: Child) -> None:
    shown = child.write_until(500)
    child.process.kill()
    child.process.wait(60)
    answer = child.answer()
    assert answer.status is MessageStatus.STREAMING
    assert len(answer.content) >= shown - MOST_LOST_S / STEP_S
    database = Database.open(child.data_dir / "inglenook.sqlite3")
    assert database.run_sync(answers.interrupt_streaming) == 1
    database.close()
    assert child.answer().content == answer.content


def test_a_taken_port_is_named_with_its_holder_and_nothing_is_begun(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        settings = Settings(data_dir=tmp_path / "data", port=port)
        with pytest.raises(PortInUse, match=rf"Port {port} is in use by .*python.* \(process \d+\)\. .*--port"):
            Server(settings, loader=Shelf().load).run()
    assert not (tmp_path / "data").exists()


def test_an_address_of_another_machine_cannot_be_listened_on(tmp_path: Path) -> None:
    for host in ("192.0.2.1", "no such host"):
        with pytest.raises(CannotListen, match="Choose another"):
            listen(Settings(data_dir=tmp_path, host=host, port=0))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_url_is_one_that_a_browser_here_can_open(tmp_path: Path, host: str) -> None:
    with listen(Settings(data_dir=tmp_path, host=host, port=0)) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
