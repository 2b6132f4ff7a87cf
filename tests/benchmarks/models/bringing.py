"""What a download takes of the processor, and of the tokens that are written meanwhile.

The hub stands in a process of its own and sends as fast as it can; the model that writes meanwhile keeps a set pace, so
that what is late is late by the event loop, and by the processor that both share.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import httpx

from tests.app.hub import Hub
from tests.app.shop import tiny_model
from tests.benchmarks.ui.figures import Figure, percentile
from tests.benchmarks.ui.house import PATIENCE_S, Served, api_key, furnished, served
from tests.benchmarks.ui.server import MODEL_ID

NUM_GB = 2
TOKENS_PER_S = 40
WARM_UP_S, ALONE_S = 2.0, 10.0
MAX_CORES, MAX_DELAY_MS = 1.0, 50.0
REPO, FILE = "birds/Parrot-GGUF", "parrot-Q8_0.gguf"
LOOK_INTERVAL_S = 0.2


async def bringing(_repetitions: int) -> list[Figure]:
    async with _hub() as hub_url, furnished() as (data_dir, people):
        to_the_hub = {"HF_ENDPOINT": hub_url}
        async with served(data_dir, people, tokens_per_s=TOKENS_PER_S, extra=to_the_hub) as server:
            arrivals = _Arrivals(server, await api_key(server))
            listening = asyncio.create_task(arrivals.listen())
            await asyncio.sleep(WARM_UP_S)
            begun_s, spent_s = time.perf_counter(), server.cpu_s
            await asyncio.sleep(ALONE_S)
            alone = (server.cpu_s - spent_s) / (time.perf_counter() - begun_s)
            alone_ms = arrivals.delays_ms(since_s=begun_s)
            begun_s, spent_s = time.perf_counter(), server.cpu_s
            await _download(server)
            took_s = time.perf_counter() - begun_s
            cores = (server.cpu_s - spent_s) / took_s - alone
            beside_ms = arrivals.delays_ms(since_s=begun_s)
            listening.cancel()
    return [
        Figure("download", NUM_GB / took_s, "GB/s", note=f"{NUM_GB} GB, hashed, at its place"),
        Figure("download: of the processor", cores, "cores", MAX_CORES, note=f"{cores * took_s / NUM_GB:.2f} s a GB"),
        Figure("longest delay of a token, alone", max(alone_ms), "ms", note=f"p99 {percentile(alone_ms, 0.99):.0f}"),
        Figure(
            "longest delay of a token, beside the download", max(beside_ms), "ms", MAX_DELAY_MS,
            note=f"p99 {percentile(beside_ms, 0.99):.0f} of {len(beside_ms)}",
        ),
    ]


class _Arrivals:
    """Of the tokens of one long answer, over the API."""

    def __init__(self, server: Served, key: str) -> None:
        self._server, self._key = server, key
        self._at_s: list[float] = []

    async def listen(self) -> None:
        body = {
            "model": MODEL_ID, "stream": True, "max_tokens": 8000,
            "messages": [{"role": "user", "content": "Write 8000 tokens."}],
        }
        headers = {"Authorization": f"Bearer {self._key}"}
        async with (
            httpx.AsyncClient(base_url=self._server.url, headers=headers, timeout=PATIENCE_S) as client,
            client.stream("POST", "/v1/chat/completions", json=body) as response,
        ):
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    self._at_s.append(time.perf_counter())

    def delays_ms(self, since_s: float) -> list[float]:
        """By how much longer than the pace says each token took after the one before it."""
        at_s = [each for each in self._at_s if each >= since_s]
        return [
            max(0.0, 1000 * (after - before - 1 / TOKENS_PER_S)) for before, after in pairwise(at_s)
        ]


async def _download(server: Served) -> None:
    cookies = server.people.newcomer.cookies
    async with httpx.AsyncClient(base_url=server.url, cookies=cookies, timeout=PATIENCE_S) as client:
        asked = await client.post("/hub/downloads", json={"repo": REPO, "wanted": FILE, "anyway": True})
        asked.raise_for_status()
        address = f"/hub/downloads/{asked.json()['id']}"
        while (state := (await client.get(address)).json())["state"] != "on_disk":
            if state["state"] in ("failed", "paused"):
                raise SystemExit(f"the download ended: {state}")
            await asyncio.sleep(LOOK_INTERVAL_S)


@asynccontextmanager
async def _hub() -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


def main() -> None:
    """The hub, until stdin ends."""
    hub = Hub()
    hub.add(REPO, {FILE: tiny_model() + bytes(NUM_GB * 10**9)}, tags=["gguf"])
    print(hub.url, flush=True)
    sys.stdin.read()
    hub.close()


if __name__ == "__main__":
    main()
