"""One streamed completion over HTTP, timed token by token: the same small client for both servers.

Written on asyncio's streams, because a heavier client would take its time from the two cores that are measured.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"


@dataclass(slots=True)
class Answer:
    """What came of one request. Times are of `time.perf_counter`, in seconds."""

    started_s: float
    token_times_s: list[float] = field(default_factory=list)     # one an event with text; an event is a token, mostly
    text: str = ""
    num_tokens: int = 0                                          # as the server counted them

    @property
    def time_to_first_token_s(self) -> float:
        return self.token_times_s[0] - self.started_s

    @property
    def longest_gap_s(self) -> float:
        return max(b - a for a, b in zip(self.token_times_s, self.token_times_s[1:], strict=False))


async def complete(port: int, key: str, prompt: list[int] | str, max_tokens: int, **extra: Any) -> Answer:
    """Greedy, EOS ignored unless said otherwise. Raises AssertionError with the server's words where it refuses."""
    body = {
        "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True, "stream": True,
        "stream_options": {"include_usage": True}, **extra,
    }
    answer = Answer(time.perf_counter())
    reader, writer = await _post(port, key, "/v1/completions", body)
    try:
        status = await reader.readline()
        await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in status:
            raise AssertionError(f"{status!r}: {(await reader.read(2000))!r}")
        while line := await reader.readline():
            if line.startswith(b"data: [DONE]"):
                break
            if line.startswith(b"data: "):
                _take(answer, json.loads(line[6:]))
    finally:
        writer.close()
    return answer


async def vanish(port: int, key: str, prompt: list[int], after_s: float, *, model: str) -> None:
    """Ask, and hang up after a while."""
    body = {"model": model, "prompt": prompt, "max_tokens": 64, "stream": True}
    _, writer = await _post(port, key, "/v1/completions", body)
    await asyncio.sleep(after_s)
    writer.transport.abort()


async def _post(
    port: int, key: str, path: str, body: dict[str, Any]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(HOST, port, limit=1 << 20)
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + data)
    await writer.drain()
    return reader, writer


def _take(answer: Answer, chunk: dict[str, Any]) -> None:
    if "error" in chunk:
        raise AssertionError(chunk["error"])
    for choice in chunk["choices"]:
        if choice["text"]:
            answer.token_times_s.append(time.perf_counter())
            answer.text += choice["text"]
    if usage := chunk.get("usage"):
        answer.num_tokens = usage["completion_tokens"]
