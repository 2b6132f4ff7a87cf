"""Where `inglenook bench` brings its wish: to the server that runs on this data folder, so that models are not in
memory twice and pages show it too, or, where none runs, to services of its own. Both answer with the same JSON. Part of
the command line; on an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

from app.errors import NotFound
from app.language import Said
from app.logs import set_up_logs
from app.running_server import RunningServer, server_url
from app.security import name_key
from app.services.bench_prompts import Prompts, of_person
from app.services.bench_status import BenchWish
from app.services.container import Services
from app.services.prices import Costs
from app.settings import Settings
from engine.load import load_engine

T = TypeVar("T")


class Desk(Protocol):
    async def start(self, body: dict[str, Any]) -> dict[str, Any]: ...
    async def get(self, bench_id: str) -> dict[str, Any]: ...
    async def stop(self, bench_id: str) -> None: ...


Work = Callable[[Desk, Services], Awaitable[T]]


def at_desk(settings: Settings, work: Work[T]) -> T:
    """For a command. `work` gets the services too, for what lies in the store. Raises as it does, and AppError."""

    async def run() -> T:
        services = Services.open(settings, load_engine)
        try:
            async with _open(settings, services) as desk:
                return await work(desk, services)
        finally:
            await services.stop()
            services.close()

    set_up_logs(logging.ERROR)          # what goes wrong is told by the command itself
    return asyncio.run(run())


async def prompts_of(services: Services, user_name: str) -> Prompts:
    """The questions of whom that is; without a name, of the only one who has an account. Raises NotFound."""
    users = await services.accounts.list_users()
    found = [each for each in users if not user_name or name_key(each.name) == name_key(user_name)]
    if user_name and not found:
        raise NotFound(Said("command-no-user", name=user_name))
    return await services.benchmarks.own_prompts(found[0].id) if len(found) == 1 else of_person(())


async def costs_of(services: Services, given: dict[str, float]) -> Costs:
    """As they were typed on the page, but for what is given now. Raises ValueError, which names it."""
    kept = await services.benchmarks.costs()
    return Costs.from_values(kept.to_values() | given)


@asynccontextmanager
async def _open(settings: Settings, services: Services) -> AsyncIterator[Desk]:
    if url := server_url(settings):
        async with RunningServer.open(url, services.accounts) as server:
            yield _Server(server)
    else:
        await services.models.register_starter()
        await services.model_settings.apply_memory_budget()
        yield _Here(services)


class _Here:
    def __init__(self, services: Services) -> None:
        self._benchmarks = services.benchmarks

    async def start(self, body: dict[str, Any]) -> dict[str, Any]:
        wish = BenchWish.from_json(body, Prompts((), "given"))
        return (await self._benchmarks.start(wish)).as_json()

    async def get(self, bench_id: str) -> dict[str, Any]:
        return await self._benchmarks.report(bench_id)

    async def stop(self, bench_id: str) -> None:
        await self._benchmarks.stop()


class _Server:
    def __init__(self, server: RunningServer) -> None:
        self._ask = server.ask

    async def start(self, body: dict[str, Any]) -> dict[str, Any]:
        return await self._ask("POST", "/bench", json=body)

    async def get(self, bench_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/bench/{bench_id}")

    async def stop(self, bench_id: str) -> None:
        await self._ask("DELETE", f"/bench/{bench_id}")
