"""Server-sent events, and the bond between a request and its socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias, TypeVar

import structlog
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from app.api.errors import ClientDisconnected, body_of
from app.errors import AppError
from engine.errors import EngineError

T = TypeVar("T")
Emit: TypeAlias = Callable[[bytes], Awaitable[None]]
Events: TypeAlias = Callable[[Emit], Coroutine[Any, Any, None]]

SILENCE_S = 10.0            # nothing said for so long, while queued or reading a long prompt: time for a ping
PING = b": ping\n\n"        # a comment: keeps proxies and clients patient, and no client sees it as data
DONE = b"data: [DONE]\n\n"

_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"content-type", b"text/event-stream; charset=utf-8"),
)

log = structlog.get_logger(__name__)


def event(data: Any) -> bytes:
    return b"data: " + to_json(data) + b"\n\n"


class EventStream:
    """Events, then `[DONE]`; or, where the headers are out already, an error as the last event.

    `events` is given the function that sends one or more of them at once; `opening` goes before the first, or before
    the first ping. What is raised before that still gets its status. A client that goes away cancels it. An ASGI
    application for one request, whose body has been read.
    """

    def __init__(self, events: Events, opening: bytes = b"") -> None:
        self._events = events
        self._opening = opening
        self._loop = asyncio.get_running_loop()
        self._has_begun = self._has_ended = False
        self._last_s = self._loop.time()            # when something was said
        self._ping: asyncio.TimerHandle | asyncio.Task[None] | None = None      # the next one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._send = send
        self._ping_when_silent()
        try:
            await unless_disconnected(receive, self._write())
        except ClientDisconnected:
            if not self._has_begun:
                raise
        finally:
            self._has_ended = True
            if self._ping is not None:
                self._ping.cancel()

    async def _write(self) -> None:
        try:
            await self._events(self._emit)
            last = DONE
        except (AppError, EngineError) as error:
            if not self._has_begun:
                raise
            last = event(body_of(error))
        except Exception as error:
            if not self._has_begun:
                raise
            log.exception("a stream broke")
            last = event(body_of(error))
        self._has_ended = True
        await self._emit(last, is_last=True)

    async def _emit(self, events: bytes, *, is_last: bool = False) -> None:
        """Even without an event: whoever waits in the queue has been accepted, and reads so in the headers."""
        self._last_s = self._loop.time()
        if not self._has_begun:
            self._has_begun = True
            events = self._opening + events
            await self._send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
        await self._send({"type": "http.response.body", "body": events, "more_body": not is_last})

    def _ping_when_silent(self) -> None:
        """Looks once every SILENCE_S, not at each event."""
        due_s = self._last_s + SILENCE_S
        if due_s <= self._loop.time():
            self._ping = self._loop.create_task(self._say_ping())
        else:
            self._ping = self._loop.call_at(due_s, self._ping_when_silent)

    async def _say_ping(self) -> None:
        if not self._has_ended:
            await self._emit(PING)
            self._ping_when_silent()


async def unless_disconnected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, or ClientDisconnected where the client goes away first: `work` is then cancelled.

    The request's body must have been read.
    """
    working, is_gone = asyncio.current_task(), False
    assert working is not None

    async def watch() -> None:
        nonlocal is_gone
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        except Exception:
            log.exception("a connection broke")
        is_gone = True
        working.cancel()

    watching = asyncio.create_task(watch())
    try:
        return await work
    except asyncio.CancelledError as error:
        if is_gone and not working.uncancel():      # else somebody else has cancelled this, too
            raise ClientDisconnected from error
        raise
    finally:
        watching.cancel()
        await asyncio.wait({watching})
