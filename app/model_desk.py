"""Where a command brings what it wants changed of models: to the server that runs on this data folder, so that what is
in memory follows, open pages show it, and a model that answers is not taken away unasked; else to services of its own.
Part of the command line.

The server does it as one of its admins. Without any, nobody is signed in there, and all but removing is done here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from app.instance import AlreadyRunning
from app.running_server import RunningServer, any_admin, server_url
from app.services.container import Services


class Desk(Protocol):
    """All of it raises AppError. A model is named by its id; paths are whole. What is added is added beside a server,
    which is only told.
    """

    async def change(self, model_id: str, changes: Mapping[str, Any]) -> None: ...
    async def set_budget(self, gib: float | None) -> None: ...
    async def update(self, model_id: str, path: Path) -> None: ...
    async def roll_back(self, model_id: str, version_id: str) -> None: ...
    async def remove(self, model_id: str, *, stops_answers: bool) -> None: ...
    async def tell_changed(self) -> None: ...


@asynccontextmanager
async def open_desk(services: Services, *, is_removal: bool = False) -> AsyncIterator[Desk]:
    """`is_removal`: only a server itself knows what it has in memory. Raises AlreadyRunning where one is just starting
    or ending, and Conflict where it has no admin.
    """
    try:
        url = server_url(services.settings)
    except AlreadyRunning:
        if is_removal:
            raise
        url = None
    if url is None or not (is_removal or await any_admin(services.accounts)):
        yield _Here(services)
        return
    async with RunningServer.open(url, services.accounts) as server:
        yield _Server(server)


class _Here:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def change(self, model_id: str, changes: Mapping[str, Any]) -> None:
        await self._services.model_settings.change(model_id, changes)

    async def set_budget(self, gib: float | None) -> None:
        await self._services.model_settings.set_memory_budget(gib)

    async def update(self, model_id: str, path: Path) -> None:
        await self._services.model_versions.update(model_id, path)

    async def roll_back(self, model_id: str, version_id: str) -> None:
        await self._services.model_versions.roll_back(model_id, version_id)

    async def remove(self, model_id: str, *, stops_answers: bool) -> None:
        await self._services.models.remove(model_id, stops_answers=stops_answers)

    async def tell_changed(self) -> None:
        """There is nobody to tell."""


class _Server:
    def __init__(self, server: RunningServer) -> None:
        self._server = server

    async def change(self, model_id: str, changes: Mapping[str, Any]) -> None:
        await self._ask("PUT", "/settings", model=model_id, changes=changes)

    async def set_budget(self, gib: float | None) -> None:
        await self._ask("PUT", "/budget", gib=gib)

    async def update(self, model_id: str, path: Path) -> None:
        await self._ask("POST", "/update", model=model_id, path=str(path))

    async def roll_back(self, model_id: str, version_id: str) -> None:
        await self._ask("POST", "/rollback", model=model_id, version=version_id)

    async def remove(self, model_id: str, *, stops_answers: bool) -> None:
        await self._ask("DELETE", "", model=model_id, stops_answers=stops_answers)

    async def tell_changed(self) -> None:
        await self._ask("POST", "/changed")

    async def _ask(self, method: str, path: str, /, **body: Any) -> dict[str, Any]:
        """However long it takes: a large file's header, a step that has to end before its model goes."""
        return await self._server.ask(method, f"/local-models{path}", json=body, timeout=None)
