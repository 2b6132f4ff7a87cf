"""Two thousand page loads, two hundred open-close cycles of a browser: memory stays flat, no client stays behind.

A load is what a browser does to the server, without the browser: the page, then its line by websocket, then away. Pages
that are gone are kept for `RECONNECT_TIMEOUT_S`, so loads come at an even pace, and what is held settles.
"""

from __future__ import annotations

import ast
import asyncio
import html
import re
import time
import uuid
from urllib.parse import urlencode

import httpx
from playwright.async_api import Browser
from websockets.asyncio.client import connect

from tests.benchmarks.ui.browser import context_of, usable
from tests.benchmarks.ui.figures import Figure, median
from tests.benchmarks.ui.house import PATIENCE_S, Person, Served
from ui.install import RECONNECT_TIMEOUT_S

NUM_LOADS = 2000
LOADS_PER_S = 10.0                 # at most
MAX_AT_ONCE = 4
NUM_CYCLES = 200
MAX_GROWTH = 1.05
MAX_CLIENT_AGE_S = 75.0             # NiceGUI looks every ten seconds for clients that never came


async def memory(served: Served, browser: Browser, repetitions: int) -> list[Figure]:
    loads = await _loads(served)
    cycles = await _cycles(served, browser)
    left = await _clients_left(served)
    return [
        _flat(f"{NUM_LOADS} page loads: memory, end against middle", loads),
        _flat(f"{NUM_CYCLES} open-close cycles: memory, end against middle", cycles),
        Figure("NiceGUI clients left behind", left, "", 0),
    ]


def _flat(name: str, sizes_mb: list[float]) -> Figure:
    """The medians of what was looked at in the middle fifth and in the last."""
    fifth = max(1, len(sizes_mb) // 5)
    middle, end = median(sizes_mb[2 * fifth : 3 * fifth]), median(sizes_mb[-fifth:])
    note = f"MB: {sizes_mb[0]:.0f} at first, {middle:.1f} in the middle, {end:.1f} at the end"
    return Figure(name, end / middle, "", MAX_GROWTH, note=note)


async def _loads(served: Served) -> list[float]:
    sizes_mb: list[float] = []
    started_s = time.monotonic()
    few = asyncio.Semaphore(MAX_AT_ONCE)
    person = served.people.newcomer
    async with (
        httpx.AsyncClient(base_url=served.url, cookies=person.cookies, timeout=PATIENCE_S) as client,
        asyncio.TaskGroup() as group,
    ):
        for number in range(NUM_LOADS):
            await asyncio.sleep(max(0.0, started_s + number / LOADS_PER_S - time.monotonic()))
            await few.acquire()
            group.create_task(_load(client, served, person)).add_done_callback(lambda task: few.release())
            sizes_mb.append(served.rss_bytes / 2**20)
    return sizes_mb


async def _load(client: httpx.AsyncClient, served: Served, person: Person) -> None:
    page = (await client.get("/", headers={"Accept": "text/html"})).raise_for_status().text
    found = re.search(r"query: (\{.*?\}),\n", page)
    assert found, "the page does not say how to connect"
    query = ast.literal_eval(html.unescape(found[1])) | {
        "EIO": 4, "transport": "websocket", "tab_id": uuid.uuid4(), "document_id": uuid.uuid4(), "old_tab_id": "",
        "implicit_handshake": "true",
    }
    [(name, value)] = person.cookies.items()
    address = f"ws://127.0.0.1:{served.port}/_nicegui_ws/socket.io/?{urlencode(query)}"
    origin = f"http://127.0.0.1:{served.port}"
    async with connect(address, origin=origin, additional_headers={"Cookie": f"{name}={value}"}) as line:  # type: ignore[arg-type]
        opening = await line.recv()
        await line.send("40")
        answer = await line.recv()
        assert opening[:1] == "0" and str(answer).startswith("40"), (opening, answer)
        await line.send("41")


async def _cycles(served: Served, browser: Browser) -> list[float]:
    sizes_mb = []
    context = await context_of(browser, served.url, served.people.newcomer)
    for _ in range(NUM_CYCLES):
        page = await context.new_page()
        await page.goto(f"{served.url}/c/{served.people.short_chat_id}")
        await usable(page)
        await page.close()
        sizes_mb.append(served.rss_bytes / 2**20)
    await context.close()
    return sizes_mb


async def _clients_left(served: Served) -> int:
    """Once all that are kept for a while have been let go."""
    end_s = time.monotonic() + RECONNECT_TIMEOUT_S + MAX_CLIENT_AGE_S
    while (left := int(await served.tell("clients"))) and time.monotonic() < end_s:      # noqa: ASYNC110 - another process
        await asyncio.sleep(1)
    return left
