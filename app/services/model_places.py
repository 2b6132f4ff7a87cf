"""The places of models that were loaded here, and every change of their state; unloading, at once or after a while
unused. The registry of engines alone has one, on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from app.language import Said
from app.services.changes import Change, Changes
from app.services.model_states import LEAST_SHARE_TOLD, LoadWait, ModelState, Place
from engine.engine import Engine
from engine.hardware import give_back_memory
from engine.load import OnShareLoaded

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class ModelPlaces:
    changes: Changes
    by_id: dict[str, Place] = field(default_factory=dict)
    released: asyncio.Event = field(default_factory=asyncio.Event)      # waited for by the one load that wants room

    def removable(self) -> Mapping[str, Place]:
        """Those that may have to go for others, in use or not. One elsewhere would leave no room."""
        return {
            model_id: place for model_id, place in self.by_id.items()
            if place.engine is not None and place.unloading is None and not place.policy.is_pinned
            and not place.engine.info.is_elsewhere
        }

    def see_to_expiry(self, model_id: str, place: Place, *, at_least_s: float = 0.0) -> None:
        """An idle model's time begins anew, one in use has none."""
        if place.expiry is not None:
            place.expiry.cancel()
            place.expiry = None
        keep_alive_s = 0 if place.is_retired else None if place.policy.is_pinned else place.policy.keep_alive_s
        if place.engine is None or place.num_borrowers or keep_alive_s is None:
            return
        ends_s = place.last_used_s + max(keep_alive_s, at_least_s)
        place.expiry = asyncio.get_running_loop().call_at(ends_s, self._expire, model_id, place)

    def begin_to_unload(self, model_id: str, place: Place, engine: Engine) -> None:
        self.set(place, ModelState.DRAINING)       # now, so that nobody borrows it before the task has started
        place.unloading = asyncio.create_task(self._unload(model_id, place, engine), name=f"unload {model_id}")

    async def end(self, model_id: str, place: Place) -> None:
        """Unload it, and return when it is."""
        if place.engine is not None and place.unloading is None:
            self.begin_to_unload(model_id, place, place.engine)
        if place.unloading is not None:
            await asyncio.shield(place.unloading)

    def fail(self, model_id: str, place: Place, reason: Said) -> None:
        place.engine = None
        self.see_to_expiry(model_id, place)
        place.failed_at_s = asyncio.get_running_loop().time()
        self.set(place, ModelState.FAILED, reason)
        log.warning("model failed", model=model_id, reason=reason)

    def set(
        self, place: Place, state: ModelState, reason: Said | None = None, waits_for: LoadWait | None = None
    ) -> None:
        place.state, place.reason, place.waits_for = state, reason, waits_for
        if state is ModelState.DRAINING:
            place.settled.clear()
        else:
            place.settled.set()
        self.changes.announce_all(Change("models", None))

    def hearing(self, place: Place) -> OnShareLoaded:
        """What an engine's thread may tell how far a load of this model is."""
        loop = asyncio.get_running_loop()

        def hear(share: float) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._note_share, place, share)

        return hear

    def _note_share(self, place: Place, share: float) -> None:
        if place.state is ModelState.LOADING and share >= place.share_loaded + LEAST_SHARE_TOLD:
            place.share_loaded = share
            self.changes.announce_all(Change("models", None))

    def _expire(self, model_id: str, place: Place) -> None:
        place.expiry = None
        if place.engine is not None and place.state is ModelState.READY and place.is_idle:
            self.begin_to_unload(model_id, place, place.engine)

    async def _unload(self, model_id: str, place: Place, engine: Engine) -> None:
        try:
            await engine.close()
            await asyncio.to_thread(give_back_memory)
        finally:
            place.engine = place.unloading = None
            self.see_to_expiry(model_id, place)
            self.set(place, ModelState.ON_DISK)
        log.info("model unloaded", model=model_id)
