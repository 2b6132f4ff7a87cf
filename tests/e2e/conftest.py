"""A real server with the starter model, and a real Chromium: one server a session, an account of its own a test."""

from __future__ import annotations

import asyncio
import os
import queue
import re
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from app.security import hash_password
from installers.steps import BROWSERS
from store import accounts, settings
from store.database import Database
from store.tables import UserRole
from tests.app.hub import Hub
from tests.e2e.stocked_hub import stocked_hub

HERE = Path(__file__).parent
PATIENCE_S = 60
PASSWORD = "correct horse battery"
CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]


expect.set_options(timeout=PATIENCE_S * 1000)

CLICK = "all => all.forEach(each => each.click())"          # for evaluate_all: whatever is there in this very moment
FAULT = re.compile(r"error|exception|traceback|never", re.IGNORECASE)
BROKEN_LINE = re.compile(r"'Session is disconnected'")      # socket.io's, of a browser whose line a test has cut


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of this folder: all on one event loop, which is that of their browser."""
    for item in items:
        if item.path.parent == HERE and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@dataclass
class Server:
    """`inglenook serve` in a process of its own, on a data folder that outlives it."""

    data_dir: Path
    port: int
    process: subprocess.Popen[str] | None = None
    output: list[str] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)         # of its environment
    flags: tuple[str, ...] = ()                                 # of `serve`
    _lines: queue.Queue[str | None] = field(default_factory=queue.Queue)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "INGLENOOK_DATA_DIR": str(self.data_dir), "NO_COLOR": "1", **self.extra}

    @property
    def serving(self) -> list[str]:
        return [sys.executable, "-u", "-m", "inglenook", "serve", "--port", str(self.port), "--no-browser", *self.flags]

    def start(self) -> Server:
        self.output.clear()
        self.process = subprocess.Popen(
            self.serving, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._lines = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self._lines), daemon=True).start()
        self._printed(r"http://127\.0\.0\.1:\d+")
        assert self.answers()
        return self

    def setup_link(self) -> str:
        """The one-time link, which the first start prints after the address."""
        return self._printed(r"http://\S+/setup\?token=\S+")

    def _printed(self, pattern: str) -> str:
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            if found := re.search(pattern, line):
                return found.group()
        raise AssertionError("the server ended while starting:\n" + "".join(self.output))

    def _read(self, process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.output.append(line)
            lines.put(line)
        lines.put(None)

    def answers(self) -> bool:
        return httpx.get(f"{self.url}/healthz", timeout=PATIENCE_S).status_code == 200

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE_S)

    def command(self, *arguments: str, stdin: str = "", exit_code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "inglenook", *arguments],
            input=stdin, text=True, env=self.environment, capture_output=True, timeout=PATIENCE_S, check=False,
        )
        assert done.returncode == exit_code, done.stderr + done.stdout
        return done.stdout + done.stderr

    def add_user(self, *, admin: bool = False, titles: bool = False) -> str:
        """Without `titles` a chat keeps its first words as its title."""
        name = "reader-" + secrets.token_hex(4)
        role = UserRole.ADMIN if admin else UserRole.USER
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with closing(Database.open(self.data_dir / "inglenook.sqlite3")) as database:
            user = database.run_sync(accounts.add_user, name, name, password_hash(), role)
            assert user is not None
            database.run_sync(settings.set_of_user, user.id, "titles", titles)
        return name

    def add_user_by_command(self) -> str:
        """As an admin does it at the machine: open pages hear of it."""
        name = "reader-" + secrets.token_hex(4)
        self.command("users", "add", name, "--password-stdin", stdin=PASSWORD)
        return name

    def query(self, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(f"file:{self.data_dir}/inglenook.sqlite3?mode=ro", uri=True)) as connection:
            return connection.execute(sql, parameters).fetchall()


class PacedServer(Server):
    """Its models count, as fast as it is told: see paced_server.py. What it writes to its log is a fault."""

    @property
    def serving(self) -> list[str]:
        return [sys.executable, "-u", "-m", "tests.e2e.paced_server", str(self.port)]

    def pace(self, step_s: float) -> None:
        (self.data_dir / "pace").write_text(str(step_s))

    @property
    def log(self) -> list[str]:
        return [line for line in self.output if FAULT.search(line) and not BROKEN_LINE.search(line)]


@cache
def password_hash() -> str:
    """Made once, since it is meant to take long."""
    return hash_password(PASSWORD)


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Shared by all tests that do not stop it; it has an admin, so it is past set-up."""
    shared = Server(tmp_path_factory.mktemp("shared"), free_port())
    shared.add_user(admin=True)
    shared.start()
    yield shared
    shared.stop()


@pytest.fixture
def fresh_server(tmp_path: Path) -> Iterator[Server]:
    """Nobody has set it up yet; the test may stop, kill and start it."""
    own = Server(tmp_path / "data", free_port())
    yield own
    if own.process is not None and own.process.poll() is None:
        own.stop()


@pytest.fixture
def paced_server(tmp_path: Path) -> Iterator[PacedServer]:
    """One of its own, past set-up; the test may stop, kill and start it."""
    own = PacedServer(tmp_path / "data", free_port())
    own.add_user(admin=True)
    own.pace(0.01)
    own.start()
    yield own
    if own.process is not None and own.process.poll() is None:
        own.stop()
    assert own.log == []


@pytest.fixture
def hub() -> Iterator[Hub]:
    stand_in = stocked_hub()
    yield stand_in
    stand_in.close()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def shared_browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def browser(shared_browser: Browser) -> AsyncIterator[Browser]:
    """One program for all tests, and nothing in it that another test has opened."""
    yield shared_browser
    for context in shared_browser.contexts:
        await context.close()


def chromium_program() -> str:
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert executable, "these tests need Chromium: apt-get install chromium"
    return executable


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=chromium_program(), args=CHROMIUM_FLAGS)
        yield started
        await started.close()


async def sign_in(browser: Browser, server: Server, name: str, url: str = "") -> Page:
    """A new browser context (its own cookies: a second device) with `name` on the chat page; perhaps on another way."""
    page = await (await new_context(browser)).new_page()
    await page.goto(f"{url or server.url}/login")
    await page.get_by_label("Name").fill(name)
    await page.locator("input[type=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.get_by_label("Message", exact=True).wait_for()
    return page


async def new_context(browser: Browser, **device: Any) -> BrowserContext:
    context = await browser.new_context(**{"viewport": {"width": 1440, "height": 900}} | device)
    context.set_default_timeout(PATIENCE_S * 1000)
    return context


async def until(condition: object, what: str) -> None:
    """Poll a callable or coroutine function until it is true; fail with `what` after the bound."""
    assert callable(condition)
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while asyncio.get_running_loop().time() < deadline:
        outcome = condition()
        if asyncio.iscoroutine(outcome):
            outcome = await outcome
        if outcome:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_S} s in vain: {what}")
