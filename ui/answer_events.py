"""One answer as server-sent events, from where its reader stands to its end. Used by ui/stream.py; on the event loop.

    data: [offset, text]        at each beat (ui/beat.py); offsets are absolute, in UTF-16 units, as JavaScript counts
    event: thought              [offset, text] likewise, of what a model thinks before it answers
    event: state                what it waits for: {"title", "detail", "about_s", …}: chat-wait-… of the catalogue
    event: done                 what became of it: see `answer_state`
    event: later, event: gone   nobody writes it yet: ask again; there is no such answer
    id: offset                  the next one, so that a browser that lost a line of one answer goes on from there

Where answers share a line, an event says which it is of: [offset, text, index], or {"of": index}; 0 is left out.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from app.errors import NotFound
from app.services.absent_models import ModelName
from app.services.container import Services
from app.services.engines import LoadWait
from app.services.generation import Generation, GenerationState, utf16_length
from store.tables import Message, MessageStatus
from ui.beat import Beat
from ui.components.answer import answer_state

RETRY_MS = 1000
SHORT_S = 2.0               # below this nothing is said of how long


@dataclass(slots=True)
class Place:
    """Where a reader of an answer stands, and which of the line's answers it is."""

    index: int = 0
    offset: int = 0
    thought: int = 0


def answer_events(services: Services, beat: Beat, message: Message, place: Place) -> AsyncGenerator[str, None]:
    generation = services.generations.get(message.id)
    return followed(services, beat, generation, place) if generation else _stored(services, message, place)


async def gone(index: int) -> AsyncGenerator[str, None]:
    yield _event("gone", {}, index)


async def _stored(services: Services, message: Message, place: Place) -> AsyncGenerator[str, None]:
    """An answer that nobody writes now: all there is, at once."""
    still = Generation(message.id, message.conversation_id, "", message.model_id or "", text=message.content)
    at, text = still.text_from(place.offset)
    if text:
        yield _data(at, text, place.index)
    if message.status is MessageStatus.STREAMING:
        yield _event("later", {}, place.index)      # its writing is just about to begin
        return
    yield _event("done", answer_state(message, await _model(services, message.model_id)), place.index)


async def followed(
    services: Services, beat: Beat, generation: Generation, place: Place
) -> AsyncGenerator[str, None]:
    model = await _model(services, generation.model_id)
    shown: dict[str, Any] | None = None
    yield f"retry: {RETRY_MS}\n\n"
    with beat.reader():
        async for at, text in generation.follow(place.offset):
            state = _waits_for(services, generation, model)
            if state != shown:
                shown = state
                yield _event("state", {**state, "about_s": _about_s(services, generation)}, place.index)
            thought_at, thought = generation.reasoning_from(place.thought)
            if thought:
                place.thought = thought_at + utf16_length(thought)
                yield _pieces("thought", thought_at, thought, place.index)
            if text:
                yield _data(at, text, place.index)
            if (text or thought) and not generation.is_ended:       # the first word waits for nothing
                await beat.next()
    try:
        message = await services.chat.message(generation.user_id, generation.message_id)
    except NotFound:
        yield _event("gone", {}, place.index)       # deleted, or its chat
        return
    yield _event("done", answer_state(message, model), place.index)


def _waits_for(services: Services, generation: Generation, model: ModelName | None) -> dict[str, Any]:
    title, detail = "", ""
    about: dict[str, Any] = {}
    match generation.state, generation.queue_position:
        case GenerationState.LOADING, _:
            title, about = "loading", {"model": model.name if model else generation.model_id}
            waits_for = services.engines.status(generation.model_id).waits_for
            detail = {LoadWait.MEMORY: "loading-memory", LoadWait.OTHER_LOAD: "loading-other", None: ""}[waits_for]
        case GenerationState.SUMMARISING, _:
            title = "summarising"
        case GenerationState.WAITING, int(position):
            title, detail, about = "queue", "queue-why", {"position": position}
        case GenerationState.WAITING, None:
            title = "reading"
        case GenerationState.WRITING, _ if not generation.text:
            title = "thinking"
    return {"title": title, "detail": detail, **about}


def _about_s(services: Services, generation: Generation) -> int | None:
    """In whole seconds; the page counts them down."""
    about_s = services.generations.about_s(generation)
    return None if about_s is None or about_s < SHORT_S else round(about_s)


def _data(offset: int, text: str, index: int) -> str:
    """With an id where the browser's own resuming can use it: on a line of one answer."""
    head = f"id: {offset + utf16_length(text)}\n" if index == 0 else ""
    return f"{head}data: {_json([offset, text, index] if index else [offset, text])}\n\n"


def _pieces(name: str, offset: int, text: str, index: int) -> str:
    return f"event: {name}\ndata: {_json([offset, text, index] if index else [offset, text])}\n\n"


def _event(name: str, data: dict[str, Any], index: int) -> str:
    return f"event: {name}\ndata: {_json({**data, 'of': index} if index else data)}\n\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


async def _model(services: Services, model_id: str | None) -> ModelName | None:
    return (await services.models.names()).get(model_id or "")
