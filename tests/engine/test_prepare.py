"""While nothing is asked, and only then, what is held is recounted, and what later steps would wait for is prepared."""

import asyncio

import pytest

from engine.backends.scripted import Gate, ScriptedBackend
from engine.batch import Batch
from engine.errors import EngineFailed
from tests.engine.driving import request
from tests.engine.test_core import started


class Preparing(ScriptedBackend):
    """Has three pieces to prepare; notes what it did, in order."""

    def __init__(self, gate: Gate) -> None:
        super().__init__("some text", gate=gate)
        self.done: list[str] = []
        self.is_prepared = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def prepare(self) -> bool:
        self.done.append("piece")
        if self.done.count("piece") < 3:
            return True
        self._loop.call_soon_threadsafe(self.is_prepared.set)
        return False

    def check_integrity(self) -> None:
        self.done.append("check")
        super().check_integrity()

    def _begin_step(self, batch: Batch) -> None:
        self.done.append("step")
        super()._begin_step(batch)


async def test_all_of_it_and_then_the_thread_sleeps() -> None:
    gate = Gate()
    backend = Preparing(gate)
    async with started(backend) as inbox:
        await asyncio.wait_for(backend.is_prepared.wait(), 60)
        gate.open()
        inbox.submit(request("a", "a", max_tokens=2))
        await inbox.last("a")
    assert backend.done[:6] == ["check", *["piece"] * 3, *["step"] * 2]


async def test_nothing_while_somebody_is_answered() -> None:
    gate = Gate()
    backend = Preparing(gate)
    async with started(backend) as inbox:
        inbox.submit(request("a", "a", max_tokens=3))
        await asyncio.to_thread(gate.wait_until_held)
        gate.open()
        await inbox.last("a")
        await asyncio.wait_for(backend.is_prepared.wait(), 60)
    steps = [place for place, what in enumerate(backend.done) if what == "step"]
    assert steps == list(range(steps[0], steps[0] + 3))


async def test_who_asks_when_another_has_just_been_answered_waits_for_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.IDLE_S", 600.0)
    gate = Gate()
    gate.open()
    backend = Preparing(gate)
    async with started(backend) as inbox:
        for name in ("a", "b", "c"):
            inbox.submit(request(name, name, max_tokens=2))
            await inbox.last(name)
    assert backend.done[:6] == ["step"] * 6


class Losing(ScriptedBackend):
    def check_integrity(self) -> None:
        raise EngineFailed("Slot 3 is held though nothing runs.")


async def test_what_was_lost_is_found_though_nobody_asks() -> None:
    failed: asyncio.Future[EngineFailed] = asyncio.get_running_loop().create_future()
    async with started(Losing("some text"), on_failed=failed.set_result):
        assert "Slot 3 is held" in str(await asyncio.wait_for(failed, 60))
