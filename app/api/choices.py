"""The n answers of one API request: run side by side, sent as one stream, counted together."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from pydantic_core import to_json

from app.services.engines import EngineRegistry
from engine.engine import Delta, Engine, TokenLogprob, ToolCallDelta, Usage
from engine.request import FinishReason

LOWEST_LOGPROB = -9999.0        # what OpenAI writes for minus infinity, which JSON cannot hold

Ask: TypeAlias = Callable[[Engine], AsyncGenerator[Delta, None]]
Take: TypeAlias = Callable[[int, Delta], Awaitable[None]]       # (choice, delta)


async def answer(engines: EngineRegistry, model_id: str, asks: Sequence[Ask], take: Take) -> None:
    """Gives `take` all choices' deltas as they come. Cancelling it lets the engine go of every one; the first error
    ends all.
    """
    if len(asks) == 1:
        await _answer_one(engines, model_id, 0, asks[0], take)
        return
    tasks = [asyncio.create_task(_answer_one(engines, model_id, *ask, take)) for ask in enumerate(asks)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer_one(engines: EngineRegistry, model_id: str, index: int, ask: Ask, take: Take) -> None:
    async with engines.acquire(model_id) as engine, aclosing(ask(engine)) as deltas:
        async for delta in deltas:
            await take(index, delta)


@dataclass(slots=True)
class Choice:
    """A whole answer, for clients that do not stream."""

    text: str = ""
    reasoning: str = ""
    tool_calls: list[ToolCallDelta] = field(default_factory=list)       # each of them whole
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)

    def add(self, delta: Delta) -> None:
        self.text += delta.text
        self.reasoning += delta.reasoning
        for piece in delta.tool_calls:
            if piece.id:
                self.tool_calls.append(piece)
            else:
                call = self.tool_calls[piece.index]
                self.tool_calls[piece.index] = replace(call, arguments=call.arguments + piece.arguments)
        self.logprobs.extend(delta.logprobs)
        self.finish_reason = delta.finish_reason or self.finish_reason
        self.usage = delta.usage or self.usage


async def collect(engines: EngineRegistry, model_id: str, asks: Sequence[Ask]) -> list[Choice]:
    choices = [Choice() for _ in asks]

    async def take(index: int, delta: Delta) -> None:
        choices[index].add(delta)

    await answer(engines, model_id, asks, take)
    return choices


def usage_body(usages: Sequence[Usage], *, num_choices_a_prompt: int) -> dict[str, Any]:
    """A prompt counts once, however many choices were made from it."""
    by_prompt = usages[::num_choices_a_prompt]
    prompt_tokens = sum(usage.prompt_tokens for usage in by_prompt)
    completion_tokens = sum(usage.completion_tokens for usage in usages)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in by_prompt)},
        "completion_tokens_details": {"reasoning_tokens": sum(usage.reasoning_tokens for usage in usages)},
    }


def new_head(prefix: str, kind: str, model_id: str) -> dict[str, Any]:
    """What all chunks of an answer share."""
    answer_id = f"{prefix}-{random.getrandbits(128):032x}"
    return {"id": answer_id, "object": kind, "created": int(time.time()), "model": model_id}


class Chunks:
    """Events of one answer: what all share is written once."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._opening = b"data: " + to_json(head)[:-1] + b',"choices":['

    def of(self, choice: Mapping[str, Any]) -> bytes:
        return self._opening + to_json(choice) + b"]}\n\n"


def logprob_of(token: TokenLogprob) -> float:
    return max(token.logprob, LOWEST_LOGPROB)
