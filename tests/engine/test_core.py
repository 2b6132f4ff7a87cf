"""The engine's thread and its handle: what goes in, what comes out on the event loop, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.backends.scripted import Gate, ScriptedBackend
from engine.batch import Batch, StepOutput
from engine.core import CoreOutput, EngineCore
from engine.disk_cache import blocks
from engine.disk_cache.cache import DiskCache, Order
from engine.errors import ContextLengthExceeded, EngineFailed, InvalidRequest, ModelLoadError, QueueFull
from engine.params import SamplingParams
from engine.request import FinishReason, Request
from engine.scheduler import Scheduler
from engine.step import StepInHand
from engine.told import Told
from tests.engine.driving import request

TEXT = "0123456789abcdef"


class Inbox:
    """Listens to many requests."""

    def __init__(self, core: EngineCore) -> None:
        self.core = core
        self.outputs: dict[str, list[CoreOutput]] = {}
        self._news = asyncio.Event()

    def submit(self, *requests: Request) -> None:
        for each in requests:
            self.core.submit(each, self._hear)
            self.outputs[each.request_id] = []

    async def last(self, request_id: str) -> CoreOutput:
        await self.until(lambda: any(each.finish_reason for each in self.outputs[request_id]))
        return self.outputs[request_id][-1]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def text(self, request_id: str) -> bytes:
        return bytes(token.token_id for each in self.outputs[request_id] for token in each.tokens)

    def _hear(self, output: CoreOutput) -> None:
        self.outputs[output.request_id].append(output)
        self._news.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@asynccontextmanager
async def started(backend: ScriptedBackend, *, max_queue: int = 100, **options: Any) -> AsyncIterator[Inbox]:
    core = await EngineCore.start("toy", lambda: backend, max_queue=max_queue, **options)
    try:
        yield Inbox(core)
    finally:
        if backend.gate is not None:
            backend.gate.open()          # a test that failed may have left a step before it
        await core.close()


def held(gate: Gate) -> Awaitable[None]:
    return asyncio.to_thread(gate.wait_until_held)


async def test_a_request_is_answered_on_the_event_loop() -> None:
    async with started(ScriptedBackend(TEXT)) as inbox:
        inbox.submit(request("r", "hello", max_tokens=5))
        last = await inbox.last("r")
    assert inbox.text("r") == b"01234"
    assert last.finish_reason is FinishReason.LENGTH
    assert last.error is None


async def test_eight_at_once_share_steps(gate: Gate) -> None:
    backend = ScriptedBackend(TEXT, gate=gate)
    async with started(backend) as inbox:
        inbox.submit(request("opener", "opener", max_tokens=1))
        await held(gate)                 # so that the eight are all there when the next step begins
        inbox.submit(*(request(f"r{n}", f"{n} prompt", max_tokens=12) for n in range(8)))
        gate.open()
        for n in range(8):
            await inbox.last(f"r{n}")
        metrics = inbox.core.snapshot()
    assert {inbox.text(f"r{n}") for n in range(8)} == {b"0123456789ab"}
    assert metrics.steps_total == 1 + 12
    assert len(backend.steps) == 1 + 12


async def test_a_step_reaches_the_loop_in_one_call(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    async with started(ScriptedBackend(TEXT, gate=gate)) as inbox:
        inbox.submit(request("opener", "opener", max_tokens=1))
        await held(gate)
        inbox.submit(*(request(f"r{n}", f"{n} prompt", max_tokens=3) for n in range(8)))
        loop = asyncio.get_running_loop()
        num_calls = 0
        call = loop.call_soon_threadsafe

        def counting(callback: Callable[..., object], *args: Any, **options: Any) -> asyncio.Handle:
            nonlocal num_calls
            num_calls += threading.current_thread().name == "engine-toy"
            return call(callback, *args, **options)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counting)
        gate.open()
        for n in range(8):
            await inbox.last(f"r{n}")
        assert num_calls == 1 + 3


async def test_what_came_from_the_prefix_cache_is_told() -> None:
    async with started(ScriptedBackend(TEXT)) as inbox:
        inbox.submit(request("first", "x" * 40))
        assert (await inbox.last("first")).num_cached_tokens == 0
        inbox.submit(request("second", "x" * 40))
        assert (await inbox.last("second")).num_cached_tokens == 39
        metrics = inbox.core.snapshot()
    assert (metrics.prompt_tokens_total, metrics.cached_prompt_tokens_total) == (80, 39)


async def test_metrics_count_what_happened() -> None:
    async with started(ScriptedBackend("01")) as inbox:
        inbox.submit(request("stops", "hello", max_tokens=9))
        await inbox.last("stops")
        inbox.submit(request("is cut", "hello", max_tokens=1))
        await inbox.last("is cut")
        metrics = inbox.core.snapshot()
    assert metrics.requests_total == {"stop": 1, "length": 1}
    assert metrics.output_tokens_total == 3
    assert (metrics.num_running, metrics.num_waiting) == (0, 0)
    assert metrics.num_free_blocks == metrics.num_blocks == 512
    assert metrics.num_cached_blocks == 1
    assert 0.0 < metrics.backend_seconds_total <= metrics.step_seconds_total


class TestQueue:
    async def test_places_are_told_and_change(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate, max_num_seqs=1)) as inbox:
            inbox.submit(*(request(name, name, max_tokens=1, arrival_s=n) for n, name in enumerate("abc")))
            gate.open()
            await inbox.last("c")
        assert [each.queue_position for each in inbox.outputs["c"]] == [2, 1, None]
        assert [each.finish_reason for each in inbox.outputs["c"]] == [None, None, FinishReason.LENGTH]
        assert [each.queue_position for each in inbox.outputs["a"]] == [None]

    async def test_a_full_queue_says_when_to_come_again(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate, max_num_seqs=2), max_queue=3) as inbox:
            inbox.submit(*(request(f"r{n}", f"{n}", max_tokens=1) for n in range(5)))
            with pytest.raises(QueueFull, match="3 requests are waiting") as refused:
                inbox.submit(request("r5", "5"))
            assert refused.value.retry_after_s == 5          # nothing has ended yet to judge by
            gate.open()
            for n in range(5):
                await inbox.last(f"r{n}")
            inbox.submit(request("r5", "5"))
            await inbox.last("r5")

    async def test_the_wait_is_judged_by_what_ended_lately(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate, max_num_seqs=1), max_queue=1) as inbox:
            gate.allow()
            inbox.submit(request("quick", "q", max_tokens=1))
            await inbox.last("quick")
            inbox.submit(request("a", "a"), request("b", "b"))
            with pytest.raises(QueueFull) as refused:
                inbox.submit(request("c", "c"))
            assert refused.value.retry_after_s == 1
            gate.open()
            await inbox.last("b")


class TestAbort:
    async def test_fifty_long_prompts_dropped_leave_room_for_a_normal_one(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate, max_num_seqs=4, max_num_batched_tokens=64, num_blocks=512)
        async with started(backend, max_queue=100) as inbox:
            inbox.submit(*(request(f"r{n}", f"{n:02} " + "x" * 2000) for n in range(50)))
            await held(gate)                                 # in mid-prefill of the first
            for n in range(50):
                inbox.core.abort(f"r{n}")
            inbox.submit(request("normal", "hello", max_tokens=3))
            gate.allow()
            assert (await inbox.last("r0")).finish_reason is FinishReason.ABORT
            await held(gate)
            metrics = inbox.core.snapshot()                  # one step after the abort
            assert metrics.num_running == 1
            assert metrics.num_free_blocks == 512 - 1
            gate.open()
            await inbox.last("normal")
            metrics = inbox.core.snapshot()
        assert inbox.text("normal") == b"012"
        assert metrics.requests_total == {"abort": 50, "length": 1}
        assert metrics.num_free_blocks == 512
        assert sum(map(sum, backend.steps)) == 5 + 2         # the first was cut short, the others never started
        assert all(each.tokens == () for n in range(50) for each in inbox.outputs[f"r{n}"])

    async def test_one_that_runs_ends_within_a_step(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate)
        async with started(backend) as inbox:
            inbox.submit(request("r", "hello", max_tokens=100))
            gate.allow(3)
            await held(gate)
            inbox.core.abort("r")
            gate.open()
            last = await inbox.last("r")
        assert last.finish_reason is FinishReason.ABORT
        assert len(backend.steps) == 4

    async def test_a_step_that_reads_its_prompt_is_cut_short_and_the_others_get_theirs_again(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate, max_num_batched_tokens=64)
        async with started(backend) as inbox:
            inbox.submit(request("writes", "hello", max_tokens=6))
            gate.allow(3)
            await held(gate)
            inbox.submit(request("long", "x" * 2000))
            gate.allow()
            await held(gate)                                 # the first piece of the long one
            inbox.core.abort("long")
            gate.open()
            await inbox.last("writes")
            assert (await inbox.last("long")).finish_reason is FinishReason.ABORT
        assert inbox.text("writes") == b"012345"
        assert backend.steps == [(5,), *[(1,)] * 5]

    async def test_a_step_of_several_prompts_is_cut_short_once_most_of_them_have_gone(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate, max_num_batched_tokens=64)
        async with started(backend) as inbox:
            inbox.submit(request("writes", "hello", max_tokens=8))
            gate.allow(2)
            await held(gate)
            for n in range(3):
                inbox.submit(request(f"r{n}", f"{n}" * 20, max_tokens=1))
            gate.allow()
            await held(gate)                                 # all three prompts in one step
            inbox.core.abort("r0")
            inbox.core.abort("r1")
            gate.open()
            await inbox.last("r2")
            await inbox.last("writes")
        assert inbox.text("writes") == b"01234567"
        assert (1, 20, 20, 20) not in backend.steps
        assert (1, 20) in backend.steps

    async def test_who_goes_while_a_step_is_planned_is_not_computed_for_either(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = ScriptedBackend(TEXT, max_num_batched_tokens=64)
        in_hand = Scheduler.in_hand

        def too_late(scheduler: Scheduler, batch: Batch) -> StepInHand:
            inbox.core.abort("long")
            return in_hand(scheduler, batch)

        monkeypatch.setattr(Scheduler, "in_hand", too_late)
        async with started(backend) as inbox:
            inbox.submit(request("long", "x" * 2000))
            assert (await inbox.last("long")).finish_reason is FinishReason.ABORT
        assert backend.steps == []

    async def test_a_step_that_works_for_others_is_not(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate, max_num_batched_tokens=64)
        async with started(backend) as inbox:
            inbox.submit(request("writes", "hello", max_tokens=6))
            gate.allow(3)
            await held(gate)
            inbox.submit(request("long", "x" * 2000, max_tokens=1))
            gate.allow()
            await held(gate)
            inbox.core.abort("writes")
            gate.open()
            await inbox.last("long")
        assert backend.steps[4] == (1, 63)

    async def test_one_that_just_came_never_starts(self) -> None:
        backend = ScriptedBackend(TEXT)
        async with started(backend) as inbox:
            inbox.submit(request("gone", "x" * 500))
            inbox.core.abort("gone")
            await inbox.last("gone")
            inbox.submit(request("next", "hello", max_tokens=1))
            await inbox.last("next")
        assert len(backend.steps) <= 2

    async def test_an_end_for_another_reason_is_counted_as_that(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate)) as inbox:
            inbox.submit(request("r", "hello", max_tokens=100))
            await held(gate)
            inbox.core.abort("r", FinishReason.STOP)
            gate.open()
            assert (await inbox.last("r")).finish_reason is FinishReason.STOP
            assert inbox.core.snapshot().requests_total == {"stop": 1}

    async def test_unknown_and_ended_ones_are_no_matter(self) -> None:
        async with started(ScriptedBackend(TEXT)) as inbox:
            inbox.core.abort("nobody")
            inbox.submit(request("r", "hello"))
            await inbox.last("r")
            inbox.core.abort("r")
            inbox.submit(request("again", "hello"))
            await inbox.last("again")
            assert inbox.core.snapshot().requests_total == {"length": 2}


class TestRefusal:
    async def test_a_prompt_as_long_as_the_window(self) -> None:
        async with started(ScriptedBackend(TEXT, max_model_len=64)) as inbox:
            with pytest.raises(ContextLengthExceeded, match="maximum context length is 64 tokens"):
                inbox.submit(request("r", "x" * 64))
            inbox.submit(request("fits", "x" * 63))
            await inbox.last("fits")

    async def test_tokens_that_the_model_does_not_have(self) -> None:
        async with started(ScriptedBackend(TEXT)) as inbox:
            for prompt in ([], [259], [-1]):
                with pytest.raises(InvalidRequest):
                    inbox.submit(request("r", prompt))
            with pytest.raises(InvalidRequest, match="0 to 258"):
                inbox.submit(request("r", "hello", params=SamplingParams(logit_bias={259: 1.0})))
            assert inbox.outputs == {}

    async def test_the_name_of_a_request_that_is_being_answered(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate)) as inbox:
            inbox.submit(request("r", "hello"))
            with pytest.raises(InvalidRequest, match="being answered already"):
                inbox.submit(request("r", "hello"))
            gate.open()
            await inbox.last("r")


class TestFailure:
    async def test_a_step_that_raises_ends_every_request_with_a_sentence(self) -> None:
        backend = ScriptedBackend(TEXT, fail_at_step=3, max_num_seqs=2)
        told: list[EngineFailed] = []
        async with started(backend, on_failed=told.append) as inbox:
            inbox.submit(*(request(f"r{n}", f"{n} hello", max_tokens=9) for n in range(5)))
            for n in range(5):
                last = await inbox.last(f"r{n}")
                assert last.finish_reason is FinishReason.ERROR
                assert isinstance(last.error, EngineFailed)
                assert str(last.error).startswith("toy stopped: The script fails at step 3. Load it again")
            failure = inbox.core.failure
            assert failure is not None
            assert told == [failure]
            with pytest.raises(EngineFailed, match="toy stopped"):
                inbox.submit(request("late", "hello"))
            assert backend.is_closed
            assert inbox.core.snapshot().requests_total == {"error": 5}
            assert inbox.core.snapshot().num_running == 0

    async def test_what_is_held_when_nothing_runs_is_a_failure_as_well(self) -> None:
        class Leaky(ScriptedBackend):
            def execute(self, batch: Batch) -> StepOutput:
                batch.released.clear()
                return super().execute(batch)

        failed = asyncio.Event()
        async with started(Leaky(TEXT), on_failed=lambda failure: failed.set()) as inbox:
            inbox.submit(request("r", "hello", max_tokens=2))
            await inbox.last("r")
            async with asyncio.timeout(60):
                await failed.wait()
            assert "Slots [0] are held" in str(inbox.core.failure)

    async def test_who_reads_its_last_tokens_when_the_vocabulary_is_gone_hears_what_ended_the_engine(self) -> None:
        heard: asyncio.Future[CoreOutput] = asyncio.get_running_loop().create_future()
        async with started(ScriptedBackend(TEXT, fail_at_step=2)) as inbox:
            def read_late(output: CoreOutput) -> None:
                if output.error is None:
                    inbox.core._worker.join()
                    raise EngineFailed("The model was unloaded. Load it again.")
                heard.set_result(output)

            inbox.core.submit(request("r", "hello", max_tokens=9), read_late)
            assert str((await heard).error).startswith("toy stopped: The script fails at step 2.")

    async def test_a_listener_that_raises_loses_only_its_own_request(self, gate: Gate) -> None:
        async with started(ScriptedBackend(TEXT, gate=gate)) as inbox:
            def broken(output: CoreOutput) -> None:
                raise LookupError("a fault of the reader")

            inbox.core.submit(request("broken", "broken", max_tokens=1000), broken)
            inbox.submit(request("r", "hello", max_tokens=9))
            gate.open()
            await inbox.last("r")
            inbox.submit(request("after", "hello", max_tokens=1))
            await inbox.last("after")
            assert inbox.text("r") == b"012345678"
            assert inbox.core.snapshot().num_running == 0

    @pytest.mark.parametrize("error, told", [
        (LookupError("a fault of the reader"), "toy could not read what the model said"),
        (EngineFailed("The model was unloaded."), "The model was unloaded."),
    ])
    @pytest.mark.parametrize("max_tokens", [1, 1000])           # the output that it cannot take is the last, or not
    async def test_a_listener_that_raises_hears_its_end(self, error: Exception, told: str, max_tokens: int) -> None:
        ended: asyncio.Future[CoreOutput] = asyncio.get_running_loop().create_future()

        def listen(output: CoreOutput) -> None:
            if output.tokens:
                raise error
            if output.finish_reason is not None:
                ended.set_result(output)

        async with started(ScriptedBackend(TEXT)) as inbox:
            inbox.core.submit(request("r", "hello", max_tokens=max_tokens), listen)
            async with asyncio.timeout(60):
                last = await ended
            assert last.finish_reason is FinishReason.ERROR
            assert told in str(last.error)

    async def test_a_back_end_that_cannot_be_made_is_told_to_who_starts_it(self) -> None:
        def make() -> ScriptedBackend:
            raise ModelLoadError(Told("trial-failed", detail="The file is bad. Get another."))

        with pytest.raises(ModelLoadError, match="The file is bad"):
            await EngineCore.start("toy", make, max_queue=1)


class TestEnd:
    async def test_closing_ends_what_runs_and_waits(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate, max_num_seqs=1)
        async with started(backend) as inbox:
            inbox.submit(request("runs", "hello", max_tokens=1000), request("waits", "hello"))
            await held(gate)
            closing = asyncio.create_task(inbox.core.close())
            await asyncio.sleep(0)                           # it has asked the thread to end, and refuses by now
            with pytest.raises(EngineFailed, match="toy has been unloaded"):
                inbox.submit(request("late", "hello"))
            gate.allow()
            await closing
            assert backend.is_closed
            assert inbox.core.failure is None
            for request_id in ("runs", "waits"):
                last = await inbox.last(request_id)
                assert last.finish_reason is FinishReason.ERROR
                assert "toy was unloaded, or Inglenook ended, before the answer was complete" in str(last.error)
            assert backend.steps == []                       # the one that was on its way was cut short
        assert not any(thread.name == "engine-toy" for thread in threading.enumerate())

    async def test_closing_twice_and_at_once_is_harmless(self) -> None:
        core = await EngineCore.start("toy", lambda: ScriptedBackend(TEXT), max_queue=1)
        await asyncio.gather(core.close(), core.close())
        await core.close()

    async def test_a_start_that_is_given_up_closes_what_it_made(self) -> None:
        may_load, is_loading, closed = threading.Event(), threading.Event(), threading.Event()

        class Slow(ScriptedBackend):
            def close(self) -> None:
                closed.set()

        def make() -> ScriptedBackend:
            is_loading.set()
            may_load.wait(10)
            return Slow(TEXT)

        starting = asyncio.create_task(EngineCore.start("toy", make, max_queue=1))
        await asyncio.to_thread(is_loading.wait, 10)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        may_load.set()
        assert await asyncio.to_thread(closed.wait, 10)

    def test_a_loop_that_ends_before_its_engine_leaves_no_thread(self, gate: Gate) -> None:
        backend = ScriptedBackend(TEXT, gate=gate)

        async def main() -> EngineCore:
            core = await EngineCore.start("toy", lambda: backend, max_queue=1)
            Inbox(core).submit(request("r", "hello", max_tokens=1000))
            await held(gate)
            return core

        core = asyncio.run(main())
        gate.open()
        core._worker.join()
        assert backend.is_closed
        assert len(backend.steps) <= 2


async def test_a_loaded_engine_tells_its_blocks_before_it_was_ever_asked() -> None:
    async with started(ScriptedBackend(TEXT)) as inbox, asyncio.timeout(60):
        while inbox.core.snapshot().num_blocks == 0:      # noqa: ASYNC110 - the thread says it first of all, not to us
            await asyncio.sleep(0.001)
        assert inbox.core.snapshot().num_free_blocks == inbox.core.snapshot().num_blocks == 512


class Written(DiskCache):
    """Tells when so many jobs of writing have been done."""

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, **more)
        self.folder = folder
        self.done = threading.Semaphore(0)

    def submit(self, order: Order, job: Callable[[], object]) -> None:
        def told() -> None:
            try:
                job()
            finally:
                if order is Order.WRITE:
                    self.done.release()

        super().submit(order, told)

    async def until(self, num_blocks: int) -> None:
        async with asyncio.timeout(60):
            while len(self.blocks) < num_blocks:
                await asyncio.to_thread(self.done.acquire, timeout=60)

    @property
    def blocks(self) -> list[Path]:
        return [path for path in self.folder.glob("*/*") if not path.suffix]


class TestTheDisk:
    async def test_is_given_what_was_idle_for_a_while(self, tmp_path: Path) -> None:
        disk = Written(tmp_path, settle_s=0.02)
        async with started(ScriptedBackend(TEXT, disk=disk)) as inbox:
            inbox.submit(request("r", "x" * 64, max_tokens=17))
            await inbox.last("r")
            await disk.until(5)
        disk.close()

    async def test_is_given_all_there_is_at_unload_also_of_answers_that_were_being_written(
        self, tmp_path: Path, gate: Gate
    ) -> None:
        others = set(threading.enumerate())                  # a server of other tests may run
        disk = Written(tmp_path, settle_s=1000.0)
        async with started(ScriptedBackend(TEXT, disk=disk, gate=gate)) as inbox:
            inbox.submit(request("ended", "x" * 64, max_tokens=1))
            gate.allow(2)
            await inbox.last("ended")
            inbox.submit(request("runs", "y" * 40, max_tokens=1000))
            await held(gate)
            gate.open()
        assert len(disk.blocks) >= 4 + 2
        assert "kv-disk" in {thread.name for thread in set(threading.enumerate()) - others}
        disk.close()
        assert "kv-disk" not in {thread.name for thread in set(threading.enumerate()) - others}

    async def test_that_hangs_does_not_hold_up_an_unload(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(blocks, "CLOSE_TIMEOUT_S", 0.05)
        disk, goes_on = Written(tmp_path, settle_s=1000.0), threading.Event()
        async with started(ScriptedBackend(TEXT, disk=disk)) as inbox:
            inbox.submit(request("r", "x" * 64, max_tokens=1))
            await inbox.last("r")
            disk.submit(Order.READ, goes_on.wait)
        assert disk.blocks == []
        goes_on.set()
        disk.close()
        assert disk.blocks == []                             # what was given up is not written later either

    async def test_is_used_again_by_the_next_load(self, tmp_path: Path) -> None:
        disk = Written(tmp_path, settle_s=0.0)
        num_threads = threading.active_count()
        for number in range(4):
            async with started(ScriptedBackend(TEXT, disk=disk)) as inbox:
                inbox.submit(request("r", "x" * 64, max_tokens=17))
                assert (await inbox.last("r")).num_cached_tokens == (63 if number else 0)
                assert inbox.text("r") == TEXT.encode()
        assert len(disk.blocks) == 5
        disk.close()
        assert threading.active_count() <= num_threads + 1   # the loop's own
