"""Which models are in memory. Made once, by `Services.open`; used by generations, the API and the Models page.

    ON_DISK -> LOADING -> READY -> DRAINING -> ON_DISK        (any) -> FAILED(reason)

Everything here runs on the event loop, and this registry alone owns the engines: whoever wants one borrows it by
`acquire`, and a borrowed engine is never unloaded to make room. Loads happen one at a time; which model goes where the
next does not fit is told in `memory_room`, how states change and idle models end in `model_places`. Where all are
answering, one is drained: it ends its answers and begins no more, so that the load's turn comes however many ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import structlog

from app.errors import ModelUnavailable, said
from app.language import Said
from app.services.changes import Changes
from app.services.memory_room import limits_beside, make_room, why_not_loaded
from app.services.model_places import ModelPlaces
from app.services.model_states import LEAST_SHARE_TOLD, Place, Wanted
from app.services.model_states import LoadWait as LoadWait
from app.services.model_states import ModelState as ModelState
from app.services.model_states import ModelStatus as ModelStatus
from app.services.model_states import Policy as Policy
from engine import garbage
from engine.engine import Engine
from engine.errors import EngineError, EngineFailed, OutOfMemory
from engine.load import LoadLimits, ModelSpec, OnShareLoaded, plan_load
from engine.memory import MemoryPlan

RETRY_AFTER_FAILURE_S = 30      # a model that just failed is not tried again by every request that names it
UNUSED_S = 60                   # that a model which was just loaded stays, whatever its time after a use is

Loader = Callable[[ModelSpec, LoadLimits, OnShareLoaded], Awaitable[Engine]]

log = structlog.get_logger(__name__)

# Of the models that this task, or the one that began it, has borrowed: it gets them again though they are drained.
_borrowed: ContextVar[frozenset[str]] = ContextVar("borrowed models", default=frozenset())


@dataclass(slots=True)
class EngineRegistry:
    wanted: Callable[[str], Awaitable[Wanted]]          # raises ModelNotFound, or ModelUnavailable
    loader: Loader
    limits: LoadLimits
    changes: Changes
    budget_bytes: int | None = None                     # for all models together; None: what the machine has
    _places: ModelPlaces = field(init=False)
    _one_load: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_closed: bool = False
    _num_forgotten: int = 0

    def __post_init__(self) -> None:
        self._places = ModelPlaces(self.changes)

    def status(self, model_id: str) -> ModelStatus:
        place = self._places.by_id.get(model_id)
        if place is None:
            return ModelStatus(ModelState.ON_DISK)
        info = place.engine.info if place.engine else None
        share = place.share_loaded if place.state is ModelState.LOADING else 0.0
        return ModelStatus(
            place.state, place.reason or "", info, place.num_borrowers, place.waits_for, _about_s(place), share
        )

    def last_window(self, model_id: str) -> int | None:
        """How many tokens it held when it was last loaded here."""
        place = self._places.by_id.get(model_id)
        return place.last_window if place else None

    def loaded(self) -> dict[str, Engine]:
        """The engines that are READY, by model id."""
        return {
            model_id: place.engine
            for model_id, place in self._places.by_id.items()
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
        before = _borrowed.get()
        _borrowed.set(before | {model_id})
        self._places.see_to_expiry(model_id, place)
        try:
            yield engine
        except EngineFailed as error:
            if place.engine is engine and place.unloading is None:
                self._places.fail(model_id, place, said(error))
                await engine.close()
            raise
        finally:
            _borrowed.set(before)
            place.num_borrowers -= 1
            place.last_used_s = asyncio.get_running_loop().time()
            self._places.see_to_expiry(model_id, place)
            self._places.released.set()

    async def load(self, model_id: str, *, makes_room: bool = True) -> None:
        """Returns when the model is READY; tries again at once where it had failed. Raises as `acquire`.

        Without `makes_room` nothing is unloaded for it.
        """
        place = self._places.by_id.get(model_id)
        if place is not None and place.state is ModelState.FAILED:
            place.failed_at_s = -RETRY_AFTER_FAILURE_S
        await self._ready(model_id, makes_room=makes_room)

    async def plan(self, model_id: str) -> MemoryPlan:
        """What loading it now, beside what is loaded, would take and give. Raises as `wanted`, or ModelLoadError with
        numbers.
        """
        return await plan_load((await self.wanted(model_id)).spec, self._limits_now(is_picky=False))

    def retire(self, model_id: str) -> None:
        """Unload it as soon as nobody uses it: what comes next is another version of it."""
        if (place := self._places.by_id.get(model_id)) is not None and place.engine is not None:
            place.is_retired = True
            self._places.see_to_expiry(model_id, place)

    def set_policy(self, model_id: str, policy: Policy) -> None:
        """From now on; of a model that is not in memory nothing needs to be known."""
        if (place := self._places.by_id.get(model_id)) is not None:
            place.policy = policy
            self._places.see_to_expiry(model_id, place)
            self._places.released.set()        # who waits for room may take this one now

    async def unload(self, model_id: str) -> None:
        """Free a model's memory now. Answers that it is writing end as interrupted; a load under way is given up."""
        place = self._places.by_id.get(model_id)
        if place is None:
            return
        if place.loading is not None:
            place.loading.cancel()
            await asyncio.wait({place.loading})
        await self._places.end(model_id, place)
        if place.state is ModelState.FAILED:
            self._places.set(place, ModelState.ON_DISK)

    async def forget(self, model_id: str) -> None:
        """Unload a model that is being removed, and drop what is known of it."""
        self._num_forgotten += 1
        await self.unload(model_id)
        self._places.by_id.pop(model_id, None)

    async def close(self) -> None:
        """Give up loads and close every engine. Idempotent; nothing can be acquired afterwards."""
        self._is_closed = True
        garbage.stand_down()
        for place in self._places.by_id.values():
            place.settled.set()
        await asyncio.gather(*(self.unload(model_id) for model_id in list(self._places.by_id)))

    async def _ready(self, model_id: str, *, makes_room: bool = True) -> tuple[Engine, Place]:
        while True:
            if self._is_closed:
                raise ModelUnavailable(Said("error-shutting-down"))
            place = self._places.by_id.get(model_id)
            if place is not None and place.engine is not None and place.unloading is None:
                if place.state is ModelState.READY or model_id in _borrowed.get():
                    return place.engine, place
                await place.settled.wait()
                continue
            if place is not None and place.unloading is not None:
                await asyncio.shield(place.unloading)
                continue
            if place is None or place.loading is None:
                num_forgotten = self._num_forgotten
                wanted = await self.wanted(model_id)
                if num_forgotten != self._num_forgotten:
                    continue            # maybe this one: it is asked anew whether there is such a model
                place = self._places.by_id.setdefault(model_id, Place())
                self._check_failure(place)
                if place.loading is None and place.engine is None:
                    place.loading = asyncio.create_task(self._load(wanted, place, makes_room))
            if place.loading is not None:
                await self._wait_for(place, place.loading, model_id)
                if place.engine is not None and place.unloading is None:
                    return place.engine, place          # though it may be drained already, for who comes next
                if not makes_room and place.state is ModelState.FAILED and place.reason:
                    raise ModelUnavailable(place.reason)

    async def _wait_for(self, place: Place, loading: asyncio.Task[None], model_id: str) -> None:
        """What is being loaded for somebody is not idle, though nobody has it yet: else another would take its room."""
        place.num_waiting += 1
        try:
            await _outcome(loading, model_id)
        finally:
            place.num_waiting -= 1
            self._places.released.set()

    def _check_failure(self, place: Place) -> None:
        if place.state is not ModelState.FAILED or place.reason is None:
            return
        wait_s = place.failed_at_s + RETRY_AFTER_FAILURE_S - asyncio.get_running_loop().time()
        if wait_s > 0:
            raise ModelUnavailable(place.reason, retry_after_s=max(1, round(wait_s)))

    async def _load(self, wanted: Wanted, place: Place, makes_room: bool) -> None:
        """Ends in READY or FAILED; raises only what is no failure of the model's."""
        spec = wanted.spec
        if wanted.opens is None and self._one_load.locked():
            self._places.set(place, ModelState.LOADING, Said("error-waiting-for-load"), LoadWait.OTHER_LOAD)
        else:
            self._places.set(place, ModelState.LOADING)
        try:
            if wanted.opens is not None:
                place.engine = wanted.opens()
            else:
                async with self._one_load:
                    place.engine = await self._load_with_room(spec, place, makes_room)
        except EngineError as error:
            self._places.fail(spec.model_id, place, why_not_loaded(self._places, error))
            if not makes_room:
                place.failed_at_s = -RETRY_AFTER_FAILURE_S      # whoever asks for it may have it make room
            return
        except BaseException:       # cancelled by `unload`, or a fault of ours: never leave it LOADING for ever
            self._places.set(place, ModelState.ON_DISK)
            raise
        finally:
            place.loading = None
        place.policy, place.is_retired = wanted.policy, False
        info = place.engine.info
        place.last_used_s = asyncio.get_running_loop().time()
        place.last_load_s = place.last_used_s - (place.began_loading_s or place.last_used_s)
        place.last_window = info.max_model_len
        self._places.set(place, ModelState.READY)
        self._places.see_to_expiry(spec.model_id, place, at_least_s=UNUSED_S)       # whom it was loaded for comes first
        log.info("model loaded", model=spec.model_id, device=info.device, backend=info.backend)

    def _limits_now(self, *, is_picky: bool) -> LoadLimits:
        return limits_beside(self._places.by_id.values(), self.limits, self.budget_bytes, is_picky=is_picky)

    async def _load_with_room(self, spec: ModelSpec, place: Place, makes_room: bool) -> Engine:
        while True:
            has_idle = makes_room and any(each.is_idle for each in self._places.removable().values())
            try:
                if place.reason:
                    self._places.set(place, ModelState.LOADING)
                place.began_loading_s, place.share_loaded = asyncio.get_running_loop().time(), 0.0
                return await self.loader(spec, self._limits_now(is_picky=has_idle), self._places.hearing(place))
            except OutOfMemory:
                if not makes_room or not await make_room(self._places, place, spec.name):
                    raise


def _about_s(place: Place) -> float | None:
    """By its last load; the first time, by how long what is loaded has taken."""
    if place.state is not ModelState.LOADING or place.began_loading_s is None:
        return None
    taken_s = asyncio.get_running_loop().time() - place.began_loading_s
    if place.last_load_s is not None:
        return max(0.0, place.last_load_s - taken_s)
    return taken_s * (1 / place.share_loaded - 1) if place.share_loaded >= LEAST_SHARE_TOLD else None


async def _outcome(loading: asyncio.Task[None], model_id: str) -> None:
    """Wait for a load that others may wait for too: neither's being cancelled is the other's."""
    await asyncio.wait({loading})
    if loading.cancelled():
        raise ModelUnavailable(Said("error-load-stopped", model=model_id), retry_after_s=1)
    loading.result()
