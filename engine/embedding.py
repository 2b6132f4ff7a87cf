"""A model in this process that embeds, as an `Engine`: texts to tokens, tokens to the engine's thread, vectors back.

Made by `engine.load`; called on the event loop. Tokenizers run in the loop's executor: a long text may take a second.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Callable, Sequence
from typing import NoReturn

from engine.backends.base import Tokenizer
from engine.backends.embedder import Embedder, EmbedderInfo
from engine.embedding_queue import EmbeddingRequest
from engine.embedding_worker import EmbeddingWorker, Outcome, Vectors, normalised
from engine.engine import ChatRequest, Embeddings, EngineInfo, EngineMetrics
from engine.errors import ContextLengthExceeded, EngineFailed, InvalidRequest, QueueFull
from engine.mailbox import Abort, Close, Submit
from engine.params import SamplingParams
from engine.told import Told

RETRY_AFTER_BOUNDS_S = (1, 60)


class EmbeddingEngine:
    """Made by `await EmbeddingEngine.start(...)`; all of it belongs to the event loop on which that ran."""

    _info: EngineInfo
    _limits: EmbedderInfo
    _tokenizer: Tokenizer

    def __init__(self, name: str, make_embedder: Callable[[], Embedder], *, max_queue: int) -> None:
        self._name = name
        self._max_queue = max_queue
        self._worker = EmbeddingWorker(name, make_embedder, self)
        self._vectors: dict[str, asyncio.Future[Vectors]] = {}          # of every request inside, by request id
        self._refusal: Told | None = None                               # why it takes no more requests
        self._loaded: asyncio.Future[Embedder] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()

    @classmethod
    async def start(
        cls,
        name: str,
        make_embedder: Callable[[], Embedder],
        describe: Callable[[EmbedderInfo], EngineInfo],
        *,
        max_queue: int,
    ) -> EmbeddingEngine:
        """Start the thread `engine-<name>`, which makes the embedder. Whatever `make_embedder` raises is raised here.

        At most `max_queue` requests are inside at once, however many inputs each has.
        """
        engine = cls(name, make_embedder, max_queue=max_queue)
        engine._worker.start()
        try:
            embedder = await engine._loaded
        except asyncio.CancelledError:
            engine._worker.mailbox.put(Close())     # it ends by itself once it has loaded
            raise
        engine._limits, engine._tokenizer = embedder.info, embedder.tokenizer
        engine._info = describe(embedder.info)
        return engine

    @property
    def info(self) -> EngineInfo:
        return self._info

    async def embed(
        self, inputs: Sequence[str | list[int]], *, dimensions: int | None = None, user: str = ""
    ) -> Embeddings:
        if not inputs:
            raise InvalidRequest("There is no input. Send at least one text.", param="input")
        width = self._limits.width
        if dimensions is not None and not 1 <= dimensions <= width:
            raise InvalidRequest(
                f"dimensions must be 1 to {width}: the vectors of {self._info.name} have {width} numbers.",
                param="dimensions",
            )
        self._check_room()
        token_ids = await asyncio.to_thread(lambda: tuple(map(self._encode, range(len(inputs)), inputs)))
        request = EmbeddingRequest(uuid.uuid4().hex, token_ids, user)
        vectors = await self._outcome(request)
        if dimensions is not None and dimensions < width:
            vectors = normalised(vectors[:, :dimensions])
        return Embeddings(vectors=vectors, num_tokens=request.num_tokens)

    def chat(self, request: ChatRequest) -> NoReturn:
        raise self._cannot_write()

    def complete(self, prompt: str | list[int], params: SamplingParams, *, user: str = "") -> NoReturn:
        raise self._cannot_write()

    async def count_tokens(self, request: ChatRequest) -> NoReturn:
        raise self._cannot_write()

    def metrics(self) -> EngineMetrics:
        return self._worker.metrics

    async def close(self) -> None:
        if self._refusal is None:
            self._refusal = Told("unloaded", model=self._name)
        self._worker.mailbox.put(Close())
        await self._ended.wait()
        self._worker.join()                          # its last act was to say so: this does not hold up the loop

    def _encode(self, index: int, text: str | list[int]) -> list[int]:
        """Raises InvalidRequest for what no step could compute: a native library may die of it."""
        if isinstance(text, str):
            token_ids = self._tokenizer.encode(text, add_special=True, parse_special=True)
        else:
            token_ids = text
        param = f"input[{index}]"
        if not text or not token_ids:
            raise InvalidRequest(f"{param} is empty. Leave it out, or give it a text.", param=param)
        if len(token_ids) > self._limits.max_model_len:
            raise ContextLengthExceeded(
                num_prompt_tokens=len(token_ids), max_model_len=self._limits.max_model_len, input_index=index
            )
        if min(token_ids) < 0 or max(token_ids) >= self._limits.vocab_size:
            last = self._limits.vocab_size - 1
            raise InvalidRequest(f"{param} holds an unknown token: ids of this model are 0 to {last}.", param=param)
        return token_ids

    def _check_room(self) -> None:
        if self._refusal is not None:
            raise EngineFailed(self._refusal)
        if len(self._vectors) >= self._max_queue:
            retry_after_s = self._retry_after_s()
            raise QueueFull(
                f"{self._max_queue} requests are waiting for {self._name} already. Try again in {retry_after_s} s.",
                retry_after_s=retry_after_s,
            )

    async def _outcome(self, request: EmbeddingRequest) -> Vectors:
        self._check_room()
        vectors: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
        self._vectors[request.request_id] = vectors
        self._worker.mailbox.put(Submit(request))
        try:
            return await vectors
        finally:
            if self._vectors.pop(request.request_id, None) is not None:       # cancelled
                self._worker.mailbox.put(Abort(request.request_id))

    def _retry_after_s(self) -> int:
        """About the time in which a quarter of the queue is worked off, if all requests are as those before."""
        metrics = self.metrics()
        num_ended = sum(metrics.requests_total.values())
        s_per_request = metrics.step_seconds_total / num_ended if num_ended else 0.0
        low, high = RETRY_AFTER_BOUNDS_S
        return min(max(math.ceil(s_per_request * self._max_queue / 4), low), high)

    def _cannot_write(self) -> InvalidRequest:
        return InvalidRequest(
            f"{self._info.name} makes embeddings and cannot write. Send it texts at /v1/embeddings, "
            "or choose a model made for chat.",
            param="model",
        )

    # -- what the thread tells, through the event loop -----------------------------------------------------------------

    def on_loaded(self, embedder: Embedder) -> None:
        if not self._loaded.done():                  # cancelled meanwhile
            self._loaded.set_result(embedder)

    def on_load_failed(self, error: Exception) -> None:
        if not self._loaded.done():
            self._loaded.set_exception(error)

    def on_outcomes(self, outcomes: list[Outcome]) -> None:
        for request_id, outcome in outcomes:
            vectors = self._vectors.pop(request_id, None)
            if vectors is None or vectors.done():    # its asker has gone
                continue
            if isinstance(outcome, Exception):
                vectors.set_exception(outcome)
            else:
                vectors.set_result(outcome)

    def on_ended(self, reason: Told) -> None:
        self._refusal = self._refusal or reason
        left, self._vectors = self._vectors, {}
        for vectors in left.values():
            if not vectors.done():
                vectors.set_exception(EngineFailed(reason))      # one each: several tasks raise them
        self._ended.set()
