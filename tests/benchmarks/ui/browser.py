"""What a page costs in a real Chromium: requests and bytes on the wire, and when it can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, BrowserContext, Page

from tests.benchmarks.ui.house import PATIENCE_S, Person
from tests.e2e.conftest import CHROMIUM_FLAGS, chromium_program

VIEWPORT = {"width": 1440, "height": 900}

# A page can be used when its line to the server is open, and what one came for has been painted.
WATCH = """
(() => {
  const wanted = location.pathname.startsWith("/c/") ? ["textarea", ".nk-answer .prose > *"]
    : location.pathname === "/models" ? [".nk-mrow"] : ["textarea"];
  const painted = () => setTimeout(() => {
    window.usable_ms ??= performance.now();
    console.debug("usable", window.usable_ms);      // who asks for it before it is there, has the page work for that
  });
  const look = () => {
    const isThere = window.did_handshake && wanted.every((each) => document.querySelector(each));
    requestAnimationFrame(isThere ? painted : look);
  };
  requestAnimationFrame(look);
})();
"""


@dataclass            # Playwright leaves a mark on whose methods it calls
class Wire:
    """What went over the wire since this was attached, as Chromium counts it: compressed, with heads."""

    num_requests: int = 0
    num_bytes: int = 0
    sizes: Counter[str] = field(default_factory=Counter)       # by path
    _urls: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def of(cls, page: Page) -> Wire:
        wire = cls()
        session = await page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", wire._on_request)
        session.on("Network.requestServedFromCache", lambda event: wire._drop(event["requestId"]))
        session.on("Network.responseReceived", wire._on_response)
        session.on("Network.loadingFinished", lambda event: wire._add(event["requestId"], event["encodedDataLength"]))
        session.on("Network.webSocketCreated", wire._on_socket)
        for name in ("webSocketFrameReceived", "webSocketFrameSent"):
            session.on(f"Network.{name}", lambda event: wire._add("", len(event["response"]["payloadData"].encode())))
        await session.send("Network.enable")
        return wire

    def _on_request(self, event: dict) -> None:  # type: ignore[type-arg]
        url = event["request"]["url"]
        if url.startswith("http"):
            self._urls[event["requestId"]] = url
            self.num_requests += 1

    def _on_socket(self, event: dict) -> None:  # type: ignore[type-arg]
        self.num_requests += 1

    def _on_response(self, event: dict) -> None:  # type: ignore[type-arg]
        response = event["response"]
        if response.get("fromDiskCache") or response.get("fromPrefetchCache"):
            self._drop(event["requestId"])

    def _drop(self, request_id: str) -> None:
        """It came from the browser's cache: nothing went over the wire."""
        if self._urls.pop(request_id, None):
            self.num_requests -= 1

    def _add(self, request_id: str, num_bytes: float) -> None:
        if request_id and request_id not in self._urls:
            return
        self.num_bytes += int(num_bytes)
        self.sizes[self._urls.get(request_id, "websocket").split("?")[0]] += int(num_bytes)


@dataclass(frozen=True, slots=True)
class Visit:
    wire: Wire
    usable_ms: float


async def context_of(browser: Browser, url: str, person: Person) -> BrowserContext:
    """A device of this person's, with an empty cache."""
    return await _lent_to(await browser.new_context(viewport=VIEWPORT), url, person)  # type: ignore[arg-type]


@asynccontextmanager
async def own_browser(browser: Browser, url: str, person: Person) -> AsyncIterator[BrowserContext]:
    """Started for this person, who was never here, with a profile on the disk: other contexts are private windows,
    where Chromium compiles each script anew at each visit.
    """
    with TemporaryDirectory(prefix="inglenook-profile-", ignore_cleanup_errors=True) as profile:
        context = await browser.browser_type.launch_persistent_context(
            profile, executable_path=chromium_program(), args=CHROMIUM_FLAGS, viewport=VIEWPORT,  # type: ignore[arg-type]
        )
        yield await _lent_to(context, url, person)
        await context.close()


async def _lent_to(context: BrowserContext, url: str, person: Person) -> BrowserContext:
    context.set_default_timeout(PATIENCE_S * 1000)
    [(name, value)] = person.cookies.items()
    await context.add_cookies([{"name": name, "value": value, "url": url}])
    await context.add_init_script(WATCH)
    return context


async def visit(context: BrowserContext, url: str) -> Visit:
    page = await context.new_page()
    wire = await Wire.of(page)
    async with page.expect_console_message(lambda message: message.text.startswith("usable")) as said:
        await page.goto(url)
    usable_ms = float((await said.value).text.removeprefix("usable"))
    await page.wait_for_load_state("networkidle")
    await page.close()
    return Visit(wire, usable_ms)


async def usable(page: Page) -> float:
    handle = await page.wait_for_function("window.usable_ms")
    return float(await handle.json_value())
