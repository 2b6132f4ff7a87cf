"""Where a command brings its wishes about downloads: to the server that runs on this data folder, or, where none does,
to services of its own. Both answer with the same JSON. Part of the command line; on an event loop of its own.

The command speaks to the server as one of its admins, with a session that it makes in the database, which it may write
anyway, and that ends with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any, Protocol, TypeVar

import httpx

from app.errors import AppError, Conflict
from app.instance import AlreadyRunning, Instance, note_of
from app.language import Said
from app.logs import set_up_logs
from app.security import SESSION_COOKIE
from app.services.accounts import AccountService
from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from store.tables import UserRole

T = TypeVar("T")

TIMEOUT_S = 60.0


class Desk(Protocol):
    """`is_server`: what was asked for goes on when the command ends."""

    is_server: bool

    async def plan(self, repo: str, wanted: str) -> dict[str, Any]: ...
    async def show(self, repo: str) -> dict[str, Any]: ...
    async def request(self, repo: str, wanted: str, *, anyway: bool) -> dict[str, Any]: ...
    async def list(self) -> list[dict[str, Any]]: ...
    async def get(self, download_id: str) -> dict[str, Any]: ...
    async def pause(self, download_id: str) -> dict[str, Any]: ...
    async def resume(self, download_id: str) -> dict[str, Any]: ...
    async def cancel(self, download_id: str) -> None: ...
    async def rules(self) -> dict[str, Any]: ...
    async def set_rules(self, changes: dict[str, Any]) -> dict[str, Any]: ...


class ServerSaysNo(AppError):
    """In the server's own words."""


def at_desk(settings: Settings, work: Callable[[Desk], Awaitable[T]]) -> T:
    """For a command: `work` on an event loop of its own. Raises as `open_desk` and `work` do."""

    async def run() -> T:
        async with open_desk(settings) as desk:
            return await work(desk)

    set_up_logs(logging.ERROR)          # what goes wrong is told by the command itself
    return asyncio.run(run())


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[Desk]:
    """Raises AppError or StoreError."""
    services = Services.open(settings, load_engine)
    try:
        if url := server_url(settings):
            async with _Server.open(url, services.accounts) as server:
                yield server
        else:
            await services.downloads.start(runs_all=False)
            yield _Here(services)
    finally:
        await services.downloads.close()
        await services.hub.close()
        services.close()


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


class _Here:
    is_server = False

    def __init__(self, services: Services) -> None:
        self._services = services
        self._downloads = services.downloads

    async def plan(self, repo: str, wanted: str) -> dict[str, Any]:
        commit_sha, variant = await self._downloads.plan(repo, wanted)
        fit = await self._services.hub.fit(repo, commit_sha, variant)
        foretold = await self._services.model_speeds.bodies({variant.label: fit})
        return {"repo": repo, "commit_sha": commit_sha} | variant.as_json() | foretold[variant.label]

    async def show(self, repo: str) -> dict[str, Any]:
        page = await self._services.hub.page(repo)
        foretold = await self._services.model_speeds.bodies(await self._services.hub.fits(page))
        return {"variants": [each.as_json() | foretold[each.label] for each in page.variants]}

    async def request(self, repo: str, wanted: str, *, anyway: bool) -> dict[str, Any]:
        return (await self._downloads.request(repo, wanted, anyway=anyway)).as_json()

    async def list(self) -> list[dict[str, Any]]:
        return [each.as_json() for each in self._downloads.list()]

    async def get(self, download_id: str) -> dict[str, Any]:
        return self._downloads.get(download_id).as_json()

    async def pause(self, download_id: str) -> dict[str, Any]:
        return (await self._downloads.pause(download_id)).as_json()

    async def resume(self, download_id: str) -> dict[str, Any]:
        return (await self._downloads.resume(download_id)).as_json()

    async def cancel(self, download_id: str) -> None:
        await self._downloads.cancel(download_id)

    async def rules(self) -> dict[str, Any]:
        return asdict(self._downloads.rules)

    async def set_rules(self, changes: dict[str, Any]) -> dict[str, Any]:
        await self._downloads.set_rules(replace(self._downloads.rules, **changes))
        return await self.rules()


class _Server:
    is_server = True

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, accounts: AccountService) -> AsyncIterator[_Server]:
        admins = [each for each in await accounts.list_users() if each.role is UserRole.ADMIN and each.is_active]
        if not admins:
            raise Conflict(Said("command-no-admin", url=url))
        session = await accounts.start_session(admins[0], user_agent="inglenook models")
        headers = {"Cookie": f"{SESSION_COOKIE}={session}"}
        try:
            # No proxy: it is this machine that is spoken to.
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=False) as client:
                yield cls(client)
        finally:
            await accounts.sign_out(session)

    async def plan(self, repo: str, wanted: str) -> dict[str, Any]:
        return await self._ask("GET", "/hub/plan", params={"repo": repo, "wanted": wanted})

    async def show(self, repo: str) -> dict[str, Any]:
        return await self._ask("GET", f"/hub/models/{repo}")

    async def request(self, repo: str, wanted: str, *, anyway: bool) -> dict[str, Any]:
        return await self._ask("POST", "/hub/downloads", json={"repo": repo, "wanted": wanted, "anyway": anyway})

    async def list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self._ask("GET", "/hub/downloads"))["downloads"]
        return found

    async def get(self, download_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/hub/downloads/{download_id}")

    async def pause(self, download_id: str) -> dict[str, Any]:
        return await self._ask("POST", f"/hub/downloads/{download_id}/pause")

    async def resume(self, download_id: str) -> dict[str, Any]:
        return await self._ask("POST", f"/hub/downloads/{download_id}/resume")

    async def cancel(self, download_id: str) -> None:
        await self._ask("DELETE", f"/hub/downloads/{download_id}")

    async def rules(self) -> dict[str, Any]:
        return await self._ask("GET", "/hub/rules")

    async def set_rules(self, changes: dict[str, Any]) -> dict[str, Any]:
        return await self._ask("PUT", "/hub/rules", json=changes)

    async def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
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
