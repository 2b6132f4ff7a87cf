"""The thread of a model that embeds. It owns model and queue from loading to unloading; `EmbeddingEngine` hears it.

Commands come in by its `Mailbox`, on which it sleeps when there is nothing to do; what a step has completed goes out at
once. While a long input is computed, commands are heard too.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import structlog
from numpy.typing import NDArray

from engine.backends.embedder import Embedder
from engine.embedding_queue import EmbeddingQueue, EmbeddingRequest, Place
from engine.engine import EngineMetrics
from engine.errors import EngineError, InvalidRequest
from engine.mailbox import Abort, Close, Mailbox, Submit
from engine.request import FinishReason
from engine.told import Told
from engine.worker import stopped_by

Vectors = NDArray[np.float32]
Outcome = tuple[str, Vectors | EngineError]          # request id, and what became of it

logger = structlog.get_logger(__name__)


class EmbeddingListener(Protocol):
    """What the thread tells. All of it is called on the event loop."""

    def on_loaded(self, embedder: Embedder) -> None: ...
    def on_load_failed(self, error: Exception) -> None: ...
    def on_outcomes(self, outcomes: list[Outcome]) -> None: ...
    def on_ended(self, reason: Told) -> None: ...


@dataclass(slots=True)
class _Progress:
    request: EmbeddingRequest
    vectors: Vectors                                  # [inputs, width], filled as steps end
    num_left: int


class EmbeddingWorker:
    """`mailbox` and `metrics` are what the event loop touches; all else belongs to the thread."""

    def __init__(self, name: str, make_embedder: Callable[[], Embedder], listener: EmbeddingListener) -> None:
        self.mailbox: Mailbox[EmbeddingRequest] = Mailbox()
        self.metrics = EngineMetrics()                # replaced, never changed
        self._name = name
        self._make_embedder = make_embedder
        self._listener = listener
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    # -- on the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._live()
        finally:            # who hears it and who made it hold it: without them counting references frees all it had
            del self._listener, self._make_embedder

    def _live(self) -> None:
        try:
            embedder = self._make_embedder()
        except Exception as error:  # noqa: BLE001 - whatever it is, `EmbeddingEngine.start` raises it
            self.mailbox.tell(self._listener.on_load_failed, error)
            return
        desk = _Desk(embedder)
        self.metrics = desk.snapshot()
        self.mailbox.tell(self._listener.on_loaded, embedder)
        reason = Told("unloaded-midway", model=self._name)
        try:
            self._serve(desk)
        except Exception as error:
            logger.exception("engine_failed", engine=self._name)
            reason = stopped_by(self._name, error)
        self.metrics = desk.last_snapshot()
        try:
            embedder.close()
        except Exception:
            logger.exception("embedder_close_failed", engine=self._name)
        self.mailbox.tell(self._listener.on_ended, reason)

    def _serve(self, desk: _Desk) -> None:
        while True:
            self._take_commands(desk, may_sleep=not desk.queue)
            if desk.is_closing:
                return
            outcomes = desk.step(lambda: self._take_commands(desk, may_sleep=False))
            self.metrics = desk.snapshot()            # first: whoever hears of an end finds it counted
            if outcomes:
                self.mailbox.tell(self._listener.on_outcomes, outcomes)

    def _take_commands(self, desk: _Desk, *, may_sleep: bool) -> None:
        while (command := self.mailbox.take(may_sleep=may_sleep)) is not None:
            may_sleep = False
            desk.do(command)
        self.metrics = desk.snapshot()


@dataclass(slots=True)
class _Desk:
    """What the thread has before it: the requests, the step that is computed, and the counters."""

    embedder: Embedder
    queue: EmbeddingQueue = field(init=False)
    is_closing: bool = False
    _open: dict[str, _Progress] = field(default_factory=dict)         # by request id
    _running: list[Place] = field(default_factory=list)               # the step's
    _ended: Counter[FinishReason] = field(default_factory=Counter)
    _num_tokens: int = 0
    _num_steps: int = 0
    _step_s: float = 0.0
    _embedder_s: float = 0.0

    def __post_init__(self) -> None:
        info = self.embedder.info
        self.queue = EmbeddingQueue(
            max_num_inputs=info.max_num_inputs, max_num_batched_tokens=info.max_num_batched_tokens
        )

    def do(self, command: Submit[EmbeddingRequest] | Abort | Close) -> None:
        match command:
            case Submit(request):
                vectors = np.empty((len(request.inputs), self.embedder.info.width), np.float32)
                self._open[request.request_id] = _Progress(request, vectors, len(request.inputs))
                self.queue.add(request)
            case Abort(request_id, reason):
                if request_id in self._open:
                    self._end(request_id, reason)
            case Close():
                self.is_closing = True

    def step(self, hear: Callable[[], None]) -> list[Outcome]:
        """Compute the next inputs; what they completed. `hear` lets commands in meanwhile."""

        def is_wanted() -> bool:
            hear()
            return not self.is_closing and any(request.request_id in self._open for request, _ in self._running)

        started_s = time.perf_counter()
        self._running = self.queue.take_step()
        if not self._running or not is_wanted():      # what woke us was an abort, or one came at once
            self._running = []
            return []
        vectors = self.embedder.embed([request.inputs[index] for request, index in self._running], is_wanted)
        embedded_s = time.perf_counter()
        outcomes = [] if vectors is None else self._take_in(vectors)
        self._num_steps += 1
        self._embedder_s += embedded_s - started_s
        self._step_s += time.perf_counter() - started_s
        self._running = []
        return outcomes

    def _take_in(self, vectors: Vectors) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for (request, index), vector in zip(self._running, normalised(vectors), strict=True):
            self._num_tokens += len(request.inputs[index])
            progress = self._open.get(request.request_id)
            if progress is None:                      # aborted meanwhile, or ended by an input before this one
                continue
            if not np.isfinite(vector).all():
                self._end(request.request_id, FinishReason.ERROR)
                outcomes.append((request.request_id, _no_vector(index)))
                continue
            progress.vectors[index] = vector
            progress.num_left -= 1
            if progress.num_left == 0:
                self._end(request.request_id, FinishReason.STOP)
                outcomes.append((request.request_id, progress.vectors))
        return outcomes

    def _end(self, request_id: str, reason: FinishReason) -> None:
        progress = self._open.pop(request_id)
        self.queue.remove(progress.request)
        self._ended[reason] += 1

    def snapshot(self) -> EngineMetrics:
        num_running = len({request.request_id for request, _ in self._running} & self._open.keys())
        return EngineMetrics(
            num_running=num_running,
            num_waiting=len(self._open) - num_running,
            held_bytes=self.embedder.held_bytes,
            prompt_tokens_total=self._num_tokens,
            requests_total={reason.value: count for reason, count in self._ended.items()},
            steps_total=self._num_steps,
            step_seconds_total=self._step_s,
            backend_seconds_total=self._embedder_s,
        )

    def last_snapshot(self) -> EngineMetrics:
        """All that is open ends here."""
        for request_id in list(self._open):
            self._end(request_id, FinishReason.ERROR)
        return self.snapshot()


def normalised(vectors: Vectors) -> Vectors:
    """Each of length 1; but one of nothing but zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths != 0)
    return unit


def _no_vector(index: int) -> InvalidRequest:
    return InvalidRequest(
        f"The model computed no numbers for input[{index}]: its weights are damaged, or too coarse for this text. "
        "Change the text, or take another file of the model.",
        param=f"input[{index}]",
    )
