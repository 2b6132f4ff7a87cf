"""The oldest turns of a chat in short, by the model that answers in it. Called by `GenerationService`, on the loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from app.services.context import Question, summary_room
from engine.engine import ChatMessage, ChatRequest, Engine
from engine.errors import EngineError, EngineFailed
from engine.params import SamplingParams
from store.tables import Message, MessageRole

WITH_THOUGHTS = 4           # times the summary's own room, for a model that thinks first
SHORTEST_CHARS = 200        # below this a text that is too long for the window is not cut any more

_TASK = (
    "Summarise the conversation below for somebody who will go on with it and cannot read it: what was asked, what was "
    "answered and decided, names, numbers and wishes. Use the conversation's own language, and at most {words} words. "
    "Write the summary only."
)
_SPEAKER = {MessageRole.USER: "Person", MessageRole.ASSISTANT: "Assistant", MessageRole.SYSTEM: "Note"}


async def summarise(engine: Engine, question: Question, so_far: str, left_out: Sequence[Message]) -> str:
    """`so_far` and the messages after it, told anew in one text; "" where the model has none to give.

    Piece by piece where they do not fit into the window together. Raises EngineFailed.
    """
    room = summary_room(engine.info.max_model_len)
    summary, rest = so_far, [f"{_SPEAKER[message.role]}: {message.content}" for message in left_out]
    try:
        while rest:
            num_taken, request = await _what_fits(engine, question, summary, rest, room)
            summary, rest = await _answer(engine, request, room), rest[num_taken:]
    except EngineFailed:
        raise
    except EngineError:         # too long for a window this small, or the queue is full: without a summary, then
        return ""
    return summary


async def _what_fits(
    engine: Engine, question: Question, summary: str, texts: Sequence[str], room: int
) -> tuple[int, ChatRequest]:
    """As many of the oldest texts as the window holds, by halves; a single one is cut where even that is too long."""
    num_taken, cut = len(texts), max(map(len, texts))
    budget = engine.info.max_model_len - WITH_THOUGHTS * room
    while True:
        request = _request(question, summary, [text[:cut] for text in texts[:num_taken]], room)
        if await engine.count_tokens(request) <= budget or cut < SHORTEST_CHARS:
            return num_taken, request
        if num_taken > 1:
            num_taken //= 2
        else:
            cut = min(cut, len(texts[0])) // 2


def _request(question: Question, summary: str, texts: Sequence[str], room: int) -> ChatRequest:
    parts = [_TASK.format(words=room // 2)]
    if summary:
        parts.append(f"Summary of what came before:\n{summary}")
    parts += texts
    return ChatRequest(
        messages=(ChatMessage(role="user", content="\n\n".join(parts)),),
        params=replace(SamplingParams(), temperature=0.0, max_tokens=WITH_THOUGHTS * room),
        user=question.user_id,
        cache_key=question.private_to or "",
        session=question.thread[-1].conversation_id if question.thread else "",
        is_private=question.private_to is not None,
    )


async def _answer(engine: Engine, request: ChatRequest, room: int) -> str:
    pieces: list[str] = []
    num_tokens = 0
    async with aclosing(engine.chat(request)) as deltas:
        async for delta in deltas:
            pieces.append(delta.text)
            num_tokens += delta.num_tokens if delta.text else 0
            if num_tokens >= room:
                break
    return "".join(pieces).strip()
