"""The text of an answer while it is written, as server-sent events: what answer.js reads. On the event loop.

    data: [offset, text]      at most 20 times a second; offsets are absolute, in UTF-16 units, as JavaScript counts
    event: state              what it waits for: {"title", "detail", "loading", "left_out"}
    event: done               what became of it: see `answer_state`
    id: offset                the next one, so that a browser that lost the line goes on from there

A page only watches: closing it stops nothing. `app.middleware` cuts the stream when its reader's session ends.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Request
from fastapi.responses import StreamingResponse

from app.errors import NotFound
from app.services.container import Services
from app.services.generation import Generation, GenerationState, utf16_length
from store.tables import Message, MessageStatus, Model, User
from ui.components.answer import answer_state
from ui.language import LANGUAGE_SETTING, speak_in_request, wanted_language
from ui.words import ordinal

MIN_INTERVAL_S = 0.05
PING_INTERVAL_S = 15.0
RETRY_MS = 1000
PING = ": ping\n\n"


def stream_routes(services: Services) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/ui/stream/{message_id}")
    async def stream(
        request: Request, message_id: str, offset: int = 0, last_event_id: Annotated[int | None, Header()] = None,
    ) -> StreamingResponse:
        user: User | None = request.state.user
        if user is None:
            raise HTTPException(401)
        speak_in_request(wanted_language(await services.accounts.get_setting(user.id, LANGUAGE_SETTING), request))
        start = last_event_id if last_event_id is not None else offset
        try:
            message = await services.chat.message(user.id, message_id)
        except NotFound as error:
            raise HTTPException(404) from error
        generation = services.generations.get(message_id)
        events = _followed(services, generation, start) if generation else _stored(services, message, start)
        return StreamingResponse(
            _with_pings(events),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    return router


async def _with_pings(events: AsyncGenerator[str, None]) -> AsyncGenerator[str, None]:
    """`events`, and a comment where nothing comes for long, so that nobody on the way takes the line for dead."""
    coming: asyncio.Future[str] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(events, ""))
            await asyncio.wait({coming}, timeout=PING_INTERVAL_S)
            if not coming.done():
                yield PING
                continue
            event, coming = coming.result(), None
            if not event:
                return
            yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await events.aclose()


async def _stored(services: Services, message: Message, offset: int) -> AsyncGenerator[str, None]:
    """An answer that nobody writes now: all there is, at once."""
    still = Generation(message.id, message.conversation_id, "", message.model_id or "", text=message.content)
    at, text = still.text_from(offset)
    if text:
        yield _data(at, text)
    if message.status is MessageStatus.STREAMING:
        return      # its writing is just about to begin: the browser asks again after RETRY_MS
    yield _event("done", answer_state(message, await _model(services, message.model_id)))


async def _followed(services: Services, generation: Generation, offset: int) -> AsyncGenerator[str, None]:
    model = await _model(services, generation.model_id)
    shown: dict[str, Any] | None = None
    yield f"retry: {RETRY_MS}\n\n"
    async for at, text in generation.follow(offset):
        state = _waits_for(services, generation, model)
        if state != shown:
            shown = state
            yield _event("state", state)
        if text:
            yield _data(at, text)
        if not generation.is_ended:
            await asyncio.sleep(MIN_INTERVAL_S)
    try:
        message = await services.chat.message(generation.user_id, generation.message_id)
    except NotFound:
        return      # deleted, with its chat
    yield _event("done", answer_state(message, model) | {"left_out": generation.num_left_out})


def _waits_for(services: Services, generation: Generation, model: Model | None) -> dict[str, Any]:
    name = model.name if model else generation.model_id
    title, detail = "", ""
    match generation.state, generation.queue_position:
        case GenerationState.LOADING, _:
            title, detail = f"Waking {name}", services.engines.status(generation.model_id).reason
        case GenerationState.WAITING, int(position):
            title = "Next in line" if position == 1 else f"{ordinal(position)} in line"
        case GenerationState.WAITING, None:
            title = "Reading"
        case GenerationState.WRITING, _ if not generation.text:
            title = "Thinking"
    return {
        "title": title, "detail": detail, "loading": generation.state is GenerationState.LOADING,
        "left_out": generation.num_left_out,
    }


def _data(offset: int, text: str) -> str:
    data = json.dumps([offset, text], ensure_ascii=False, separators=(",", ":"))
    return f"id: {offset + utf16_length(text)}\ndata: {data}\n\n"


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


async def _model(services: Services, model_id: str | None) -> Model | None:
    entries = await services.models.list()
    return next((entry.model for entry in entries if entry.model.id == model_id), None)
