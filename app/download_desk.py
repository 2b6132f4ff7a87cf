"""Where a command brings its wishes about downloads: to the server that runs on this data folder, or, where none does,
to services of its own. Both answer with the same JSON. Part of the command line; on an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any, Protocol, TypeVar

from app.logs import set_up_logs
from app.running_server import RunningServer, server_url
from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine

T = TypeVar("T")


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
            async with RunningServer.open(url, services.accounts) as server:
                yield _Server(server)
        else:
            await services.downloads.start(runs_all=False)
            yield _Here(services)
    finally:
        await services.downloads.close()
        await services.hub.close()
        services.close()


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

    def __init__(self, server: RunningServer) -> None:
        self._ask = server.ask

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
