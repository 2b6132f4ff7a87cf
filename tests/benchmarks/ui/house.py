"""The data folder with its people and chats, and the server on it, as a process. Used by all of these benchmarks."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlmodel import Session, select

from app.security import SESSION_COOKIE
from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from store.imports import IncomingConversation, IncomingMessage, merge
from store.tables import Conversation, MessageRole, UserRole, now
from tests.benchmarks.markdown import texts
from tests.benchmarks.ui.server import make_model_known

PASSWORD = "correct horse battery"
PATIENCE_S = 120.0
NUM_CHATS = 5000
NUM_MESSAGES = 1000
MAX_SEQS = "64"


@dataclass(frozen=True, slots=True)
class Person:
    id: str
    session: str

    @property
    def cookies(self) -> dict[str, str]:
        return {SESSION_COOKIE: self.session}


@dataclass(frozen=True, slots=True)
class People:
    """One with a single chat, and one with a chat of a thousand messages and five thousand others."""

    newcomer: Person
    short_chat_id: str
    veteran: Person
    long_chat_id: str
    search_words: tuple[str, ...]       # that many chats of the veteran's hold


async def furnish(data_dir: Path) -> People:
    settings = Settings(data_dir=data_dir)
    services = Services.open(settings, load_engine)
    try:
        await services.models.register_starter()
        await make_model_known(services)
        newcomer, veteran = [
            await services.accounts.add_user(name, PASSWORD, role=UserRole.ADMIN) for name in ("New Comer", "Vet Eran")
        ]
        chats = Chats()
        short_chat_id, long_chat_id = await services.db.run(chats.write, newcomer.id, veteran.id)
        people = [
            Person(user.id, await services.accounts.start_session(user)) for user in (newcomer, veteran)
        ]
        return People(people[0], short_chat_id, people[1], long_chat_id, chats.search_words)
    finally:
        await services.stop()
        services.close()


class Chats:
    """Texts that are the same each time."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        letters = "abcdefghijklmnoprstuvw"
        self._words = ["".join(self._chance.choices(letters, k=self._chance.randint(3, 9))) for _ in range(5000)]
        self.search_words = tuple(self._chance.sample(self._words, 8))

    def write(self, session: Session, newcomer_id: str, veteran_id: str) -> tuple[str, str]:
        """The ids of the newcomer's one chat, and of the veteran's long one, which is the newest."""
        for number in range(1, NUM_CHATS):
            self._add(session, veteran_id, number, self._say(5), [self._say(30), self._say(120)])
        text = "".join(block for block in texts()["100 kB of blocks"].splitlines(keepends=True) if "$" not in block)
        contents = [part for _ in range(NUM_MESSAGES // 2) for part in (self._say(20), self._part_of(text))]
        self._add(session, veteran_id, 0, "A thousand messages", contents)
        self._add(session, newcomer_id, 0, "A few messages", contents[:6])
        ids = {title: chat_id for chat_id, title in session.exec(select(Conversation.id, Conversation.title))}
        return ids["A few messages"], ids["A thousand messages"]

    def _say(self, num_words: int) -> str:
        return " ".join(self._chance.choices(self._words, k=num_words))

    def _part_of(self, text: str) -> str:
        at = text.index("\n\n", self._chance.randrange(len(text) - 3000)) + 2
        return text[at : at + 1500]

    def _add(self, session: Session, user_id: str, number: int, title: str, contents: Sequence[str]) -> None:
        at = now() - timedelta(minutes=10 * (number + 1))
        messages = tuple(
            IncomingMessage(
                source_id=f"{number}-{index}", parent_source_id=f"{number}-{index - 1}" if index else None,
                role=MessageRole.ASSISTANT if index % 2 else MessageRole.USER, content=content, created_at=at,
            )
            for index, content in enumerate(contents)
        )
        incoming = IncomingConversation(
            source_id=str(number), title=title, created_at=at, updated_at=at, messages=messages,
            current_source_id=messages[-1].source_id,
        )
        merge(session, user_id, incoming)


@dataclass(slots=True)
class Served:
    """A server that runs. `tell` works with the paced one only."""

    url: str
    process: asyncio.subprocess.Process
    people: People
    data_dir: Path
    what: str                       # for the table: which server it is

    async def tell(self, command: str) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{command}\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await self.process.stdout.readline())

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def rss_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)

    @property
    def cpu_s(self) -> float:
        """Of all its threads so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


@asynccontextmanager
async def served(
    data_dir: Path, people: People, *, tokens_per_s: float | None = None, extra: dict[str, str] | None = None
) -> AsyncIterator[Served]:
    """`inglenook serve` with the starter model; with `tokens_per_s` the entry beside this file instead. `extra` goes
    into its environment.
    """
    if tokens_per_s is None:
        command, what = ["-m", "inglenook", "serve", "--port", "0", "--no-browser"], "inglenook serve, starter model"
    else:
        command = ["-m", "tests.benchmarks.ui.server", str(data_dir), str(tokens_per_s)]
        what = f"paced back end, {tokens_per_s:g} tokens/s"
    environment = {
        **os.environ, "INGLENOOK_DATA_DIR": str(data_dir), "INGLENOOK_MAX_NUM_SEQS": MAX_SEQS,
        "INGLENOOK_MAX_QUEUE": "1000", "NO_COLOR": "1", **(extra or {}),
    }
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-u", *command, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
        )
        try:
            url = await _url_of(process)
            await _model_ready(url, people)
            yield Served(url, process, people, data_dir, what)
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def api_key(server: Served) -> str:
    """Of the newcomer's."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "inglenook", "keys", "create", "--user", "New Comer", stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "INGLENOOK_DATA_DIR": str(server.data_dir)},
    )
    printed, _ = await process.communicate()
    return next(word for word in printed.decode().split() if word.startswith("sk-"))


async def _url_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        while line := (await process.stdout.readline()).decode():
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found.group()
    raise SystemExit("the server did not start")


async def _model_ready(url: str, people: People) -> None:
    """Loading takes both cores: what is measured begins after it."""
    async with httpx.AsyncClient(base_url=url, cookies=people.newcomer.cookies, timeout=PATIENCE_S) as client:
        (await client.get("/healthz")).raise_for_status()
    # The registry tells nobody outside; the figures settle within this.
    await asyncio.sleep(3)


@asynccontextmanager
async def furnished() -> AsyncIterator[tuple[Path, People]]:
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        yield Path(folder), await furnish(Path(folder))
