"""Server-sent events, and the bond between a request and its socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import structlog
from fastapi import Request
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.types import Send

from app.api.errors import ClientDisconnected, body_of
from app.errors import AppError
from engine.errors import EngineError

T = TypeVar("T")

PING = b": ping\n\n"        # a comment: keeps proxies and clients patient, and no client sees it as data
DONE = b"data: [DONE]\n\n"

log = structlog.get_logger(__name__)


def event(data: Any) -> bytes:
    return b"data: " + to_json(data) + b"\n\n"


class EventStream(StreamingResponse):
    """Events, then `[DONE]`; or, where the headers are out already, an error as the last event.

    Starlette cancels the stream when the client goes away; closing it as well makes the engine let go at once.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = _ending_well(events)
        super().__init__(self._events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._events):
            await super().stream_response(send)


async def _ending_well(events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        try:
            async for each in events:
                yield each
        except (AppError, EngineError) as error:
            yield event(body_of(error))
        except Exception as error:
            log.exception("a stream broke")
            yield event(body_of(error))
        else:
            yield DONE


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or ClientDisconnected where the client goes away first: `work` is then cancelled.

    The request's body must have been read.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnected
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
