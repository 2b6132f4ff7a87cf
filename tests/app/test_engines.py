"""Which models are in memory: loading, sharing, making room, failing, unloading."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.errors import ModelNotFound, ModelUnavailable
from app.services.changes import Change
from app.services.container import Services
from app.services.engines import EngineRegistry, LoadWait, ModelState
from engine.backends.scripted import Gate, ScriptedBackend
from engine.engine import ChatMessage, ChatRequest, Engine
from engine.errors import EngineFailed, ModelLoadError, OutOfMemory
from engine.load import LoadLimits, ModelSpec, OnShareLoaded
from engine.local import LocalEngine
from engine.params import SamplingParams
from engine.told import Told
from tests.app.house import Shelf, turn, until

HI = ChatRequest(messages=(ChatMessage(role="user", content="Hi"),), params=SamplingParams(temperature=0))


async def answer(engine: Engine) -> str:
    return "".join([delta.text async for delta in engine.chat(HI)])


@pytest.fixture
def engines(services: Services) -> EngineRegistry:
    return services.engines


async def test_a_model_is_loaded_when_it_is_first_wanted_and_once_for_all(
    engines: EngineRegistry, shelf: Shelf
) -> None:
    assert engines.status("parrot").state is ModelState.ON_DISK

    async def use() -> str:
        async with engines.acquire("parrot") as engine:
            return await answer(engine)

    assert await asyncio.gather(*(use() for _ in range(5))) == ["Hello there."] * 5
    assert shelf.loads == ["parrot"]
    status = engines.status("parrot")
    assert status.state is ModelState.READY
    assert status.info is not None
    assert status.info.model_id == "parrot"
    assert status.num_requests == 0


async def test_an_unknown_model_is_not_found(engines: EngineRegistry) -> None:
    with pytest.raises(ModelNotFound, match="parrot"):
        await engines.load("dodo")
    assert engines.status("dodo").state is ModelState.ON_DISK


async def test_each_change_of_state_is_announced(services: Services) -> None:
    seen: list[ModelState] = []

    def note(change: Change) -> None:
        assert change.kind == "models"
        seen.append(services.engines.status("parrot").state)

    services.changes.watch(None, note)
    await services.engines.load("parrot")
    await services.engines.unload("parrot")
    await turn()
    assert seen[0] is ModelState.LOADING
    assert ModelState.READY in seen
    assert seen[-1] is ModelState.ON_DISK


async def test_a_model_that_cannot_be_loaded_says_why_and_is_not_tried_by_every_request(
    services: Services, shelf: Shelf
) -> None:
    def broken() -> ScriptedBackend:
        raise ModelLoadError(Told("trial-failed", detail="The file is cut off. Download it again."))

    await shelf.put(services, "broken", broken)
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="cut off") as error:
            async with services.engines.acquire("broken"):
                pass
        assert error.value.retry_after_s is not None
        assert 0 < error.value.retry_after_s <= 30
    assert shelf.loads == ["broken"]
    assert services.engines.status("broken").state is ModelState.FAILED
    assert services.engines.status("broken").reason == "The file is cut off. Download it again."

    shelf.makers["broken"] = lambda: ScriptedBackend("Mended.")
    await services.engines.load("broken")           # by a person: tried at once
    assert services.engines.status("broken").state is ModelState.READY


async def test_a_step_that_raises_fails_that_model_only(services: Services, shelf: Shelf) -> None:
    await shelf.put(services, "glass", lambda: ScriptedBackend("Crash", fail_at_step=2))
    await services.engines.load("parrot")
    with pytest.raises(EngineFailed):
        async with services.engines.acquire("glass") as engine:
            await answer(engine)
    assert services.engines.status("glass").state is ModelState.FAILED
    assert shelf.backends["glass"].is_closed
    async with services.engines.acquire("parrot") as engine:
        assert await answer(engine) == "Hello there."


async def test_unloading_ends_what_runs_there_and_does_not_mark_it_failed(services: Services, shelf: Shelf) -> None:
    gate = Gate()
    await shelf.put(services, "slow", lambda: ScriptedBackend("Slow", gate=gate))

    async def use() -> str:
        async with services.engines.acquire("slow") as engine:
            return await answer(engine)

    using = asyncio.create_task(use())
    await until(lambda: services.engines.status("slow").num_requests == 1)
    await asyncio.to_thread(gate.wait_until_held)
    unloading = asyncio.create_task(services.engines.unload("slow"))
    await until(lambda: services.engines.status("slow").state is ModelState.DRAINING)
    await turn()                    # the engine is told
    gate.open()
    with pytest.raises(EngineFailed, match="unloaded"):
        await using
    await unloading
    assert services.engines.status("slow").state is ModelState.ON_DISK
    assert shelf.backends["slow"].is_closed


async def test_whoever_asks_for_a_model_that_is_being_unloaded_gets_it_loaded_again(
    services: Services, shelf: Shelf
) -> None:
    await services.engines.load("parrot")
    unloading = asyncio.create_task(services.engines.unload("parrot"))
    await until(lambda: services.engines.status("parrot").state is ModelState.DRAINING)
    async with services.engines.acquire("parrot") as engine:
        assert await answer(engine) == "Hello there."
    await unloading
    assert shelf.loads == ["parrot", "parrot"]


class SmallMachine:
    """Room for one model, as the loader's own plan would find."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.num_loaded = 0

    async def load(self, spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        if self.num_loaded:
            raise OutOfMemory(Told("trial-failed", detail=f"{spec.name} needs more memory than is left."))
        engine = await self._shelf.load(spec, limits)
        self.num_loaded += 1
        close = engine.close

        async def close_and_free() -> None:
            await close()
            self.num_loaded = 0

        engine.close = close_and_free       # type: ignore[method-assign]
        return engine


async def test_the_next_model_gets_none_of_what_the_loaded_ones_may_still_take(
    services: Services, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised: list[tuple[int, int]] = []

    async def load(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        promised.append((limits.promised_bytes, limits.promised_gpu_bytes))
        engine = await shelf.load(spec, limits)
        assert isinstance(engine, LocalEngine)
        engine._info = replace(engine.info, kv_bytes=1000, cache_bytes=500, gpu_kv_bytes=700)
        return engine

    monkeypatch.setattr(ScriptedBackend, "held_bytes", 300)
    services.engines.loader = load
    await shelf.put(services, "second", "Second.")
    await services.engines.load("parrot")
    async with services.engines.acquire("parrot") as engine:
        await answer(engine)
    await services.engines.load("second")
    await services.engines.unload("parrot")
    await services.engines.unload("second")
    await services.engines.load("parrot")
    assert promised == [(0, 0), (1200, 700), (0, 0)]


async def test_an_idle_model_makes_room_for_the_next(services: Services, shelf: Shelf) -> None:
    services.engines.loader = SmallMachine(shelf).load
    await shelf.put(services, "second", "Second.")
    await services.engines.load("parrot")
    await services.engines.load("second")
    assert services.engines.status("parrot").state is ModelState.ON_DISK
    assert services.engines.status("second").state is ModelState.READY


async def test_an_answering_model_is_never_ended_to_make_room_the_next_one_waits(
    services: Services, shelf: Shelf
) -> None:
    services.engines.loader = SmallMachine(shelf).load
    gate = Gate()
    await shelf.put(services, "slow", lambda: ScriptedBackend("Slow but sure.", gate=gate))
    await shelf.put(services, "second", "Second.")

    async def use(model_id: str) -> str:
        async with services.engines.acquire(model_id) as engine:
            return await answer(engine)

    first = asyncio.create_task(use("slow"))
    await until(lambda: services.engines.status("slow").num_requests == 1)
    second = asyncio.create_task(use("second"))
    await until(lambda: services.engines.status("second").reason != "")
    assert services.engines.status("second").state is ModelState.LOADING
    assert "slow" in services.engines.status("second").reason
    gate.open()
    assert await first == "Slow but sure."
    assert await second == "Second."


async def test_a_model_too_large_for_an_empty_machine_fails_with_the_reason(services: Services, shelf: Shelf) -> None:
    async def refuse(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> LocalEngine:
        raise OutOfMemory(Told("trial-failed", detail="It needs 80 GB; there are 8."))

    services.engines.loader = refuse
    with pytest.raises(ModelUnavailable, match="80 GB"):
        await services.engines.load("parrot")


async def test_a_load_can_be_given_up(services: Services, shelf: Shelf) -> None:
    started = asyncio.Event()

    async def load_for_ever(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        started.set()
        never: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
        return await never

    services.engines.loader = load_for_ever
    loading = asyncio.create_task(services.engines.load("parrot"))
    await started.wait()
    await services.engines.unload("parrot")
    with pytest.raises(ModelUnavailable, match="stopped"):
        await loading
    assert services.engines.status("parrot").state is ModelState.ON_DISK
    services.engines.loader = shelf.load
    await services.engines.load("parrot")


async def test_whoever_gives_up_waiting_does_not_end_the_load_for_others(services: Services, shelf: Shelf) -> None:
    go_on = asyncio.Event()

    async def load_slowly(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        await go_on.wait()
        return await shelf.load(spec, limits)

    services.engines.loader = load_slowly
    impatient, patient = (asyncio.create_task(services.engines.load("parrot")) for _ in range(2))
    await until(lambda: services.engines.status("parrot").state is ModelState.LOADING)
    impatient.cancel()
    go_on.set()
    await patient
    assert shelf.loads == ["parrot"]


async def test_after_closing_nothing_is_loaded(services: Services) -> None:
    await services.engines.load("parrot")
    await services.engines.close()
    await services.engines.close()
    with pytest.raises(ModelUnavailable, match="shutting down"):
        await services.engines.load("parrot")


async def test_a_load_says_what_it_waits_for_and_how_long_it_took_the_last_time(
    services: Services, shelf: Shelf
) -> None:
    """What the page says while an answer waits for its model."""
    engines, asked, go_on = services.engines, asyncio.Event(), asyncio.Event()
    await engines.load("parrot")
    assert engines.last_window("parrot") == 4096
    await engines.unload("parrot")
    assert engines.last_window("parrot") == 4096        # known on disk too, once it was loaded
    loader = engines.loader

    async def slow(spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        asked.set()
        await go_on.wait()
        return await loader(spec, limits, lambda share: None)

    engines.loader = slow
    await shelf.put(services, "other", "Hi")
    loads = [asyncio.create_task(engines.load("parrot"))]
    await asked.wait()
    loads.append(asyncio.create_task(engines.load("other")))
    await until(lambda: engines.status("other").state is ModelState.LOADING)
    first, second = engines.status("parrot"), engines.status("other")
    assert (first.waits_for, second.waits_for) == (None, LoadWait.OTHER_LOAD)
    assert first.about_s is not None and first.about_s >= 0
    assert second.about_s is None                       # it was never loaded here
    go_on.set()
    await asyncio.gather(*loads)
    assert engines.status("other").waits_for is None


async def test_how_far_a_first_load_is_and_how_long_it_may_still_take(services: Services, shelf: Shelf) -> None:
    hears: list[OnShareLoaded] = []
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(spec: ModelSpec, limits: LoadLimits, on_share: OnShareLoaded) -> Engine:
        hears.append(on_share)
        asked.set()
        await go_on.wait()
        return await shelf.load(spec, limits)

    engines = services.engines
    engines.loader = slow
    load = asyncio.create_task(engines.load("parrot"))
    await asked.wait()
    assert (engines.status("parrot").share_loaded, engines.status("parrot").about_s) == (0.0, None)
    await asyncio.to_thread(hears[0], 0.5)              # as an engine's thread does
    await until(lambda: engines.status("parrot").share_loaded == 0.5)
    about_s = engines.status("parrot").about_s
    assert about_s is not None and 0.0 < about_s < 60.0
    await asyncio.to_thread(hears[0], 0.52)             # not worth telling
    assert engines.status("parrot").share_loaded == 0.5
    go_on.set()
    await load
    assert engines.status("parrot").share_loaded == 0.0
