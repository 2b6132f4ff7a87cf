"""What a download takes of the processor, and of the tokens that are written meanwhile.

The hub stands in a process of its own and sends as fast as it can; the model that writes meanwhile keeps a set pace, so
that what is late is late by the event loop, and by the processor that both share.
"""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import httpx

from tests.benchmarks.models.hub import ask_for_file, large_hub, until_it_is_there
from tests.benchmarks.ui.figures import Figure, percentile
from tests.benchmarks.ui.house import PATIENCE_S, Served, api_key, furnished, served
from tests.benchmarks.ui.server import MODEL_ID

TOKENS_PER_S = 40
WARM_UP_S, ALONE_S = 2.0, 10.0
MAX_CORES, MAX_DELAY_MS = 1.0, 50.0


async def bringing(num_gb: float) -> list[Figure]:
    async with large_hub(num_gb) as hub, furnished() as (data_dir, people):
        to_the_hub = {"HF_ENDPOINT": hub.url}
        async with served(data_dir, people, tokens_per_s=TOKENS_PER_S, extra=to_the_hub) as server:
            arrivals = _Arrivals(server, await api_key(server))
            listening = asyncio.create_task(arrivals.listen())
            await asyncio.sleep(WARM_UP_S)
            begun_s, spent_s = time.perf_counter(), server.cpu_s
            await asyncio.sleep(ALONE_S)
            alone = (server.cpu_s - spent_s) / (time.perf_counter() - begun_s)
            alone_ms = arrivals.delays_ms(since_s=begun_s)
            begun_s, spent_s = time.perf_counter(), server.cpu_s
            await until_it_is_there(server, await ask_for_file(server))
            took_s = time.perf_counter() - begun_s
            cores = (server.cpu_s - spent_s) / took_s - alone
            beside_ms = arrivals.delays_ms(since_s=begun_s)
            listening.cancel()
    return [
        Figure("download", num_gb / took_s, "GB/s", note=f"{num_gb:g} GB, hashed, at its place"),
        Figure("download: of the processor", cores, "cores", MAX_CORES, note=f"{cores * took_s / num_gb:.2f} s a GB"),
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
