"""The event loop's handle on an engine's thread: `LocalEngine` submits and aborts requests here, and hears tokens."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from typing import Self

import structlog

from engine import garbage
from engine.backends.base import Backend, BackendInfo, Tokenizer
from engine.engine import EngineMetrics
from engine.errors import ContextLengthExceeded, EngineError, EngineFailed, InvalidRequest, QueueFull
from engine.outbox import CoreOutput
from engine.request import FinishReason, Request
from engine.told import Told
from engine.worker import EngineWorker

__all__ = ["CoreOutput", "EngineCore", "check_request"]

DEFAULT_RETRY_AFTER_S = 5      # while nothing has ended yet
MAX_RETRY_AFTER_S = 60
COMPLETIONS_KEPT = 32          # to tell the rate at which requests end

OnOutput = Callable[[CoreOutput], None]
OnFailed = Callable[[EngineFailed], None]

logger = structlog.get_logger(__name__)


class EngineCore:
    """Made by `await EngineCore.start(...)`; all of it belongs to the event loop on which that ran."""

    info: BackendInfo
    tokenizer: Tokenizer

    def __init__(
        self, name: str, make_backend: Callable[[], Backend], *, max_queue: int, on_failed: OnFailed | None = None
    ) -> None:
        self._name = name
        self._max_queue = max_queue
        self._on_failed = on_failed
        self._worker = EngineWorker(name, make_backend, self)
        self._listeners: dict[str, OnOutput] = {}                       # of every request inside, by request id
        self._completed_at_s: deque[float] = deque(maxlen=COMPLETIONS_KEPT)
        self._refusal: Told | None = None                               # why it takes no more requests
        self._failure: EngineFailed | None = None
        self._loaded: asyncio.Future[tuple[BackendInfo, Tokenizer]] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()

    @classmethod
    async def start(
        cls, name: str, make_backend: Callable[[], Backend], *, max_queue: int, on_failed: OnFailed | None = None
    ) -> Self:
        """Start the thread `engine-<name>`, which makes the back end. Whatever `make_backend` raises is raised here.

        At most `max_queue` requests wait beside those that can run at once. `on_failed` is told when a step raised.
        """
        core = cls(name, make_backend, max_queue=max_queue, on_failed=on_failed)
        core._worker.start()
        try:
            core.info, core.tokenizer = await core._loaded
        except asyncio.CancelledError:
            core._worker.close()     # it ends by itself once it has loaded
            raise
        garbage.keep_out(core, core.info.max_num_seqs)
        return core

    @property
    def failure(self) -> EngineFailed | None:
        """Why the thread ended by itself. None while it lives, and after `close`."""
        return self._failure

    @property
    def is_prepared(self) -> bool:
        """What later steps would wait for is there: it is made in pieces, while nothing is asked."""
        return self._worker.is_prepared

    def submit(self, request: Request, on_output: OnOutput) -> None:
        """Hand over a request. `on_output` is called on the event loop, last with an output that has a `finish_reason`.

        Raises InvalidRequest, ContextLengthExceeded, QueueFull, or EngineFailed where the engine has ended.
        """
        if self._refusal is not None:
            raise EngineFailed(self._refusal)
        check_request(request, self.info)
        if request.request_id in self._listeners:
            raise InvalidRequest(f"A request named {request.request_id} is being answered already.", param="request_id")
        if len(self._listeners) >= self.info.max_num_seqs + self._max_queue:
            retry_after_s = self._retry_after_s()
            raise QueueFull(
                f"{self._max_queue} requests are waiting for {self._name} already. Try again in {retry_after_s} s.",
                retry_after_s=retry_after_s,
            )
        self._listeners[request.request_id] = on_output
        self._worker.submit(request)

    def abort(self, request_id: str, reason: FinishReason = FinishReason.ABORT) -> None:
        """End a request before the next step, for a `reason` that its last output tells and the metrics count. A step
        that reads its prompt above all is cut short.

        Nothing happens where it has ended already.
        """
        if request_id in self._listeners:
            self._worker.abort(request_id, reason)

    def snapshot(self) -> EngineMetrics:
        return self._worker.metrics

    async def close(self) -> None:
        """End running requests with EngineFailed, free the back end, join the thread. Idempotent."""
        if self._refusal is None:
            self._refusal = Told("unloaded", model=self._name)
        self._worker.close()
        await self._ended.wait()
        self._worker.join()                        # its last act was to say so: this does not hold up the loop
        garbage.look_again(self)

    def _retry_after_s(self) -> int:
        """About the time in which a quarter of the queue is worked off, at the rate of the last completions."""
        if not self._completed_at_s:
            return DEFAULT_RETRY_AFTER_S
        s_per_request = (time.monotonic() - self._completed_at_s[0]) / len(self._completed_at_s)
        return min(max(math.ceil(s_per_request * self._max_queue / 4), 1), MAX_RETRY_AFTER_S)

    # -- what the thread tells, through the event loop -----------------------------------------------------------------

    def on_loaded(self, info: BackendInfo, tokenizer: Tokenizer) -> None:
        if not self._loaded.done():                # cancelled meanwhile
            self._loaded.set_result((info, tokenizer))

    def on_load_failed(self, error: Exception) -> None:
        if not self._loaded.done():
            self._loaded.set_exception(error)

    def on_outputs(self, outputs: list[CoreOutput]) -> None:
        for output in outputs:
            listener = self._listeners.get(output.request_id)
            if listener is None:
                continue                           # dropped, see _tell
            if output.finish_reason is not None:
                del self._listeners[output.request_id]
                self._completed_at_s.append(time.monotonic())
            self._tell(listener, output)

    def on_ended(self, reason: Told, *, failed: bool) -> None:
        self._refusal = self._refusal or reason
        listeners, self._listeners = self._listeners, {}
        for request_id, listener in listeners.items():
            self._tell(listener, _ended_by(EngineFailed(reason), request_id))      # one each: several tasks raise them
        if failed:
            self._failure = EngineFailed(reason)
            if self._on_failed is not None:
                self._on_failed(self._failure)
        self._ended.set()

    def _tell(self, listener: OnOutput, output: CoreOutput) -> None:
        """A listener that raises loses its request, not the others theirs. It hears so: its reader waits for an end.

        The vocabulary may be gone before the last tokens are read: that is no fault of the listener's.
        """
        try:
            listener(output)
        except Exception as error:
            if not isinstance(error, EngineFailed):
                logger.exception("engine_listener_failed", engine=self._name, request_id=output.request_id)
                error = EngineFailed(Told("unreadable-answer", model=self._name))
            elif self._worker.end_reason:
                error = EngineFailed(self._worker.end_reason)
            self.abort(output.request_id)
            self._listeners.pop(output.request_id, None)
            if output.error is None:
                self._tell(listener, _ended_by(error, output.request_id))


def _ended_by(error: EngineError, request_id: str) -> CoreOutput:
    return CoreOutput(request_id=request_id, finish_reason=FinishReason.ERROR, error=error)


def check_request(request: Request, info: BackendInfo) -> None:
    """Raise InvalidRequest or ContextLengthExceeded for what no step could compute: a native library may die of it."""
    num_prompt_tokens = len(request.prompt_token_ids)
    if num_prompt_tokens == 0:
        raise InvalidRequest("The prompt is empty. Give at least one token to continue.", param=request.param)
    max_tokens = info.max_sequence_tokens
    if num_prompt_tokens >= max_tokens:
        raise ContextLengthExceeded(
            num_prompt_tokens=num_prompt_tokens, max_model_len=max_tokens, param=request.param
        )
    if min(request.prompt_token_ids) < 0 or max(request.prompt_token_ids) >= info.vocab_size:
        raise InvalidRequest(f"Token ids of this model are 0 to {info.vocab_size - 1}.", param="prompt")
    if max(request.params.logit_bias, default=0) >= info.vocab_size:
        raise InvalidRequest(f"Token ids of this model are 0 to {info.vocab_size - 1}.", param="logit_bias")
    if request.max_tokens < 1:
        raise InvalidRequest("max_tokens must be at least 1.", param="max_tokens")
