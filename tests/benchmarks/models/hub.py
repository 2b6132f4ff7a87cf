"""The tests' hub in a process of its own, with one large file; and the way to bring that file by a server's API.

As a program it takes the file's size in GB, prints its address, and then obeys a line at a time: see `HubProcess`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.app.hub import Hub
from tests.app.repeating import Repeating
from tests.app.shop import tiny_model
from tests.benchmarks.ui.house import PATIENCE_S, Served

REPO, FILE = "birds/Parrot-GGUF", "parrot-Q8_0.gguf"
LOOK_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class HubProcess:
    url: str
    _process: asyncio.subprocess.Process

    async def sent(self) -> dict[str, float]:
        """`num_bytes` of the file until now; `first_at_s`, by `time.time`: the first since the last question."""
        sent: dict[str, float] = await self._told("sent")
        return sent

    async def hold(self, share: float) -> None:
        """Returns when so much of the file was sent; no more is."""
        await self._told(f"hold {share}")

    async def release(self) -> None:
        """Lines that are held are cut."""
        await self._told("release")

    async def _told(self, command: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{command}\n".encode())
        return json.loads(await self._process.stdout.readline())


@asynccontextmanager
async def large_hub(num_gb: float) -> AsyncIterator[HubProcess]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, str(num_gb), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield HubProcess((await process.stdout.readline()).decode().strip(), process)
    finally:
        process.stdin.close()
        await process.wait()


async def ask_for_file(server: Served) -> str:
    """The id of its download."""
    async with _api(server) as client:
        asked = await client.post("/hub/downloads", json={"repo": REPO, "wanted": FILE, "anyway": True})
        asked.raise_for_status()
        return str(asked.json()["id"])


async def until_it_is_there(server: Served, download_id: str) -> None:
    async with _api(server) as client:
        while (state := (await client.get(f"/hub/downloads/{download_id}")).json())["state"] != "on_disk":
            if state["state"] in ("failed", "paused"):
                raise SystemExit(f"the download ended: {state}")
            await asyncio.sleep(LOOK_INTERVAL_S)


def _api(server: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, cookies=server.people.newcomer.cookies, timeout=PATIENCE_S)


def main() -> None:
    """Until stdin ends."""
    hub = Hub()
    content = Repeating(tiny_model(), int(float(sys.argv[1]) * 1e9))
    hub.add(REPO, {FILE: content}, tags=["gguf"])
    print(hub.url, flush=True)
    first_at_s = 0.0

    def note(_name: str, _num_bytes: int) -> None:
        nonlocal first_at_s
        first_at_s = first_at_s or time.time()

    hub.on_sent = note
    for line in sys.stdin:
        match line.split():
            case ["sent"]:
                print(json.dumps({"num_bytes": hub.sent_bytes[FILE], "first_at_s": first_at_s}), flush=True)
                first_at_s = 0.0
            case ["hold", share]:
                hub.hold(FILE, int(len(content) * float(share)), then=_once(lambda: print("null", flush=True)))
            case ["release"]:
                hub.release()
                print("null", flush=True)
    hub.close()


def _once(work: Any) -> Any:
    """Several lines are held, one after the other."""
    left = [work]
    return lambda: left.pop()() if left else None


if __name__ == "__main__":
    main()
