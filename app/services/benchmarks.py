"""Measurements of models: one at a time, owned by this service, on the event loop, and kept in the store.

It goes on when the page that began it is closed. Only figures are kept, no text. How it is measured: see `bench_run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog

from app.errors import AppError, Conflict, NotFound, said
from app.language import Said
from app.services.bench_history import Apart, Since, beside_earlier, body_of, is_readable
from app.services.bench_prompts import NUM_PROMPTS, Prompts, of_ours, of_person
from app.services.bench_run import BenchRun
from app.services.bench_status import BenchState, BenchStatus, BenchWish
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry
from app.services.models import ModelService
from app.services.prices import Costs
from engine.errors import EngineError
from store import benchmarks, settings
from store.database import Database
from store.errors import StoreError
from store.tables import Benchmark

COSTS_SETTING = "costs"         # of the system's settings in the store
NUM_LOOKED_AT = 200             # of the newest runs

log = structlog.get_logger(__name__)


class BenchmarkService:
    def __init__(self, db: Database, models: ModelService, engines: EngineRegistry, changes: Changes) -> None:
        self._db = db
        self._models = models
        self._engines = engines
        self._changes = changes
        self._run: BenchRun | None = None
        self._task: asyncio.Task[None] | None = None

    # --- what is asked for --------------------------------------------------------------------------------------------

    async def start(self, wish: BenchWish) -> BenchStatus:
        """Of a model elsewhere some of ours are asked in place of a person's own questions, which stay here.

        Raises InvalidInput, ModelNotFound, or Conflict while another is measured or for a model that embeds.
        """
        wish = replace(wish, levels=tuple(sorted(set(wish.levels))))
        wish.check()
        found = [await self._models.find(each) for each in wish.model_ids]
        wish = replace(wish, model_ids=tuple(each.id for each in found))
        wish.check()                # an alias and an id may be the same model's
        if embeds := next((each for each in found if each.embeds), None):
            raise Conflict(Said("bench-embeds", model=embeds.name))
        if any(each.is_elsewhere for each in found) and wish.prompts.source == "own":
            wish = replace(wish, prompts=of_ours())
        if self._task is not None:
            raise Conflict(Said("bench-running"))
        run = self._run = BenchRun(wish, found, self._engines, self._changes)
        self._task = asyncio.create_task(self._measure(run), name="benchmark")
        self._task.add_done_callback(lambda task: self._ended(task, run))
        self._changes.announce_all(Change("benchmarks"))
        return run.status

    @property
    def last(self) -> BenchStatus | None:
        """The one that is being measured, or was last; None where none was since the start."""
        return self._run.status_now() if self._run is not None else None

    def get(self, bench_id: str) -> BenchStatus:
        """Raises NotFound also where another was begun since."""
        if (status := self.last) is None or status.id != bench_id:
            raise NotFound(Said("bench-none"))
        return status

    async def report(self, bench_id: str) -> dict[str, Any]:
        """As `get`, as JSON, with its figures so far."""
        status = self.get(bench_id)
        earlier = await self.since(status.rows)
        return status.as_json() | {"rows": [body_of(*each) for each in zip(status.rows, earlier, strict=True)]}

    async def stop(self) -> None:
        """Nothing of it is kept. Without effect where none runs."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def close(self) -> None:
        await self.stop()

    async def own_prompts(self, user_id: str) -> Prompts:
        """The first questions of this person's oldest chats; some of ours where there are none."""
        return of_person(await self._db.read(benchmarks.first_questions, user_id, NUM_PROMPTS))

    # --- what is kept -------------------------------------------------------------------------------------------------

    async def history(self) -> list[Benchmark]:
        """Newest first; of what other versions kept, what can be read here."""
        return [each for each in await self._db.read(benchmarks.newest_first, NUM_LOOKED_AT) if is_readable(each)]

    async def since(self, rows: Sequence[Benchmark]) -> list[Since | Apart | None]:
        """Each beside the one before it that can be compared; where none can, why."""
        history = await self.history()
        return [beside_earlier(history, each) for each in rows]

    async def costs(self) -> Costs:
        return await self._db.read(settings.fitting, COSTS_SETTING, Costs.from_values, Costs())

    async def set_costs(self, costs: Costs) -> None:
        await self._db.run(settings.set_of_system, COSTS_SETTING, costs.to_values())
        self._changes.announce_all(Change("benchmarks"))

    # --- its end ------------------------------------------------------------------------------------------------------

    async def _measure(self, run: BenchRun) -> None:
        rows = await run.measure()
        await self._db.run(benchmarks.add, rows)
        run.status = replace(run.status, state=BenchState.DONE, rows=tuple(rows))

    def _ended(self, task: asyncio.Task[None], run: BenchRun) -> None:
        """Whatever became of it, its status says so. Also of one that was stopped before it began."""
        self._task = None
        if task.cancelled():
            run.status = replace(run.status, state=BenchState.STOPPED, rows=())
        elif (error := task.exception()) is not None:
            run.status = replace(run.status, state=BenchState.FAILED, reason=_reason(error), rows=())
        self._changes.announce_all(Change("benchmarks"))


def _reason(error: BaseException) -> Said:
    if isinstance(error, AppError | EngineError | StoreError):
        return said(error)
    log.error("a benchmark broke", exc_info=error)
    return Said("error-broke")
