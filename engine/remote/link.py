"""One request to one endpoint. `RemoteEngine` makes a `Link` for each and keeps what it has learnt. On the event loop.

All of it raises EndpointError, or InvalidRequest where the request is at fault.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from engine.engine import ChatRequest, Delta, Embeddings
from engine.errors import ContextLengthExceeded, EndpointRefused, InvalidRequest
from engine.params import SamplingParams
from engine.remote.answering import Reader, count_of
from engine.remote.asking import Learnt, adapt, chat_body, completion_body, session_headers, too_long
from engine.remote.endpoint import Endpoint, ServerKind
from engine.remote.events import MAX_ANSWER_BYTES, events
from engine.remote.probing import calls_tools, keeps_forms
from engine.remote.wire import Wire, garbage, plain
from engine.told import Told

TOKENS_A_MESSAGE = 6            # what a template puts around each
LEARNT_FROM_BYTES = 200         # of a prompt: a shorter one is mostly what stands around it
COMPLETIONS = "completions"
MAX_EMBEDDING_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class Size:
    """Of what is asked: as much as is known here."""

    num_bytes: int
    num_messages: int = 0

    @classmethod
    def of(cls, request: ChatRequest) -> Size:
        return cls(sum(len(each.content.encode()) for each in request.messages), len(request.messages))


@dataclass(frozen=True, slots=True)
class Link:
    wire: Wire
    endpoint: Endpoint
    learnt: Learnt

    async def chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        if request.params.grammar is not None:
            await self._try_forms(request.params.grammar.param)
        if request.tools:
            await self._try_tools()
        body = chat_body(self.endpoint, request, self.learnt)
        headers = session_headers(self.endpoint, request.session)
        async with aclosing(self._adapted("chat/completions", body, headers, Size.of(request))) as deltas:
            async for delta in deltas:
                yield delta

    async def complete(self, prompt: str | list[int], params: SamplingParams) -> AsyncGenerator[Delta, None]:
        if params.grammar is not None:
            await self._try_forms(params.grammar.param)
        size = Size(len(prompt.encode()) if isinstance(prompt, str) else round(len(prompt) * self.learnt.bytes_a_token))
        body = completion_body(self.endpoint, prompt, params, self.learnt)
        async with aclosing(self._adapted(COMPLETIONS, body, {}, size)) as deltas:
            async for delta in deltas:
                yield delta

    def estimate(self, size: Size) -> int:
        """Of tokens, without asking anybody."""
        return round(size.num_bytes / self.learnt.bytes_a_token) + TOKENS_A_MESSAGE * size.num_messages

    async def count_tokens(self, request: ChatRequest) -> int:
        """By the server's tokenizer, where the endpoint has one."""
        address, short_s = self.endpoint.address, self.wire.patience.short_s
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        body: dict[str, Any] = {"model": self.endpoint.remote_id, "messages": messages}
        if self.endpoint.kind is ServerKind.LLAMA_CPP:
            rendered = await self.wire.json(address, "POST", f"{address.root}/apply-template", body, within_s=short_s)
            body = {"content": rendered.get("prompt") if isinstance(rendered, dict) else None, "add_special": True}
            if not isinstance(body["content"], str):
                raise garbage(address, "the text that its template makes is none")
        match await self.wire.json(address, "POST", f"{address.root}/tokenize", body, within_s=short_s):
            case {"count": count} if num_tokens := count_of(count):
                return num_tokens
            case {"tokens": [_, *_] as tokens}:
                return len(tokens)
        raise garbage(address, "it counts no tokens")

    async def embed(self, inputs: Sequence[str | list[int]], dimensions: int | None) -> Embeddings:
        address = self.endpoint.address
        body: dict[str, Any] = {
            "model": self.endpoint.remote_id, "input": list(inputs), "encoding_format": "base64",
        }
        if dimensions is not None:
            body["dimensions"] = dimensions
        url = f"{address.base_url}/embeddings"
        answer = await self.wire.json(address, "POST", url, body, max_bytes=MAX_EMBEDDING_BYTES)
        return await asyncio.to_thread(_embeddings, self.endpoint, answer, len(inputs))

    async def _adapted(
        self, route: str, body: dict[str, Any], headers: Mapping[str, str], size: Size
    ) -> AsyncGenerator[Delta, None]:
        """Without the parameters that the server refuses, one after another: each time there is one less."""
        while True:
            try:
                async with aclosing(self._stream(route, body, headers, size)) as deltas:
                    async for delta in deltas:
                        self._learn(size, delta)
                        yield delta
                return
            except EndpointRefused as error:
                if numbers := too_long(error, self.estimate(size)):
                    num_tokens, window = numbers
                    raise ContextLengthExceeded(
                        num_prompt_tokens=num_tokens, max_model_len=window,
                        param="prompt" if route == COMPLETIONS else "messages",
                    ) from error
                adapted = adapt(body, error, self.learnt)
                if adapted is None:
                    raise
                body = adapted

    async def _stream(
        self, route: str, body: dict[str, Any], headers: Mapping[str, str], size: Size
    ) -> AsyncGenerator[Delta, None]:
        address = self.endpoint.address
        reader, is_whole = Reader(address, is_raw=route == COMPLETIONS), False
        url, accept = f"{address.base_url}/{route}", {"Accept": "text/event-stream"}
        async with (
            self.wire.open(address, "POST", url, body, headers=accept | dict(headers)) as response,
            aclosing(self._events(response)) as said,
        ):
            async for event in said:
                is_whole = event is None
                if event is not None and (delta := reader.take(event)) is not None:
                    yield delta
        yield reader.end(is_whole=is_whole, num_prompt_tokens=self.estimate(size))

    async def _events(self, response: httpx.Response) -> AsyncGenerator[Any, None]:
        """Of an answer; the last is None where the server says that it was. One that does not stream says all at once.
        """
        address, wire = self.endpoint.address, self.wire
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            yield await wire.json_of(address, response)
            yield None
            return
        if kind != "text/event-stream":
            raise garbage(address, f"it is {plain(address, kind)[:40] or 'of no type'}")
        async with (
            aclosing(wire.pieces(address, response, max_bytes=MAX_ANSWER_BYTES)) as pieces,
            aclosing(events(address, pieces)) as each_event,
        ):
            async for event in each_event:
                yield event

    def _learn(self, size: Size, delta: Delta) -> None:
        """How many bytes a token of this model has, of prompts that it has counted."""
        if delta.usage is not None and size.num_bytes >= LEARNT_FROM_BYTES:
            num_tokens = delta.usage.prompt_tokens - TOKENS_A_MESSAGE * size.num_messages
            if num_tokens > 0:
                self.learnt.bytes_a_token = min(6.0, max(1.0, size.num_bytes / num_tokens))

    async def _try_tools(self) -> None:
        """Tools and forms are sent only where they were seen to work: tried once, with a small request."""
        if self.learnt.calls_tools is None:
            self.learnt.calls_tools = self.endpoint.calls_tools
        if self.learnt.calls_tools is None:
            self.learnt.calls_tools = await calls_tools(self.wire, self.endpoint, self.learnt)
        if not self.learnt.calls_tools:
            name, model = self.endpoint.address.name, self.endpoint.remote_id
            raise InvalidRequest(Told("elsewhere-no-tools", connection=name, model=model), param="tools")

    async def _try_forms(self, param: str) -> None:
        if self.learnt.keeps_forms is None:
            self.learnt.keeps_forms = await keeps_forms(self.wire, self.endpoint, self.learnt)
        if not self.learnt.keeps_forms:
            name, model = self.endpoint.address.name, self.endpoint.remote_id
            raise InvalidRequest(Told("elsewhere-no-form", connection=name, model=model, param=param), param=param)


def _embeddings(endpoint: Endpoint, answer: Any, num_inputs: int) -> Embeddings:
    rows = answer.get("data") if isinstance(answer, dict) else None
    rows = _in_order(rows) if isinstance(rows, list) else []
    vectors = [_vector(each.get("embedding")) for each in rows if isinstance(each, dict)]
    widths = {None if each is None else each.size for each in vectors}
    if len(vectors) != num_inputs or len(widths) != 1 or not widths - {None, 0}:
        raise garbage(endpoint.address, "it does not hold a vector for each text")
    matrix = np.stack([each for each in vectors if each is not None])
    if not np.isfinite(matrix).all():
        raise garbage(endpoint.address, "its vectors hold what is no number")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    usage = answer.get("usage")
    return Embeddings(
        vectors=(matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32),
        num_tokens=count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0,
    )


def _in_order(rows: list[Any]) -> list[Any]:
    """As the texts were sent: a server that works on several at once may list them as they are done, with their places.
    """
    by_place = {each.get("index"): each for each in rows if isinstance(each, dict) and type(each.get("index")) is int}
    return [by_place[place] for place in range(len(rows))] if by_place.keys() == set(range(len(rows))) else rows


def _vector(value: Any) -> NDArray[np.float32] | None:
    """Of base64, as it was asked for, or of numbers, from servers that know no other form."""
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        return np.array(value, dtype=np.float32).reshape(-1) if isinstance(value, list) else None
    except (ValueError, TypeError, OverflowError):
        return None
