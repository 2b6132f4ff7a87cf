"""A model elsewhere as an Engine: asks the first of its endpoints that answers. On the event loop; it computes nothing.

Which endpoints there are is asked before each request, so that what an admin switches off is asked no more, and again
while an answer is written, which ends then. One that failed lately comes last. Until the first word has come another
one may stand in; from then on the answer is its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from engine.engine import ChatRequest, Delta, Embeddings, EngineInfo, EngineMetrics
from engine.errors import EndpointError, EndpointRefused, EngineFailed, InvalidRequest
from engine.histogram import FIRST_TOKEN_BOUNDS_S, HistogramCounter
from engine.params import SamplingParams
from engine.remote.asking import Learnt
from engine.remote.endpoint import Endpoint
from engine.remote.link import Link, Size
from engine.remote.wire import Wire, wordless
from engine.told import Told

COOLS_S = 30.0                  # that an endpoint comes after the others, once it has failed
LOOKS_AGAIN_S = 2.0             # while an answer is written: whether its endpoint may still be asked
COUNTED_FROM = 0.5              # of the window: below that an estimate will do

Endpoints = Callable[[], Awaitable[Sequence[Endpoint]]]     # in order; none: no connection leads to the model
Outcome = Callable[[Endpoint, EndpointError | None, float], None]      # what became of a request; seconds to its first
Ask = Callable[[Link], AsyncGenerator[Delta, None]]
Answer = TypeVar("Answer")


class RemoteEngine:
    def __init__(self, info: EngineInfo, wire: Wire, endpoints: Endpoints, on_outcome: Outcome) -> None:
        self._info = info
        self._wire = wire
        self._endpoints = endpoints
        self._on_outcome = on_outcome
        self._learnt: defaultdict[str, Learnt] = defaultdict(Learnt)        # by connection
        self._failed_at_s: dict[str, float] = {}
        self._steps: set[asyncio.Future[Any]] = set()       # of answers that are awaited
        self._is_closed = False
        self._num_running = 0
        self._tokens: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._first_token = HistogramCounter(FIRST_TOKEN_BOUNDS_S)

    @property
    def info(self) -> EngineInfo:
        return self._info

    async def chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        async with aclosing(self._with_stand_ins(lambda link: link.chat(request))) as deltas:
            async for delta in deltas:
                yield delta

    async def complete(
        self, prompt: str | list[int], params: SamplingParams, *, user: str = ""
    ) -> AsyncGenerator[Delta, None]:
        async with aclosing(self._with_stand_ins(lambda link: link.complete(prompt, params))) as deltas:
            async for delta in deltas:
                yield delta

    async def count_tokens(self, request: ChatRequest) -> int:
        """By the server's own tokenizer where it has one and the window is half full; below that it is an estimate,
        for which nothing leaves this machine.
        """
        link = (await self._links())[0]
        num_tokens = link.estimate(Size.of(request))
        if not link.endpoint.has_tokenizer or num_tokens < COUNTED_FROM * self._info.max_model_len:
            return num_tokens
        try:
            return await link.count_tokens(request)
        except EndpointError:           # the estimate is what there is
            return num_tokens

    async def embed(
        self, inputs: Sequence[str | list[int]], *, dimensions: int | None = None, user: str = ""
    ) -> Embeddings:
        _, embeddings = await self._step(
            self._first_that_answers(lambda link: link.embed(inputs, dimensions), param="input")
        )
        return embeddings

    def metrics(self) -> EngineMetrics:
        return EngineMetrics(
            num_running=self._num_running,
            prompt_tokens_total=self._tokens["prompt"],
            cached_prompt_tokens_total=self._tokens["cached"],
            output_tokens_total=self._tokens["output"],
            requests_total=dict(self._requests),
            time_to_first_token=self._first_token.snapshot(),
        )

    async def close(self) -> None:
        """The wire stays open: it is others', too."""
        self._is_closed = True
        for step in self._steps:
            step.cancel()
        if self._steps:
            await asyncio.wait(list(self._steps))

    # --- one endpoint after another -----------------------------------------------------------------------------------

    async def _links(self) -> list[Link]:
        """To the endpoints, in the order in which they are asked. Raises EndpointError where there is none."""
        if self._is_closed:
            raise EngineFailed(Told("unloaded", model=self._info.name))
        now_s = time.monotonic()
        endpoints = sorted(await self._endpoints(), key=lambda each: self._is_cooling(each, now_s))
        if not endpoints:
            raise EndpointError(Told("elsewhere-no-endpoint", model=self._info.name))
        return [Link(self._wire, each, self._learnt[each.connection_id]) for each in endpoints]

    def _is_cooling(self, endpoint: Endpoint, now_s: float) -> bool:
        return now_s < self._failed_at_s.get(endpoint.connection_id, -COOLS_S) + COOLS_S

    async def _with_stand_ins(self, ask: Ask) -> AsyncGenerator[Delta, None]:
        self._num_running += 1
        try:
            link, begun = await self._first_that_answers(lambda link: _begun(link, self._until_closed(ask(link))))
            async with aclosing(begun.others), aclosing(self._watched(link.endpoint, begun.others)) as others:
                yield replace(self._counted(begun.first), connection=link.endpoint.address.name)
                async for delta in others:
                    yield self._counted(delta)
        finally:
            self._num_running -= 1

    async def _first_that_answers(
        self, ask: Callable[[Link], Awaitable[Answer]], *, param: str | None = None
    ) -> tuple[Link, Answer]:
        """The endpoints are asked one after another. Raises what the last one does, and InvalidRequest, naming `param`,
        as soon as one refuses: another would, too.
        """
        *stand_ins, last = await self._links()
        for link in (*stand_ins, last):
            began_s = time.monotonic()
            try:
                answer = await ask(link)
            except EndpointRefused as error:
                raise InvalidRequest(error.sentence, param=param) from error
            except EndpointError as error:
                self._failed(link.endpoint, error)
                if link is last:
                    raise
            else:
                self._succeeded(link.endpoint, time.monotonic() - began_s)
                return link, answer
        raise AssertionError("the last one either answers or fails")

    async def _watched(self, endpoint: Endpoint, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
        """The same deltas, as long as the endpoint may be asked. One that breaks off counts as failed."""
        looked_s = time.monotonic()
        try:
            async for delta in deltas:
                yield delta
                if time.monotonic() - looked_s > LOOKS_AGAIN_S:
                    await self._check_is_on(endpoint)
                    looked_s = time.monotonic()
        except EndpointError as error:
            self._failed(endpoint, error)
            raise

    async def _check_is_on(self, endpoint: Endpoint) -> None:
        if all(each.connection_id != endpoint.connection_id for each in await self._endpoints()):
            raise EngineFailed(Told("elsewhere-switched-off", connection=endpoint.address.name))

    async def _until_closed(self, deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[Delta, None]:
        async with aclosing(deltas):
            while (delta := await self._step(anext(deltas, None))) is not None:
                yield delta

    async def _step(self, doing: Awaitable[Answer]) -> Answer:
        """Each wait for a server is a task of its own, so that `close` can end it."""
        step = asyncio.ensure_future(doing)
        self._steps.add(step)
        try:
            await asyncio.wait({step})
        except asyncio.CancelledError:
            step.cancel()
            await asyncio.wait({step})
            raise
        finally:
            self._steps.discard(step)
        if step.cancelled():
            raise EngineFailed(Told("unloaded", model=self._info.name))
        return step.result()

    def _succeeded(self, endpoint: Endpoint, after_s: float) -> None:
        self._failed_at_s.pop(endpoint.connection_id, None)
        self._first_token.observe(after_s)
        self._on_outcome(endpoint, None, after_s)

    def _failed(self, endpoint: Endpoint, error: EndpointError) -> None:
        self._failed_at_s[endpoint.connection_id] = time.monotonic()
        self._on_outcome(endpoint, error, 0.0)

    def _counted(self, delta: Delta) -> Delta:
        self._tokens["output"] += delta.num_tokens
        if delta.finish_reason is not None:
            self._requests[delta.finish_reason.value] += 1
        if delta.usage is not None:
            self._tokens["prompt"] += delta.usage.prompt_tokens
            self._tokens["cached"] += delta.usage.cached_tokens
        return delta


@dataclass(frozen=True, slots=True)
class _Begun:
    """An answer whose first words have come."""

    first: Delta
    others: AsyncGenerator[Delta, None]


async def _begun(link: Link, deltas: AsyncGenerator[Delta, None]) -> _Begun:
    """A server may keep its line open for ever without a word: that is no answer."""
    seconds = link.wire.patience.words_s
    try:
        async with asyncio.timeout(seconds):
            return _Begun(await anext(deltas), deltas)
    except TimeoutError as error:
        raise wordless(link.endpoint.address, seconds) from error
