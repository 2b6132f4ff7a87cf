"""The server that runs on a data folder, as a command speaks to it: as one of its admins, with a session that it makes
in the database, which it may write anyway, and that ends with it. Part of the command line; on a loop of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from app.errors import AppError, Conflict
from app.instance import AlreadyRunning, Instance, note_of
from app.language import Said
from app.security import SESSION_COOKIE
from app.services.accounts import AccountService
from app.settings import Settings
from store.tables import User, UserRole

TIMEOUT_S = 60.0
USER_AGENT = "inglenook on the command line"


class ServerSaysNo(AppError):
    """In the server's own words."""


def server_url(settings: Settings) -> str | None:
    """Of the server that has this data folder. Raises AlreadyRunning where one is just starting or ending."""
    try:
        Instance.claim(settings.data_dir).release()
    except AlreadyRunning as running:
        note = note_of(settings.data_dir)
        if note is None or note.url is None:
            raise running from None
        return note.url
    return None


async def any_admin(accounts: AccountService, *, besides: User | None = None) -> User | None:
    admins = [each for each in await accounts.list_users() if each.role is UserRole.ADMIN and each.is_active]
    return next((each for each in admins if besides is None or each.id != besides.id), None)


class RunningServer:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, accounts: AccountService, *, admin: User | None = None
    ) -> AsyncIterator[RunningServer]:
        """As this admin, else as any. Raises Conflict where there is none yet."""
        admin = admin or await any_admin(accounts)
        if admin is None:
            raise Conflict(Said("command-no-admin", url=url))
        session = await accounts.start_session(admin, user_agent=USER_AGENT, is_command=True)
        headers = {"Cookie": f"{SESSION_COOKIE}={session}"}
        try:
            # No proxy: it is this machine that is spoken to.
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=False) as client:
                yield cls(client)
        finally:
            await accounts.sign_out(session)

    async def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """What it answers, as JSON. Raises ServerSaysNo."""
        try:
            response = await self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise ServerSaysNo(Said("command-no-answer", url=str(self._client.base_url), detail=str(error))) from error
        if response.is_success:
            answer: dict[str, Any] = response.json() if response.content else {}
            return answer
        try:
            raise ServerSaysNo(Said("error-words", detail=str(response.json()["error"]["message"])))
        except (ValueError, KeyError, TypeError) as error:
            raise ServerSaysNo(Said("command-odd-answer", status=response.status_code)) from error
