"""Wiring: settings in, a running server out. `create_app` is the whole application as ASGI; `Server` runs it.

Called by `app.cli` and the desktop window; nothing else imports this.
"""

from __future__ import annotations

import os

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"        # before anything imports the hub's library, which reads it once

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.api import bench, chats, health, hub, local_models, metrics, people
from app.api.errors import install_error_handlers
from app.api.openai import OpenAIFirst, openai_app, without_prefix
from app.door.gate import Gate
from app.heads import Handshakes, Heads
from app.hosts import HostPolicy
from app.listening import listen, url_of
from app.logs import set_up_logs
from app.packed import PackOnce
from app.schemas import IMPORT_PATH, UPLOAD_PATH
from app.services.container import Services
from app.services.engines import Loader
from app.settings import Settings
from engine.load import load_engine
from ui.install import client_owner, install

GRACE_S = 3         # for responses under way, after their answers have been ended and saved

MAX_UPLOAD_BYTES = 2**43       # of a model's file; how much room there is, the service says


@dataclass(frozen=True, slots=True)
class Ready:
    """What to tell the person who started the server."""

    url: str
    setup_url: str | None       # one-time link to make the first admin; None where there is one


def create_app(settings: Settings, *, loader: Loader = load_engine) -> FastAPI:
    """Opens the database (StoreError); all else happens in the lifespan. `app.state.services` holds the services."""
    services = Services.open(settings, loader)
    app = FastAPI(lifespan=_lifespan, openapi_url=None)
    app.state.services = services
    install_error_handlers(app)
    faces = (health, metrics, chats, hub, bench, people, local_models)
    for router in (*(each.router for each in faces), without_prefix):
        app.include_router(router)
    packing = partial(GZipMiddleware, minimum_size=1000, compresslevel=5)       # leaves event streams alone
    app.add_middleware(packing)
    app.add_middleware(PackOnce)
    app.add_middleware(OpenAIFirst, packing(openai_app()))
    body_limits = {IMPORT_PATH: settings.import_max_bytes, UPLOAD_PATH: MAX_UPLOAD_BYTES}
    app.add_middleware(Gate, services.accounts, HostPolicy(settings), client_owner, body_limits)    # last: outermost
    install(app, services)      # mounts NiceGUI at /, behind all that stands above
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    await services.start()
    background = {asyncio.create_task(services.preload()), asyncio.create_task(services.keep_tidy()),
                  asyncio.create_task(services.model_updates.keep_looking()),
                  asyncio.create_task(services.other_processes.keep_looking())}
    try:
        yield
    finally:
        for task in background:
            task.cancel()
        await services.stop()
        await asyncio.wait(background)
        services.close()


# Between threads that both want the interpreter. An engine's thread asks for it several times a step: at Python's own
# 5 ms a GPU stands still while the event loop writes to sockets, and 64 readers get a fifth less.
SWITCH_INTERVAL_S: Final = 0.0005


class Server:
    """One server in this process. `run` returns when it was told to stop, by SIGINT, SIGTERM or `stop`."""

    def __init__(self, settings: Settings, *, loader: Loader = load_engine) -> None:
        self._settings = settings
        self._loader = loader
        self.services: Services | None = None       # while it runs
        self._uvicorn: _Uvicorn | None = None
        self._is_told_to_stop = False

    def run(self, on_ready: Callable[[Ready], None] | None = None) -> None:
        """`on_ready` is called on the event loop. Raises CannotListen or StoreError before anything has begun."""
        set_up_logs()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        listener = listen(self._settings)
        try:
            app = create_app(self._settings, loader=self._loader)
        except BaseException:
            listener.close()
            raise
        self.services = app.state.services
        self._uvicorn = _Uvicorn(app, url_of(listener), on_ready)
        self._uvicorn.should_exit = self._is_told_to_stop
        self._uvicorn.run(sockets=[listener])

    def stop(self) -> None:
        """From any thread."""
        self._is_told_to_stop = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True


class _Uvicorn(uvicorn.Server):
    def __init__(self, app: FastAPI, url: str, on_ready: Callable[[Ready], None] | None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                http=Heads,
                ws=Handshakes,
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        self._services: Services = app.state.services
        self._url = url
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            accounts = self._services.accounts
            setup_url = f"{self._url}/setup?token={accounts.setup_token()}" if await accounts.needs_setup() else None
            self._on_ready(Ready(self._url, setup_url))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First the answers, then the connections: they wait for the answers."""
        await self._services.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn, which then raises the signal once more: that would end the process before it has tidied up."""
        with super().capture_signals():
            try:
                yield
            finally:
                self._captured_signals.clear()
