"""A whole Inglenook for tests: the real services over a real database, with models that say what they are told.

The models are scripted back ends inside real engines, loaded by the real registry; only their files are missing.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx

from app.main import Ready, Server
from app.services.container import Services
from app.settings import Settings
from engine.backends.embedder import Embedder, EmbedderInfo
from engine.backends.scripted import ScriptedBackend
from engine.core import EngineCore
from engine.embedding import EmbeddingEngine
from engine.engine import Engine, EngineInfo
from engine.load import LoadLimits, ModelSpec
from engine.local import LocalEngine
from store import models
from store.tables import Model, User

T = TypeVar("T")

PASSWORD = "correct horse battery"
PATIENCE_S = 60
NUM_TURNS, POLL_S = 50, 0.001
NO_TLS = False              # spares each client the reading of certificates
MakeBackend = Callable[[], ScriptedBackend]
MakeEmbedder = Callable[[], Embedder]


async def turn() -> None:
    """Let everything that is ready on the loop have its turn."""
    await asyncio.sleep(0)


async def until(is_so: Callable[[], bool]) -> None:
    """At first after each turn of the loop; what takes longer is another thread's, which needs the interpreter."""
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(NUM_TURNS):
            if is_so():
                return
            await turn()
        while not is_so():      # noqa: ASYNC110 - of what the tests wait for, little gives a sign
            await asyncio.sleep(POLL_S)


@dataclass
class Shelf:
    """Models by id, and what became of loading them. `load` is the loader that `app.main` takes."""

    makers: dict[str, MakeBackend] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    backends: dict[str, ScriptedBackend] = field(default_factory=dict)
    embedders: dict[str, MakeEmbedder] = field(default_factory=dict)

    async def load(self, spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        self.loads.append(spec.model_id)
        if make := self.embedders.get(spec.model_id):
            return await EmbeddingEngine.start(
                spec.model_id, make, partial(_describe, spec), max_queue=limits.max_queue
            )
        core = await EngineCore.start(
            spec.model_id, lambda: self._make(spec.model_id), max_queue=limits.max_queue
        )
        info = EngineInfo(
            model_id=spec.model_id,
            name=spec.name,
            version=spec.version,
            backend="scripted",
            device="cpu",
            quantisation="",
            max_model_len=core.info.max_model_len,
            max_num_seqs=core.info.max_num_seqs,
            has_chat_template=core.tokenizer.chat_template is not None,
        )
        return LocalEngine(core, info)

    def _make(self, model_id: str) -> ScriptedBackend:
        backend = self.backends[model_id] = self.makers[model_id]()
        return backend

    async def put(self, services: Services, model_id: str, make: MakeBackend | str) -> None:
        """Make a model known that answers as `make`'s back end does, or always with this text."""
        self.makers[model_id] = make if callable(make) else lambda: ScriptedBackend(make)
        await services.db.run(models.upsert, _row(model_id))

    async def put_embedder(self, services: Services, model_id: str, make: MakeEmbedder) -> None:
        """Make a model known that embeds."""
        self.embedders[model_id] = make
        await services.db.run(models.upsert, _row(model_id, embeds=True))


def _row(model_id: str, *, embeds: bool = False) -> Model:
    return Model(
        id=model_id,
        name=model_id.title(),
        path=f"/nowhere/{model_id}.gguf",
        file_format="gguf",
        size_bytes=1,
        modified_ns=1,
        embeds=embeds,
    )


def _describe(spec: ModelSpec, embedder: EmbedderInfo) -> EngineInfo:
    return EngineInfo(
        model_id=spec.model_id,
        name=spec.name,
        version=spec.version,
        backend=embedder.name,
        device=embedder.device,
        quantisation="",
        max_model_len=embedder.max_model_len,
        max_num_seqs=embedder.max_num_inputs,
        has_chat_template=False,
        embedding_width=embedder.width,
    )


class House:
    """A real server on a port of its own, in a thread of this process."""

    def __init__(self, data_dir: Path, shelf: Shelf, **settings: Any) -> None:
        self.shelf = shelf
        self._server = Server(Settings(data_dir=data_dir, port=0, **settings), loader=shelf.load)
        self._thread = threading.Thread(target=self._run, name="house")
        self._is_ready = threading.Event()

    def start(self) -> None:
        self._thread.start()
        assert self._is_ready.wait(PATIENCE_S), "the server did not start"

    def stop(self) -> None:
        self._server.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), f"the server did not stop; it is at\n{self._where()}"

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """On the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def person(self, name: str) -> Person:
        return self.signed_in(self.do(self.services.accounts.add_user(name, PASSWORD)))

    def signed_in(self, user: User) -> Person:
        session = self.do(self.services.accounts.start_session(user))
        key_row, key = self.do(self.services.accounts.create_key(user.id, "test"))
        return Person(user.id, user.name, session, key, key_row.id, self.url)

    def _where(self) -> str:
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) + "\n".join(map(str, asyncio.all_tasks(self._loop)))

    def _run(self) -> None:
        self._server.run(self._on_ready)

    def _on_ready(self, ready: Ready) -> None:
        self.url, self.setup_url = ready.url, ready.setup_url
        self._loop = asyncio.get_running_loop()
        assert self._server.services is not None
        self.services = self._server.services
        self._is_ready.set()


@dataclass(frozen=True)
class Person:
    user_id: str
    name: str
    session: str
    key: str
    key_id: str
    url: str

    def client(self, **options: Any) -> httpx.Client:
        """With the API key."""
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S, verify=NO_TLS, **options)

    def browser(self, **options: Any) -> httpx.Client:
        """With the session cookie, and headers as a browser sends them."""
        headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"} | options.pop("headers", {})
        cookies = {"inglenook_session": self.session}
        return httpx.Client(
            base_url=self.url, cookies=cookies, headers=headers, timeout=PATIENCE_S, verify=NO_TLS, **options
        )
