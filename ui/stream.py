"""The text of answers while they are written, as server-sent events: what assets/scripts/talk/hub.js reads.

    /ui/stream/ID?offset=0&thought=0            one answer, from there on
    /ui/stream/ID,ID?offset=0,12&thought=0,0    several over one line: a browser holds six to a host, for all its tabs

What comes is told in ui/answer_events.py. A page only watches: closing it stops nothing. `app.door` cuts the
stream when its reader's session ends. On the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Message as ASGIMessage
from starlette.types import Send

from app.errors import NotFound
from app.services.container import Services
from store.tables import Message, User
from ui.answer_events import Place, answer_events, gone
from ui.beat import Beat

PING_INTERVAL_S = 15.0
MAX_AT_ONCE = 100           # answers over one line
NUM_READY = 8               # events of each that may wait for a slow reader
PING = b": ping\n\n"
Numbers = Annotated[str, Query(pattern=r"^[0-9]{0,12}(,[0-9]{0,12})*$")]


def stream_routes(services: Services) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    beat = Beat()

    @router.get("/ui/stream/{message_ids}")
    async def stream(
        request: Request,
        message_ids: str,
        offset: Numbers = "",
        thought: Numbers = "",
        last_event_id: Annotated[int | None, Header()] = None,
    ) -> StreamingResponse:
        user: User | None = request.state.user
        if user is None:
            raise HTTPException(401)
        ids = message_ids.split(",")[:MAX_AT_ONCE]
        messages = [await _message(services, user.id, message_id) for message_id in ids]
        if not any(messages):
            raise HTTPException(404)
        starts = zip(messages, _numbers(offset, len(ids)), _numbers(thought, len(ids)), strict=True)
        events = [
            answer_events(services, beat, message, Place(index, at, thought_at)) if message else gone(index)
            for index, (message, at, thought_at) in enumerate(starts)
        ]
        if len(ids) == 1 and last_event_id is not None and messages[0]:
            events = [answer_events(services, beat, messages[0], Place(0, last_event_id, 0))]
        return EventStream(events[0] if len(events) == 1 else together(events))

    return router


async def _message(services: Services, user_id: str, message_id: str) -> Message | None:
    try:
        return await services.chat.message(user_id, message_id)
    except NotFound:
        return None


def _numbers(text: str, count: int) -> list[int]:
    """"12,0" as numbers; 0 for what is missing."""
    return [*(int(part or 0) for part in text.split(",")), *[0] * count][:count]


async def together(streams: Sequence[AsyncGenerator[str, None]]) -> AsyncGenerator[str, None]:
    """The events of all, as they come, until the last one ends."""
    ready: asyncio.Queue[str | None] = asyncio.Queue(NUM_READY)

    async def pump(events: AsyncGenerator[str, None]) -> None:
        try:
            async for event in events:
                await ready.put(event)
        finally:
            await events.aclose()
        await ready.put(None)

    pumps = [asyncio.create_task(pump(events)) for events in streams]
    try:
        num_open = len(pumps)
        while num_open:
            if (event := await ready.get()) is None:
                num_open -= 1
            else:
                yield event
    finally:
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


class EventStream(StreamingResponse):
    """`events`, and a comment where nothing comes for long, so that nobody on the way takes the line for dead.

    Fifty answers are a thousand events a second: none of them costs a task or a timer.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._events = events
        self._spoke_s = 0.0             # on the loop's clock
        self._is_speaking = False       # to a reader who is slow, perhaps

    async def stream_response(self, send: Send) -> None:
        async def speak(message: ASGIMessage) -> None:
            self._is_speaking = True
            await send(message)
            self._is_speaking, self._spoke_s = False, clock()

        clock = asyncio.get_running_loop().time
        self._spoke_s = clock()
        pinging = asyncio.create_task(self._ping(send))
        try:
            await super().stream_response(speak)
        finally:
            pinging.cancel()
            await asyncio.gather(pinging, return_exceptions=True)
            await self._events.aclose()

    async def _ping(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._spoke_s + PING_INTERVAL_S - clock())
            if not self._is_speaking and clock() - self._spoke_s >= PING_INTERVAL_S:
                self._spoke_s = clock()
                await send({"type": "http.response.body", "body": PING, "more_body": True})
            elif self._is_speaking:
                self._spoke_s = clock()     # looked at again as much later
