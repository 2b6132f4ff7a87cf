"""Memory that several models share: what a load may take beside those that are loaded, and which of them makes room.

Used by the registry of engines, on the event loop. Where the next model does not fit, the least recently used idle one
goes; where all are answering, the least recently used is drained.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.errors import said
from app.language import Said
from app.services.model_places import ModelPlaces
from app.services.model_states import LoadWait, ModelState, Place
from engine.engine import Engine
from engine.errors import EngineError, OutOfMemory
from engine.load import LoadLimits
from engine.memory import COMFORTABLE_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS


def limits_beside(
    places: Iterable[Place], limits: LoadLimits, budget_bytes: int | None, *, is_picky: bool
) -> LoadLimits:
    """`is_picky`: rather than with little context beside others, a model is loaded in the place of an idle one."""
    engines = [place.engine for place in places if place.engine is not None]
    promised = [_promised_bytes(engine) for engine in engines]
    return replace(
        limits,
        promised_bytes=sum(host_bytes for host_bytes, _ in promised),
        promised_gpu_bytes=sum(gpu_bytes for _, gpu_bytes in promised),
        budget_bytes=None if budget_bytes is None else budget_bytes - sum(map(_planned_bytes, engines)),
        least_context_tokens=COMFORTABLE_CONTEXT_TOKENS if is_picky else MIN_CONTEXT_TOKENS,
    )


async def make_room(places: ModelPlaces, wanted: Place, name: str) -> bool:
    """Unload the least recently used idle model, or drain one; False where nothing else may go."""
    has_waited = False
    try:
        while others := places.removable():
            by_use = sorted(others, key=lambda model_id: others[model_id].last_used_s)
            idle = next((model_id for model_id in by_use if others[model_id].is_idle), None)
            if idle is not None:
                await places.end(idle, others[idle])
                return True
            if all(place.state is ModelState.READY for place in others.values()):
                reason = Said("error-makes-room", model=name)
                places.set(others[by_use[0]], ModelState.DRAINING, reason)
            *first, last = sorted(others)
            names = Said("either-or", first=", ".join(first), last=last) if first else last
            wanted.began_loading_s = None
            reason = Said("error-waiting-for-memory", models=names)
            places.set(wanted, ModelState.LOADING, reason, LoadWait.MEMORY)
            places.released.clear()
            await places.released.wait()
            has_waited = True
        return has_waited           # it went by itself
    finally:
        for place in places.removable().values():
            if place.state is ModelState.DRAINING:      # another went, or the load was given up
                places.set(place, ModelState.READY)


def why_not_loaded(places: ModelPlaces, error: EngineError) -> Said:
    """Where memory lacks, with those that others had to leave alone."""
    if not isinstance(error, OutOfMemory):
        return said(error)
    pinned = ", ".join(sorted(
        model_id for model_id, place in places.by_id.items()
        if place.engine is not None and place.policy.is_pinned and not place.engine.info.is_elsewhere
    ))
    return Said("error-pinned", detail=said(error), models=pinned) if pinned else said(error)


def _planned_bytes(engine: Engine) -> int:
    """As `MemoryPlan.everywhere_bytes`."""
    return engine.info.weight_bytes + engine.info.kv_bytes + engine.info.cache_bytes


def _promised_bytes(engine: Engine) -> tuple[int, int]:
    """What a loaded model may still take of the host and of a GPU: its memory grows with its chats, up to the plan."""
    info = engine.info
    promised = max(0, info.kv_bytes + info.cache_bytes - engine.metrics().held_bytes)
    return promised, min(promised, info.gpu_kv_bytes)
