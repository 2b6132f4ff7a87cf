"""The n answers of one API request: run side by side, merged into one stream, counted together."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from app.services.engines import EngineRegistry
from engine.engine import Delta, Engine, TokenLogprob, ToolCallDelta, Usage
from engine.request import FinishReason

SILENCE_S = 10.0        # nothing said for so long, while queued or reading a long prompt: time for a ping
LOWEST_LOGPROB = -9999.0        # what OpenAI writes for minus infinity, which JSON cannot hold

Ask: TypeAlias = Callable[[Engine], AsyncGenerator[Delta, None]]
Piece: TypeAlias = tuple[int, Delta] | None        # (choice, delta); None: SILENCE_S without one


async def answer(engines: EngineRegistry, model_id: str, asks: Sequence[Ask]) -> AsyncGenerator[Piece, None]:
    """All choices' deltas as they come. Closing it lets the engine go of every one; the first error ends all."""
    pieces: asyncio.Queue[tuple[int, Delta | asyncio.Task[None]]] = asyncio.Queue()

    async def run(index: int, ask: Ask) -> None:
        async with engines.acquire(model_id) as engine, aclosing(ask(engine)) as deltas:
            async for delta in deltas:
                pieces.put_nowait((index, delta))

    tasks = [asyncio.create_task(run(index, ask)) for index, ask in enumerate(asks)]
    for index, task in enumerate(tasks):
        task.add_done_callback(partial(_put, pieces, index))
    num_running = len(tasks)
    try:
        while num_running:
            try:
                async with asyncio.timeout(SILENCE_S):
                    index, piece = await pieces.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(piece, Delta):
                yield index, piece
            else:
                piece.result()
                num_running -= 1
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _put(pieces: asyncio.Queue[tuple[int, Delta | asyncio.Task[None]]], index: int, ended: asyncio.Task[None]) -> None:
    pieces.put_nowait((index, ended))


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


async def collect(pieces: AsyncGenerator[Piece, None], num_choices: int) -> list[Choice]:
    choices = [Choice() for _ in range(num_choices)]
    async with aclosing(pieces):
        async for piece in pieces:
            if piece is not None:
                index, delta = piece
                choices[index].add(delta)
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


async def from_first(first: Piece, rest: AsyncGenerator[Piece, None]) -> AsyncGenerator[Piece, None]:
    yield first
    async for piece in rest:
        yield piece


def new_head(prefix: str, kind: str, model_id: str) -> dict[str, Any]:
    """What all chunks of an answer share."""
    answer_id = f"{prefix}-{random.getrandbits(128):032x}"
    return {"id": answer_id, "object": kind, "created": int(time.time()), "model": model_id}


def logprob_of(token: TokenLogprob) -> float:
    return max(token.logprob, LOWEST_LOGPROB)
