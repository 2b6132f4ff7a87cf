"""Which models are in memory. Made once, by `app.main`; used by generations, the API and the Models page.

    ON_DISK -> LOADING -> READY -> DRAINING -> ON_DISK        (any) -> FAILED(reason)

Everything here runs on the event loop, and this registry alone owns the engines: whoever wants one borrows it by
`acquire`, and a borrowed engine is never unloaded to make room. Loads happen one at a time; where the next model does
not fit, the least recently used idle one goes, and where all are answering, the load waits for the first that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

import structlog

from app.errors import ModelUnavailable, said
from app.language import Said
from app.services.changes import Change, Changes
from engine.engine import Engine, EngineInfo
from engine.errors import EngineError, EngineFailed, OutOfMemory
from engine.load import LoadLimits, ModelSpec

RETRY_AFTER_FAILURE_S = 30      # a model that just failed is not tried again by every request that names it

Loader = Callable[[ModelSpec, LoadLimits], Awaitable[Engine]]

log = structlog.get_logger(__name__)


class ModelState(StrEnum):
    ON_DISK = "on_disk"
    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"


class LoadWait(StrEnum):
    """What a load waits for before it begins."""

    MEMORY = "memory"           # until a loaded model is idle and can go
    OTHER_LOAD = "other_load"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    state: ModelState
    reason: str = ""                        # why it failed, or what a load waits for: a sentence for a person
    info: EngineInfo | None = None          # while READY
    num_requests: int = 0                   # that use it now, waiting ones included
    waits_for: LoadWait | None = None       # `reason` says it in words
    about_s: float | None = None            # while LOADING: how long it may still take, by its last load


@dataclass(slots=True, eq=False)
class _Place:
    """What the registry knows of one model. Made at its first load, kept until the model is forgotten."""

    state: ModelState = ModelState.ON_DISK
    reason: str = ""
    waits_for: LoadWait | None = None
    engine: Engine | None = None
    num_borrowers: int = 0
    last_used_s: float = 0.0
    failed_at_s: float = 0.0
    began_loading_s: float | None = None    # the file, that is: not the waiting for memory or for another load
    last_load_s: float | None = None        # how long that took
    last_window: int | None = None          # in tokens, when it was last loaded
    loading: asyncio.Task[None] | None = None
    unloading: asyncio.Task[None] | None = None


@dataclass(slots=True)
class EngineRegistry:
    spec_of: Callable[[str], Awaitable[ModelSpec]]      # raises ModelNotFound
    loader: Loader
    limits: LoadLimits
    changes: Changes
    _places: dict[str, _Place] = field(default_factory=dict)
    _one_load: asyncio.Lock = field(default_factory=asyncio.Lock)
    _released: asyncio.Event = field(default_factory=asyncio.Event)     # waited for by the one load that wants room
    _is_closed: bool = False

    def status(self, model_id: str) -> ModelStatus:
        place = self._places.get(model_id)
        if place is None:
            return ModelStatus(ModelState.ON_DISK)
        info = place.engine.info if place.engine else None
        return ModelStatus(place.state, place.reason, info, place.num_borrowers, place.waits_for, _about_s(place))

    def last_window(self, model_id: str) -> int | None:
        """How many tokens it held when it was last loaded here."""
        place = self._places.get(model_id)
        return place.last_window if place else None

    def loaded(self) -> dict[str, Engine]:
        """The engines that are READY, by model id."""
        return {
            model_id: place.engine
            for model_id, place in self._places.items()
            if place.engine is not None and place.state is ModelState.READY
        }

    @asynccontextmanager
    async def acquire(self, model_id: str) -> AsyncIterator[Engine]:
        """Borrow a model's engine, loading it first where needed.

        Raises ModelNotFound, or ModelUnavailable with the reason where it cannot be loaded. EngineFailed, raised by the
        borrower's own use of the engine, marks the model FAILED on its way out, unless the model was being unloaded.
        """
        engine, place = await self._ready(model_id)
        place.num_borrowers += 1
        try:
            yield engine
        except EngineFailed as error:
            if place.engine is engine and place.state is ModelState.READY:
                self._fail(model_id, place, said(error))
                await engine.close()
            raise
        finally:
            place.num_borrowers -= 1
            place.last_used_s = asyncio.get_running_loop().time()
            self._released.set()

    async def load(self, model_id: str) -> None:
        """Returns when the model is READY; tries again at once where it had failed. Raises as `acquire`."""
        place = self._places.get(model_id)
        if place is not None and place.state is ModelState.FAILED:
            place.failed_at_s = -RETRY_AFTER_FAILURE_S
        await self._ready(model_id)

    async def unload(self, model_id: str) -> None:
        """Free a model's memory now. Answers that it is writing end as interrupted; a load under way is given up."""
        place = self._places.get(model_id)
        if place is None:
            return
        if place.loading is not None:
            place.loading.cancel()
            await asyncio.wait({place.loading})
        if place.engine is not None and place.unloading is None:
            self._set(place, ModelState.DRAINING)       # now, so that nobody borrows it before the task has started
            place.unloading = asyncio.create_task(self._unload(model_id, place, place.engine))
        if place.unloading is not None:
            await asyncio.shield(place.unloading)
        if place.state is ModelState.FAILED:
            self._set(place, ModelState.ON_DISK)

    async def forget(self, model_id: str) -> None:
        """Unload a model that is being removed, and drop what is known of it."""
        await self.unload(model_id)
        self._places.pop(model_id, None)

    async def close(self) -> None:
        """Give up loads and close every engine. Idempotent; nothing can be acquired afterwards."""
        self._is_closed = True
        await asyncio.gather(*(self.unload(model_id) for model_id in list(self._places)))

    async def _ready(self, model_id: str) -> tuple[Engine, _Place]:
        while True:
            if self._is_closed:
                raise ModelUnavailable(Said("error-shutting-down"))
            place = self._places.get(model_id)
            if place is not None and place.state is ModelState.READY and place.engine is not None:
                return place.engine, place
            if place is not None and place.unloading is not None:
                await asyncio.shield(place.unloading)
                continue
            if place is None or place.loading is None:
                spec = await self.spec_of(model_id)
                place = self._places.setdefault(model_id, _Place())
                self._check_failure(place)
                if place.loading is None and place.state is not ModelState.READY:
                    place.loading = asyncio.create_task(self._load(spec, place))
            if place.loading is not None:
                await _outcome(place.loading, model_id)

    def _check_failure(self, place: _Place) -> None:
        if place.state is not ModelState.FAILED:
            return
        wait_s = place.failed_at_s + RETRY_AFTER_FAILURE_S - asyncio.get_running_loop().time()
        if wait_s > 0:
            raise ModelUnavailable(place.reason, retry_after_s=max(1, round(wait_s)))

    async def _load(self, spec: ModelSpec, place: _Place) -> None:
        """Ends in READY or FAILED; raises only what is no failure of the model's."""
        if self._one_load.locked():
            self._set(place, ModelState.LOADING, "Waiting until another model has loaded.", LoadWait.OTHER_LOAD)
        else:
            self._set(place, ModelState.LOADING)
        try:
            async with self._one_load:
                place.engine = await self._load_with_room(spec, place)
        except EngineError as error:
            self._fail(spec.model_id, place, said(error))
            return
        except BaseException:       # cancelled by `unload`, or a fault of ours: never leave it LOADING for ever
            self._set(place, ModelState.ON_DISK)
            raise
        finally:
            place.loading = None
        info = place.engine.info
        place.last_used_s = asyncio.get_running_loop().time()
        place.last_load_s = place.last_used_s - (place.began_loading_s or place.last_used_s)
        place.last_window = info.max_model_len
        self._set(place, ModelState.READY)
        log.info("model loaded", model=spec.model_id, device=info.device, backend=info.backend)

    async def _load_with_room(self, spec: ModelSpec, place: _Place) -> Engine:
        while True:
            try:
                if place.reason:
                    self._set(place, ModelState.LOADING)
                place.began_loading_s = asyncio.get_running_loop().time()
                promised = [_promised_bytes(engine) for engine in self.loaded().values()]
                limits = replace(
                    self.limits,
                    promised_bytes=sum(host_bytes for host_bytes, _ in promised),
                    promised_gpu_bytes=sum(gpu_bytes for _, gpu_bytes in promised),
                )
                return await self.loader(spec, limits)
            except OutOfMemory:
                if not await self._make_room(place):
                    raise

    async def _make_room(self, wanted: _Place) -> bool:
        """Unload the least recently used idle model, or wait until one is idle; False where nothing else is loaded."""
        while others := {model_id: self._places[model_id] for model_id in self.loaded()}:
            idle = [model_id for model_id, place in others.items() if place.num_borrowers == 0]
            if idle:
                await self.unload(min(idle, key=lambda model_id: others[model_id].last_used_s))
                return True
            names = " or ".join(sorted(others))
            wanted.began_loading_s = None
            reason = Said("error-waiting-for-memory", models=names)
            self._set(wanted, ModelState.LOADING, reason, LoadWait.MEMORY)
            self._released.clear()
            await self._released.wait()
        return False

    async def _unload(self, model_id: str, place: _Place, engine: Engine) -> None:
        try:
            await engine.close()
        finally:
            place.engine = place.unloading = None
            self._set(place, ModelState.ON_DISK)
        log.info("model unloaded", model=model_id)

    def _fail(self, model_id: str, place: _Place, reason: str) -> None:
        place.engine = None
        place.failed_at_s = asyncio.get_running_loop().time()
        self._set(place, ModelState.FAILED, reason)
        log.warning("model failed", model=model_id, reason=reason)

    def _set(self, place: _Place, state: ModelState, reason: str = "", waits_for: LoadWait | None = None) -> None:
        place.state, place.reason, place.waits_for = state, reason, waits_for
        self.changes.announce_all(Change("models", None))


def _about_s(place: _Place) -> float | None:
    if place.state is not ModelState.LOADING or place.began_loading_s is None or place.last_load_s is None:
        return None
    return max(0.0, place.began_loading_s + place.last_load_s - asyncio.get_running_loop().time())


def _promised_bytes(engine: Engine) -> tuple[int, int]:
    """What a loaded model may still take of the host and of a GPU: its memory grows with its chats, up to the plan."""
    info = engine.info
    promised = max(0, info.kv_bytes + info.cache_bytes - engine.metrics().held_bytes)
    return promised, min(promised, info.gpu_kv_bytes)


async def _outcome(loading: asyncio.Task[None], model_id: str) -> None:
    """Wait for a load that others may wait for too: neither's being cancelled is the other's."""
    await asyncio.wait({loading})
    if loading.cancelled():
        raise ModelUnavailable(Said("error-load-stopped", model=model_id), retry_after_s=1)
    loading.result()
