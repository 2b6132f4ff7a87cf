"""The engine's thread. It owns scheduler and back end from loading to unloading; `EngineCore` starts and hears it.

Commands come in by its `Mailbox`, on which it sleeps when there is nothing to do; what steps brought goes out by its
`Outbox`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import structlog

from engine.backends.base import Backend, BackendInfo, Tokenizer
from engine.bursts import Bursts
from engine.engine import EngineMetrics
from engine.errors import EngineError
from engine.mailbox import Abort, Close, Mailbox, Submit
from engine.outbox import CoreOutput, Outbox
from engine.progress import Progress
from engine.proposer import PromptLookup
from engine.request import FinishReason, Request
from engine.scheduler import Scheduler
from engine.step import StepInHand
from engine.told import Told

MANY_TOKENS = 512           # a step of more takes long
IDLE_S = 0.1                # without work, before what is held is recounted, and what later steps need is prepared: in
                            # pieces, for each of which somebody who comes meanwhile has to wait

logger = structlog.get_logger(__name__)


class WorkerListener(Protocol):
    """What the thread tells. All of it is called on the event loop."""

    def on_loaded(self, info: BackendInfo, tokenizer: Tokenizer) -> None: ...
    def on_load_failed(self, error: Exception) -> None: ...
    def on_outputs(self, outputs: list[CoreOutput]) -> None: ...
    def on_ended(self, reason: Told, *, failed: bool) -> None: ...


class EngineWorker:
    """`submit`, `abort`, `close`, `metrics`, `is_prepared` are for the event loop; all else belongs to the thread."""

    def __init__(self, name: str, make_backend: Callable[[], Backend], listener: WorkerListener) -> None:
        self.metrics = EngineMetrics()         # replaced, never changed
        self.is_prepared = False               # nothing is left of what later steps would wait for
        self.end_reason: Told | None = None    # why it ended, for those inside: set before the vocabulary goes
        self._mailbox: Mailbox[Request] = Mailbox()
        self._outbox = Outbox(self._tell)
        self._bursts = Bursts()
        self._backend: Backend | None = None   # the loop calls its `interrupt`, and nothing else
        self._is_checked = False               # what is held was recounted since the last command
        self._is_idle = False                  # nothing was asked for a moment: time for both
        self._in_hand = StepInHand()
        self._leaving: set[str] = set()        # whose aborts wait in the mailbox
        self._name = name
        self._make_backend = make_backend
        self._listener = listener
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, request: Request) -> None:
        self._mailbox.put(Submit(request))

    def abort(self, request_id: str, reason: FinishReason) -> None:
        """Takes effect before the next step. One that is mostly for nobody now is not waited for."""
        self._leaving.add(request_id)
        self._mailbox.put(Abort(request_id, reason))
        if self._in_hand.leave(request_id):
            self._interrupt()

    def close(self) -> None:
        self._mailbox.put(Close())
        self._interrupt()

    def join(self) -> None:
        self._thread.join()

    def _interrupt(self) -> None:
        """After the command: who resumes takes commands next, so that none is missed. One step more may be cut."""
        if (backend := self._backend) is not None:      # which the thread lets go of as it ends
            backend.interrupt()

    # -- on the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._live()
        finally:            # who hears it and who made it hold it: without them counting references frees all it had
            self._backend = None
            del self._listener, self._make_backend, self._outbox

    def _live(self) -> None:
        try:
            self._backend = backend = self._make_backend()
        except Exception as error:  # noqa: BLE001 - whatever it is, `EngineCore.start` raises it
            self._mailbox.tell(self._listener.on_load_failed, error)
            return
        self._mailbox.tell(self._listener.on_loaded, backend.info, backend.tokenizer)
        reason, failed = Told("unloaded-midway", model=self._name), False
        try:
            self._serve(backend)
        except Exception as error:
            logger.exception("engine_failed", engine=self._name)
            reason, failed = stopped_by(self._name, error), True
        self.end_reason = reason
        try:
            backend.close()
        except Exception:
            logger.exception("backend_close_failed", engine=self._name)
        self._mailbox.tell(partial(self._listener.on_ended, reason, failed=failed))

    def _serve(self, backend: Backend) -> None:
        proposers = (PromptLookup(), *backend.proposers)
        scheduler = Scheduler(
            backend.info, backend.tokenizer.eog_token_ids, disk=backend.disk, proposers=proposers
        )
        self._count(scheduler, backend)
        try:
            while self._take_commands(scheduler, backend):
                if scheduler.has_work:
                    self._step(scheduler, backend)
                elif self._is_idle:
                    self._use_the_time(scheduler, backend)
            if not (scheduler.has_work or self._is_checked):
                self._check(scheduler, backend)
        finally:
            self._outbox.send(0, everything=True)
            scheduler.counters.requests[FinishReason.ERROR] += scheduler.num_running + scheduler.num_waiting
            self.metrics = scheduler.counters.snapshot(
                num_running=0, num_waiting=0, blocks=scheduler.blocks, held_bytes=0
            )
        backend.execute(scheduler.drain())

    def _use_the_time(self, scheduler: Scheduler, backend: Backend) -> None:
        """Nothing is asked: neither must keep waiting who asks next."""
        if not self._is_checked:
            self._check(scheduler, backend)
        else:
            self.is_prepared = not backend.prepare()

    def _check(self, scheduler: Scheduler, backend: Backend) -> None:
        """Takes some 20 ms where tens of thousands of blocks are known."""
        scheduler.check_integrity()
        backend.check_integrity()
        self._is_checked = True

    def _take_commands(self, scheduler: Scheduler, backend: Backend) -> bool:
        """Do what was asked since the last step; sleep if there is nothing else to do. False: it is time to end."""
        aborted: list[Progress] = []
        backend.resume()
        may_sleep = not scheduler.has_work
        due_s = scheduler.work_due_in_s
        has_use_for_time = not (self._is_checked and self.is_prepared)
        if has_use_for_time:
            due_s = IDLE_S if due_s is None else min(due_s, IDLE_S)
        self._is_idle = may_sleep and has_use_for_time
        while (command := self._mailbox.take(may_sleep=may_sleep, sleep_s=due_s)) is not None:
            self._is_idle = self._is_checked = False
            match command:
                case Submit(request):
                    self._bursts.came(to_rest=not scheduler.has_work)
                    scheduler.add(request)
                case Abort(request_id, reason):
                    self._leaving.discard(request_id)
                    progress = scheduler.abort(request_id, reason)
                    if progress is not None:
                        aborted.append(progress)
                case Close():
                    return False
            due_s = self._bursts.wait_s()
            may_sleep = due_s > 0.0
        self._bursts.begin_step()
        self._publish(scheduler, backend, aborted)
        return True

    def _step(self, scheduler: Scheduler, backend: Backend) -> None:
        started_s = time.perf_counter()
        batch = scheduler.schedule()
        moves = scheduler.moves()
        self._count(scheduler, backend)
        if batch.num_tokens > MANY_TOKENS:
            self._outbox.send(scheduler.num_running, everything=True)
        execute_s = time.perf_counter()
        self._in_hand = scheduler.in_hand(batch)
        if any(self._in_hand.leave(request_id) for request_id in tuple(self._leaving)):     # while it was planned
            self._interrupt()
        output = backend.execute(batch)
        self._in_hand = StepInHand()
        executed_s = time.perf_counter()
        progress = scheduler.update(batch, output)
        if not output.was_interrupted:
            scheduler.step_budget.learn(batch, executed_s - execute_s)
        counters = scheduler.counters
        counters.steps += bool(batch.rows)
        counters.backend_seconds += executed_s - execute_s
        counters.step_seconds += time.perf_counter() - started_s
        self._publish(scheduler, backend, moves + progress)

    def _publish(self, scheduler: Scheduler, backend: Backend, progress: list[Progress]) -> None:
        self._count(scheduler, backend)        # first: whoever hears of an end finds it counted
        self._outbox.add(progress)
        self._outbox.send(scheduler.num_running)

    def _tell(self, outputs: list[CoreOutput]) -> None:
        self._mailbox.tell(self._listener.on_outputs, outputs)

    def _count(self, scheduler: Scheduler, backend: Backend) -> None:
        self.metrics = scheduler.counters.snapshot(
            num_running=scheduler.num_running,
            num_waiting=scheduler.num_waiting,
            blocks=scheduler.blocks,
            held_bytes=backend.held_bytes,
        )


def stopped_by(name: str, error: Exception) -> Told:
    """Why the engine of this name ended by itself."""
    if isinstance(error, EngineError) and isinstance(error.sentence, Told):
        return Told("stopped-by", model=name, detail=error.sentence)
    what = str(error) or type(error).__name__
    return Told("stopped", model=name, detail=what.rstrip("."))
