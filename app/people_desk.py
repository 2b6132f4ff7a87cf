"""Where a command brings its wishes about people, their keys and chats: to the server that runs on this data folder, so
that what ends there ends at once and open pages show it; else to the data folder itself. Part of the command line.

The server does what one admin may do to another person. What concerns the only admin themselves (a password that they
forgot) it would not do for them: that is done here, and the door of the server finds it out within seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.instance import AlreadyRunning
from app.running_server import RunningServer, any_admin, server_url
from app.services.accounts import AccountService
from app.services.changes import Changes
from app.settings import Settings
from store.belongings import Belongings, belongings
from store.database import Database
from store.tables import ApiKey, User, UserRole

T = TypeVar("T")


class Desk(Protocol):
    """All of it raises AppError."""

    async def add(self, name: str, password: str, role: UserRole) -> None: ...
    async def set_password(self, user: User, password: str) -> None: ...
    async def set_role(self, user: User, role: UserRole) -> None: ...
    async def set_active(self, user: User, is_active: bool) -> None: ...
    async def remove(self, user: User) -> None: ...
    async def revoke_key(self, key: ApiKey) -> None: ...
    async def tell_changed(self) -> None: ...
    async def tell_chats_changed(self, user: User) -> None: ...


@dataclass(frozen=True, slots=True)
class Office:
    """`accounts` is for what is only read, and for new keys: nobody makes those for another but at this machine."""

    settings: Settings
    db: Database
    accounts: AccountService

    async def belongings(self, user: User) -> Belongings:
        return await self.db.read(belongings, user.id)

    @asynccontextmanager
    async def desk(self, about: User | None = None) -> AsyncIterator[Desk]:
        """`about`: whom it concerns."""
        url, admin = self._url(), await any_admin(self.accounts, besides=about)
        if url is None or admin is None:
            yield _Here(self.accounts)
            return
        async with RunningServer.open(url, self.accounts, admin=admin) as server:
            yield _Server(server)

    def _url(self) -> str | None:
        try:
            return server_url(self.settings)
        except AlreadyRunning:
            return None         # just starting or ending: no page is open there


def at_office(settings: Settings, work: Callable[[Office], Awaitable[T]]) -> T:
    """For a command: `work` on an event loop of its own. Raises as it does, and StoreError."""
    async def run() -> T:
        return await work(Office(settings, db, accounts))

    with (
        closing(Database.open(settings.database_path)) as db,
        closing(AccountService(db, settings, Changes())) as accounts,
    ):
        return asyncio.run(run())


class _Here:
    def __init__(self, accounts: AccountService) -> None:
        self._accounts = accounts

    async def add(self, name: str, password: str, role: UserRole) -> None:
        await self._accounts.add_user(name, password, role)

    async def set_password(self, user: User, password: str) -> None:
        await self._accounts.set_password(user.id, password)

    async def set_role(self, user: User, role: UserRole) -> None:
        await self._accounts.set_role(user.id, role)

    async def set_active(self, user: User, is_active: bool) -> None:
        await self._accounts.set_active(user.id, is_active)

    async def remove(self, user: User) -> None:
        await self._accounts.remove_user(user.id)

    async def revoke_key(self, key: ApiKey) -> None:
        await self._accounts.revoke_key(key.user_id, key.id)

    async def tell_changed(self) -> None:
        """There is nobody to tell."""

    async def tell_chats_changed(self, user: User) -> None:
        """Likewise."""


class _Server:
    def __init__(self, server: RunningServer) -> None:
        self._ask = server.ask

    async def add(self, name: str, password: str, role: UserRole) -> None:
        await self._ask("POST", "/accounts", json={"name": name, "password": password, "role": role.value})

    async def set_password(self, user: User, password: str) -> None:
        await self._ask("PUT", f"/accounts/{user.id}/password", json={"password": password})

    async def set_role(self, user: User, role: UserRole) -> None:
        await self._ask("PUT", f"/accounts/{user.id}/role", json={"role": role.value})

    async def set_active(self, user: User, is_active: bool) -> None:
        await self._ask("PUT", f"/accounts/{user.id}/active", json={"active": is_active})

    async def remove(self, user: User) -> None:
        """However long it takes: there may be many chats."""
        await self._ask("DELETE", f"/accounts/{user.id}", json={"name": user.name}, timeout=None)

    async def revoke_key(self, key: ApiKey) -> None:
        await self._ask("DELETE", f"/accounts/{key.user_id}/keys/{key.id}")

    async def tell_changed(self) -> None:
        await self._ask("POST", "/accounts/changed")

    async def tell_chats_changed(self, user: User) -> None:
        await self._ask("POST", f"/accounts/{user.id}/chats/changed")
