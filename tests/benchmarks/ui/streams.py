"""Fifty answers at forty tokens a second, each read by somebody: what that costs the server, and the wire."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field

import httpx
from playwright.async_api import Browser

from tests.benchmarks.ui.figures import Figure, percentile
from tests.benchmarks.ui.house import PATIENCE_S, Served

TOKENS_PER_S = 40
NUM_STREAMS = 50
LONG, SHORT = 2000, 500             # tokens
MEASURED_S = 20.0
WARM_UP_S = 4.0
PROBE_INTERVAL_S = 0.1


@dataclass(slots=True)
class Heard:
    """One stream to its end: bytes with the framing of HTTP, but without the head."""

    num_bytes: int = 0
    text: str = ""
    state: dict[str, object] = field(default_factory=dict)


async def streams(served: Served, browser: Browser, repetitions: int) -> list[Figure]:
    person = served.people.newcomer
    long_ids = await served.tell(f"ask {person.id} {NUM_STREAMS - 1} {LONG}")
    short_ids = await served.tell(f"ask {person.id} 1 {SHORT}")
    listening = [asyncio.create_task(listen(served, answer_id)) for answer_id in [*short_ids, *long_ids]]
    await asyncio.sleep(WARM_UP_S)
    started_s, spent_s = time.monotonic(), served.cpu_s
    delays_ms = await _probe(served, MEASURED_S)
    share = 100 * (served.cpu_s - spent_s) / (time.monotonic() - started_s)
    short, *long = await asyncio.gather(*listening)
    per_token = sum(heard.num_bytes for heard in long) / len(long) / LONG
    name = f"{NUM_STREAMS} streams at {TOKENS_PER_S} tokens/s: of a core"
    probes = f"of {len(delays_ms)}; max {max(delays_ms):.0f}"
    return [
        Figure("bytes a token on the wire", per_token, "B", 30, note=f"of text {len(long[0].text) / LONG:.1f}"),
        Figure(f"growth, {LONG} against {SHORT} tokens", long[0].num_bytes / short.num_bytes, "", 4.5),
        Figure(name, share, "%", 15, note="the whole process, scheduler and paced back end too"),
        Figure("/healthz meanwhile, p95", percentile(delays_ms, 0.95), "ms", 20, note=probes),
    ]


async def listen(served: Served, answer_id: str) -> Heard:
    """As a browser does. Raises AssertionError where what came is not the whole answer."""
    person, heard = served.people.newcomer, Heard()
    [(name, value)] = person.cookies.items()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1 << 20)
    writer.write(
        f"GET /ui/stream/{answer_id}?offset=0 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        f"Cookie: {name}={value}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    is_done = False
    while line := await reader.readline():
        heard.num_bytes += len(line)
        if is_done and line.startswith(b"data: "):
            heard.state = json.loads(line[6:])
        elif line.startswith(b"data: ["):
            offset, piece = json.loads(line[6:])
            assert offset == len(heard.text)
            heard.text += piece
        is_done = is_done or line.startswith(b"event: done")
    writer.close()
    assert heard.state.get("status") == "complete", heard.state
    return heard


async def _probe(served: Served, duration_s: float) -> list[float]:
    delays_ms = []
    async with httpx.AsyncClient(base_url=served.url, timeout=PATIENCE_S) as client:
        end_s = time.monotonic() + duration_s
        while (begun_s := time.monotonic()) < end_s:
            (await client.get("/healthz")).raise_for_status()
            delays_ms.append(1000 * (time.monotonic() - begun_s))
            await asyncio.sleep(PROBE_INTERVAL_S)
    return delays_ms
