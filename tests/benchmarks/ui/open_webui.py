"""Open WebUI beside our page, in the same Chromium, over the same model that writes at a set rate:

    python -m venv /tmp/open-webui && /tmp/open-webui/bin/pip install open-webui==0.12.4
    python -m tests.benchmarks.ui.open_webui /tmp/open-webui/bin/open-webui [--repetitions 3]

Both are asked in turn, A B A B. Open WebUI runs without accounts and offline, and asks our API for its answers: what it
takes of the processor is its own process alone, and what we take is everything, the paced engine too. An answer's bytes
are counted by a relay before the server, of a chat's second answer: with the first come scripts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from playwright.async_api import Browser, BrowserContext, Page

from tests.benchmarks.ui.browser import VIEWPORT, Wire, context_of
from tests.benchmarks.ui.figures import Figure, median, table
from tests.benchmarks.ui.house import PATIENCE_S, Served, api_key, furnished, served
from tests.benchmarks.ui.server import MODEL_ID
from tests.e2e.conftest import chromium, free_port

TOKENS_PER_S = 40
NUM_TOKENS = 800
SETTLED_S = 2.0             # after a page can be used, until it has asked for all that it wants
NUM_VISITS = 3              # after the first; V8 keeps what it compiled from a script's second use on
ASKED = f"Write {NUM_TOKENS} tokens."
PAINTED = """(wanted) => new Promise((done) => {
  const look = () => requestAnimationFrame(
    document.querySelector(wanted) ? () => setTimeout(() => done(performance.now())) : look);
  look();
})"""


@dataclass(frozen=True, slots=True)
class Product:
    name: str
    url: str
    process: psutil.Process
    context: BrowserContext
    relay: Relay
    composer: str               # a selector: the page can be used when it is painted
    answer: str                 # likewise, of the text of an answer

    @property
    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


class Relay:
    """Stands before a server and counts what it sends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.num_bytes = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass_on(reader, to_server))
            group.create_task(self._pass_on(from_server, writer, counts=True))

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool = False
    ) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(1 << 16):
                self.num_bytes += len(piece) * counts
                writer.write(piece)
                await writer.drain()
        writer.close()


@dataclass(slots=True)
class Seen:
    cold: Wire | None = None
    cold_s: list[float] = field(default_factory=list)
    warm: Wire | None = None
    warm_s: list[float] = field(default_factory=list)
    bytes_a_token: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)


async def compare(program: Path, repetitions: int) -> None:
    async with (
        furnished() as (data_dir, people), chromium() as browser,
        served(data_dir, people, tokens_per_s=TOKENS_PER_S) as ours,
        _open_webui(program, ours) as (their_port, process), _relayed(ours.port) as (our_url, our_relay),
        _relayed(their_port) as (their_url, their_relay),
    ):
        seen: dict[str, Seen] = {}
        for _ in range(repetitions):
            contexts = await context_of(browser, our_url, people.newcomer), await _new_context(browser)
            for product in (
                Product(
                    "Inglenook", our_url, psutil.Process(ours.process.pid), contexts[0], our_relay,
                    ".nk-composer textarea", ".nk-answer .prose",
                ),
                Product(
                    "Open WebUI", their_url, process, contexts[1], their_relay, "#chat-input",
                    "[id^=response-content-container]",
                ),
            ):
                await _look_at(product, seen.setdefault(product.name, Seen()))
                await product.context.close()
        print(f"Chromium {browser.version}, {repetitions} repetitions in turn, {NUM_TOKENS} tokens at {TOKENS_PER_S}/s")
        print(table([figure for name, each in seen.items() for figure in _figures(name, each)]))


async def _look_at(product: Product, seen: Seen) -> None:
    page, seen.cold = await _visit(product, seen.cold_s)
    await page.close()
    warm_s: list[float] = []
    for _ in range(NUM_VISITS):
        page, seen.warm = await _visit(product, warm_s)
        if len(warm_s) < NUM_VISITS:
            await page.close()
    seen.warm_s.append(warm_s[-1])
    await page.keyboard.press("Escape")         # what is new in this version lies over the page
    await _ask(product, page, num_before=0)
    begun_s, spent_s, num_bytes = time.perf_counter(), product.cpu_s, product.relay.num_bytes
    await _ask(product, page, num_before=1)
    seen.cores.append((product.cpu_s - spent_s) / (time.perf_counter() - begun_s))
    seen.bytes_a_token.append((product.relay.num_bytes - num_bytes) / NUM_TOKENS)
    await page.close()


async def _ask(product: Product, page: Page, *, num_before: int) -> None:
    """Returns when the answer has been written, and told."""
    await page.locator(product.composer).focus()
    await page.keyboard.insert_text(ASKED)
    await page.keyboard.press("Enter")
    await page.locator(product.answer).nth(num_before).wait_for()
    await asyncio.sleep(NUM_TOKENS / TOKENS_PER_S + SETTLED_S)


async def _visit(product: Product, times_s: list[float]) -> tuple[Page, Wire]:
    page = await product.context.new_page()
    wire = await Wire.of(page)
    await page.goto(product.url, wait_until="commit")
    times_s.append(float(await page.evaluate(PAINTED, product.composer)) / 1000)
    await asyncio.sleep(SETTLED_S)
    return page, wire


def _figures(name: str, seen: Seen) -> list[Figure]:
    assert seen.cold is not None and seen.warm is not None
    return [
        Figure(f"{name}, first page, cold: on the wire", seen.cold.num_bytes / 1000, "kB"),
        Figure(f"{name}, first page, cold: requests", seen.cold.num_requests),
        Figure(f"{name}, first page, cold: interactive", median(seen.cold_s), "s", note=_spread(seen.cold_s)),
        Figure(f"{name}, first page, warm: interactive", median(seen.warm_s), "s", note=_spread(seen.warm_s)),
        Figure(f"{name}, a token of an answer", median(seen.bytes_a_token), "B", note=_spread(seen.bytes_a_token)),
        Figure(f"{name}, one answer: of a core", 100 * median(seen.cores), "%", note=_spread(seen.cores)),
    ]


def _spread(values: Sequence[float]) -> str:
    return f"median of {len(values)}, {min(values):.3g} to {max(values):.3g}"


async def _new_context(browser: Browser) -> BrowserContext:
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_S * 1000)
    return context


@asynccontextmanager
async def _relayed(port: int) -> AsyncIterator[tuple[str, Relay]]:
    relay = Relay(port)
    async with await asyncio.start_server(relay.meet, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", relay


@asynccontextmanager
async def _open_webui(program: Path, upstream: Served) -> AsyncIterator[tuple[int, psutil.Process]]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="open-webui-") as folder, tempfile.TemporaryFile() as log:
        environment = os.environ | {
            "DATA_DIR": folder, "WEBUI_SECRET_KEY": "of-the-benchmark", "WEBUI_AUTH": "False", "OFFLINE_MODE": "true",
            "HF_HUB_OFFLINE": "1", "RAG_EMBEDDING_ENGINE": "openai", "ENABLE_OLLAMA_API": "false",
            "ENABLE_TITLE_GENERATION": "false", "ENABLE_TAGS_GENERATION": "false",
            "ENABLE_FOLLOW_UP_GENERATION": "false", "ENABLE_VERSION_UPDATE_CHECK": "false",
            "ANONYMIZED_TELEMETRY": "false", "DO_NOT_TRACK": "true", "SCARF_NO_ANALYTICS": "true",
            "DEFAULT_MODELS": MODEL_ID, "DEFAULT_MODEL_PARAMS": json.dumps({"function_calling": "legacy"}),
            "OPENAI_API_BASE_URL": f"{upstream.url}/v1", "OPENAI_API_KEY": await api_key(upstream),
        }
        process = await asyncio.create_subprocess_exec(
            program, "serve", "--host", "127.0.0.1", "--port", str(port), env=environment, stdout=log, stderr=log
        )
        try:
            await _answers(url, process)
            yield port, psutil.Process(process.pid)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _answers(url: str, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(PATIENCE_S), httpx.AsyncClient(base_url=url) as client:
        while process.returncode is None:
            try:
                (await client.get("/health")).raise_for_status()
                return
            except httpx.HTTPError:
                await asyncio.sleep(0.2)            # a port that is not open yet has no event to wait for
    raise SystemExit("Open WebUI did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"\n\n.*", "", __doc__ or "", flags=re.DOTALL))
    parser.add_argument("program", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    asyncio.run(compare(arguments.program, arguments.repetitions))


if __name__ == "__main__":
    main()
