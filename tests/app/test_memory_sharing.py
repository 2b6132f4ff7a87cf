"""Several models and one memory: who goes for whom, who stays, and for how long."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.errors import ModelUnavailable
from app.services.container import Services
from app.services.engines import EngineRegistry, ModelState, Policy
from engine.backends.scripted import Gate, ScriptedBackend
from engine.engine import ChatMessage, ChatRequest
from engine.errors import EngineFailed, OutOfMemory
from engine.load import LoadLimits, ModelSpec
from engine.local import LocalEngine
from engine.memory import COMFORTABLE_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS
from engine.params import SamplingParams
from engine.told import Told
from tests.app.house import Shelf, turn, until

HI = ChatRequest(messages=(ChatMessage(role="user", content="Hi"),), params=SamplingParams(temperature=0))
SIZE = 100                      # of each model, in bytes
LEAST = 40                      # with the least context that is any good to somebody


@dataclass
class CountingLoader:
    """Loads as the plan would let it: all of a model where that fits, or less of its context where that is allowed."""

    shelf: Shelf
    seen: list[LoadLimits] = field(default_factory=list)

    async def load(self, spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> LocalEngine:
        self.seen.append(limits)
        left = SIZE if limits.budget_bytes is None else limits.budget_bytes
        least = LEAST if limits.least_context_tokens == MIN_CONTEXT_TOKENS else SIZE
        if left < least:
            raise OutOfMemory(Told("trial-failed", detail=f"{spec.name} needs {least} bytes; {left} are left."))
        engine = await self.shelf.load(spec, limits)
        assert isinstance(engine, LocalEngine)
        engine._info = replace(engine.info, kv_bytes=min(SIZE, left))
        return engine


@pytest.fixture
async def engines(services: Services, shelf: Shelf) -> EngineRegistry:
    """Room for two models, of `a`, `b`, `c` and `d`."""
    for model_id in "abcd":
        await shelf.put(services, model_id, f"I am {model_id}.")
    services.engines.loader = CountingLoader(shelf).load
    services.engines.budget_bytes = 2 * SIZE
    return services.engines


async def ask(engines: EngineRegistry, model_id: str) -> str:
    async with engines.acquire(model_id) as engine:
        return "".join([delta.text async for delta in engine.chat(HI)])


def in_memory(engines: EngineRegistry) -> list[str]:
    return sorted(engines.loaded())


def slow(shelf: Shelf, model_id: str) -> Gate:
    gate = Gate()
    shelf.makers[model_id] = lambda: ScriptedBackend(f"Slowly, {model_id}.", gate=gate)
    return gate


async def begun(engines: EngineRegistry, gate: Gate, model_id: str) -> asyncio.Task[str]:
    """An answer that is being written, held before its next step."""
    task = asyncio.create_task(ask(engines, model_id))
    await until(lambda: engines.status(model_id).num_requests > 0)
    await asyncio.to_thread(gate.wait_until_held)
    return task


class TestABudget:
    async def test_is_shared_by_all_and_the_least_recently_used_goes_first(self, engines: EngineRegistry) -> None:
        for model_id in ("a", "b", "a", "c"):
            assert await ask(engines, model_id) == f"I am {model_id}."
        assert in_memory(engines) == ["a", "c"]

    async def test_is_none_where_none_is_set(self, engines: EngineRegistry) -> None:
        engines.budget_bytes = None
        for model_id in "abcd":
            await ask(engines, model_id)
        assert in_memory(engines) == ["a", "b", "c", "d"]

    async def test_a_model_takes_an_idle_ones_place_rather_than_a_corner_beside_it(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        loader = CountingLoader(shelf)
        engines.loader, engines.budget_bytes = loader.load, SIZE + LEAST
        await ask(engines, "a")
        await ask(engines, "b")
        assert in_memory(engines) == ["b"]
        assert [limits.least_context_tokens for limits in loader.seen] == [
            MIN_CONTEXT_TOKENS, COMFORTABLE_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS,
        ]

    async def test_a_corner_beside_an_answering_one_is_better_than_waiting(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        engines.budget_bytes = SIZE + LEAST
        gate = slow(shelf, "a")
        answering = await begun(engines, gate, "a")
        assert await ask(engines, "b") == "I am b."
        assert in_memory(engines) == ["a", "b"]
        gate.open()
        assert await answering == "Slowly, a."


class TestAnAnswerThatIsBeingWritten:
    """CASE 15: somebody streams from one model, there is memory for one only, somebody else asks for another."""

    async def test_ends_normally_while_the_other_waits_with_a_reason_and_then_they_swap(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        engines.budget_bytes = SIZE
        gate = slow(shelf, "a")
        answering = await begun(engines, gate, "a")
        waiting = asyncio.create_task(ask(engines, "b"))
        await until(lambda: engines.status("b").reason != "")
        assert engines.status("b").state is ModelState.LOADING
        assert engines.status("b").reason == "Waiting for memory until a has finished answering."
        assert engines.status("a").state is ModelState.DRAINING
        assert engines.status("a").reason == "Ends its answers, to make room for B."
        gate.open()
        assert await answering == "Slowly, a."
        assert await waiting == "I am b."
        assert in_memory(engines) == ["b"]
        assert not shelf.backends["b"].is_closed
        assert shelf.backends["a"].is_closed

    async def test_is_the_last_that_a_drained_model_begins_so_nobody_waits_for_ever(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        engines.budget_bytes = SIZE
        gate = slow(shelf, "a")
        answering = await begun(engines, gate, "a")
        waiting = asyncio.create_task(ask(engines, "b"))
        await until(lambda: engines.status("a").state is ModelState.DRAINING)
        late = [asyncio.create_task(ask(engines, "a")) for _ in range(3)]
        await turn()
        gate.open()
        assert await answering == "Slowly, a."
        assert await waiting == "I am b."
        assert await asyncio.gather(*late) == ["Slowly, a."] * 3
        assert shelf.loads == ["a", "b", "a"]

    async def test_may_borrow_its_own_model_again_though_that_is_drained(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        engines.budget_bytes = SIZE
        async with engines.acquire("a"):
            waiting = asyncio.create_task(ask(engines, "b"))
            await until(lambda: engines.status("a").state is ModelState.DRAINING)
            assert await asyncio.create_task(ask(engines, "a")) == "I am a."
        assert await waiting == "I am b."

    async def test_goes_on_and_others_are_begun_where_the_load_is_given_up(
        self, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        engines.budget_bytes = SIZE
        gate = slow(shelf, "a")
        answering = await begun(engines, gate, "a")
        waiting = asyncio.create_task(ask(engines, "b"))
        await until(lambda: engines.status("a").state is ModelState.DRAINING)
        late = asyncio.create_task(ask(engines, "a"))
        await engines.unload("b")
        with pytest.raises(ModelUnavailable, match="stopped"):
            await waiting
        assert engines.status("a").state is ModelState.READY
        gate.open()
        assert [*await asyncio.gather(answering, late)] == ["Slowly, a."] * 2
        assert shelf.loads == ["a"]

    async def test_waits_for_whichever_ends_first(self, engines: EngineRegistry, shelf: Shelf) -> None:
        gates = {model_id: slow(shelf, model_id) for model_id in "ab"}
        first, second = [await begun(engines, gate, model_id) for model_id, gate in gates.items()]
        waiting = asyncio.create_task(ask(engines, "c"))
        await until(lambda: engines.status("c").reason != "")
        assert engines.status("c").reason == "Waiting for memory until a or b has finished answering."
        gates["b"].open()
        assert await second == "Slowly, b."
        assert await waiting == "I am c."
        assert engines.status("a").state is ModelState.READY, "it was drained, and need not go"
        gates["a"].open()
        assert await first == "Slowly, a."

    async def test_that_crashes_makes_room_too(self, engines: EngineRegistry, shelf: Shelf) -> None:
        engines.budget_bytes = SIZE
        gate = Gate()
        shelf.makers["a"] = lambda: ScriptedBackend("Crash", gate=gate, fail_at_step=2)
        answering = await begun(engines, gate, "a")
        waiting = asyncio.create_task(ask(engines, "b"))
        await until(lambda: engines.status("b").reason != "")
        gate.open()
        with pytest.raises(EngineFailed):
            await answering
        assert await waiting == "I am b."
        assert engines.status("a").state is ModelState.FAILED


class TestAPinnedModel:
    async def test_stays_whatever_others_need(self, services: Services, engines: EngineRegistry) -> None:
        await services.model_settings.change("a", {"is_pinned": True})
        for model_id in ("a", "b", "c"):
            await ask(engines, model_id)
        assert in_memory(engines) == ["a", "c"]
        await services.model_settings.change("c", {"is_pinned": True})
        with pytest.raises(ModelUnavailable, match=r"bytes.*Pinned, and so not unloaded for it: a, c\."):
            await ask(engines, "d")

    async def test_goes_once_it_is_unpinned_though_a_load_waits_already(
        self, services: Services, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        await services.model_settings.change("a", {"is_pinned": True})
        await ask(engines, "a")
        gate = slow(shelf, "b")
        answering = await begun(engines, gate, "b")
        waiting = asyncio.create_task(ask(engines, "c"))
        await until(lambda: engines.status("c").reason != "")
        await services.model_settings.change("a", {"is_pinned": None})
        assert await waiting == "I am c."
        assert in_memory(engines) == ["b", "c"]
        gate.open()
        assert await answering == "Slowly, b."


class TestKeepAlive:
    async def test_a_model_goes_when_it_was_idle_for_so_long(self, services: Services, engines: EngineRegistry) -> None:
        await services.model_settings.change("a", {"keep_alive_s": 0})
        assert await ask(engines, "a") == "I am a."
        await until(lambda: engines.status("a").state is ModelState.ON_DISK)

    async def test_never_in_mid_answer(self, services: Services, engines: EngineRegistry, shelf: Shelf) -> None:
        await services.model_settings.change("a", {"keep_alive_s": 0})
        gate = slow(shelf, "a")
        answering = await begun(engines, gate, "a")
        engines.set_policy("a", Policy(keep_alive_s=0))
        await turn()
        gate.open()
        assert await answering == "Slowly, a."
        await until(lambda: engines.status("a").state is ModelState.ON_DISK)

    async def test_is_forgotten_for_one_that_is_pinned(self, services: Services, engines: EngineRegistry) -> None:
        await services.model_settings.change("a", {"keep_alive_s": 0, "is_pinned": True})
        await ask(engines, "a")
        await turn()
        assert in_memory(engines) == ["a"]

    async def test_applies_at_once_to_what_is_in_memory(self, services: Services, engines: EngineRegistry) -> None:
        await ask(engines, "a")
        await services.model_settings.change("a", {"keep_alive_s": 0})
        await until(lambda: engines.status("a").state is ModelState.ON_DISK)


class TestPreloading:
    async def test_loads_what_is_wanted_ready_as_far_as_there_is_room(
        self, services: Services, engines: EngineRegistry, shelf: Shelf
    ) -> None:
        await services.models.set_default("b")
        for model_id in ("a", "c", "d"):
            await services.model_settings.change(model_id, {"is_preloaded": True})
        await services.preload()
        assert shelf.loads == ["b", "a"]
        assert in_memory(engines) == ["a", "b"]
        assert engines.status("c").state is ModelState.FAILED
        assert await ask(engines, "c") == "I am c.", "whoever asks for it has it make room"


async def test_a_retired_model_answers_on_and_then_goes(engines: EngineRegistry, shelf: Shelf) -> None:
    gate = slow(shelf, "a")
    answering = await begun(engines, gate, "a")
    engines.retire("a")
    gate.open()
    assert await answering == "Slowly, a."
    await until(lambda: engines.status("a").state is ModelState.ON_DISK)
    assert await ask(engines, "a") == "Slowly, a."
    await turn()
    assert in_memory(engines) == ["a"]


async def test_closing_ends_a_load_that_waits_for_room(engines: EngineRegistry, shelf: Shelf) -> None:
    engines.budget_bytes = SIZE
    gate = slow(shelf, "a")
    answering = await begun(engines, gate, "a")
    waiting = [asyncio.create_task(ask(engines, "b"))]
    await until(lambda: engines.status("a").state is ModelState.DRAINING)
    waiting.append(asyncio.create_task(ask(engines, "a")))
    await turn()
    closing = asyncio.create_task(engines.close())
    await turn()
    gate.open()
    await closing
    ended = await asyncio.gather(answering, *waiting, return_exceptions=True)
    assert [type(each) for each in ended[1:]] == [ModelUnavailable] * 2
    assert [engines.status(model_id).state for model_id in "ab"] == [ModelState.ON_DISK] * 2
