"""A whole Inglenook in the test's own event loop: pages are built for real and clicked without a browser."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import fastapi.dependencies.models
import httpx
import pytest_asyncio
from fastapi import FastAPI
from nicegui import Client
from nicegui.testing import User

from app import security
from app.main import create_app
from app.security import SESSION_COOKIE
from app.services.container import Services
from app.services.models import STARTER_ID
from app.settings import Settings
from engine.backends.scripted import ScriptedBackend
from store import accounts, tables
from store.tables import UserRole
from tests.app.house import PASSWORD, Shelf

URL = "http://localhost:8420"
PARIS = "The capital of France is **Paris**."
REPLIES = {"France": PARIS, "family": "👨‍👩‍👧‍👦 漢字 ñ", "": "Hello there."}


@cache
def _hash() -> str:
    """Of PASSWORD; made once, since it takes longer than most tests."""
    return security.hash_password(PASSWORD)


@dataclass(frozen=True)
class Home:
    app: FastAPI
    services: Services
    shelf: Shelf

    def http(self, cookies: dict[str, str] | None = None) -> httpx.AsyncClient:
        """As a browser: of nobody, or of whose cookies these are."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url=URL,
            headers={"Accept": "text/html"}, cookies=cookies,
        )

    async def person(self, name: str, role: UserRole = UserRole.USER) -> Person:
        add = partial(accounts.add_user, name=name, name_key=security.name_key(name), password_hash=_hash(), role=role)
        row = await self.services.db.run(add)
        assert row is not None
        await self.services.titles.set_wanted(row.id, False)        # what is asked first names a chat in these tests
        return Person(row, await self.services.accounts.start_session(row), self)


@dataclass(frozen=True)
class Person:
    row: tables.User
    session: str
    home: Home

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def cookies(self) -> dict[str, str]:
        return {SESSION_COOKIE: self.session}

    def http(self) -> httpx.AsyncClient:
        return self.home.http(self.cookies)

    async def at(self, path: str) -> User:
        """This person with a page open; each call is another tab."""
        tab = User(self.http())
        await tab.open(path)
        return tab



@asynccontextmanager
async def home_with(settings: Settings, new_database_file: Path) -> AsyncIterator[Home]:
    """The starter model is loaded, and answers by REPLIES. Nobody has an account yet."""
    settings.data_dir.mkdir(mode=0o700)
    shutil.copy(new_database_file, settings.database_path)
    shelf = Shelf({STARTER_ID: lambda: ScriptedBackend(REPLIES)})
    app = create_app(settings, loader=shelf.load)
    pages_before = {*Client.instances}
    async with app.router.lifespan_context(app):
        services: Services = app.state.services
        await services.engines.load(STARTER_ID)
        yield Home(app, services, shelf)
        for client in [each for each in Client.instances.values() if each.id not in pages_before]:
            client.delete()
    _forget_callables()


def _forget_callables() -> None:
    """FastAPI remembers 4096 functions that it has once looked at, and so all apps and their services, whose objects
    the garbage collector would go through in every test that follows.
    """
    for each in vars(fastapi.dependencies.models).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest_asyncio.fixture
async def home(tmp_path: Path, new_database_file: Path) -> AsyncIterator[Home]:
    async with home_with(Settings(data_dir=tmp_path / "data"), new_database_file) as made:
        yield made


@pytest_asyncio.fixture
async def ada(home: Home) -> Person:
    return await home.person("Ada Lovelace", UserRole.ADMIN)


@pytest_asyncio.fixture
async def ben(home: Home, ada: Person) -> Person:
    return await home.person("Ben")
