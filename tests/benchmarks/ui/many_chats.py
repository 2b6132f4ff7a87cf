"""An account of five thousand chats: the sidebar, and search as one types."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
from playwright.async_api import Browser, Page

from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from tests.benchmarks.ui.browser import context_of, usable
from tests.benchmarks.ui.figures import Figure, median, percentile
from tests.benchmarks.ui.house import PATIENCE_S, Person, Served

OPENER, FIELD = "#menu button[data-nk-search]", "#menu input[data-nk-search]"
# From the key to what it shows: the heading tells for which words, and the list under it has been painted.
WATCH = """
(words) => void (window.shown_ms = new Promise((resolve) => {
  let pressed = null;
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, { once: true, capture: true });
  const watcher = new MutationObserver(() => {
    if (pressed === null || !document.querySelector("#menu .nk-found")?.textContent.includes(`“${words}”`)) return;
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - pressed)));
  });
  watcher.observe(document.querySelector("#menu"), { childList: true, subtree: true, characterData: true });
}))
"""
SIDEBAR = """
  new Promise((resolve) => {
    const look = () => document.querySelector("#menu [data-chat]")
      ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))) : requestAnimationFrame(look);
    look();
  })
"""


async def many_chats(served: Served, browser: Browser, repetitions: int) -> list[Figure]:
    person = served.people.veteran
    server_ms = await _first_byte_ms(served, person, repetitions)
    context = await context_of(browser, served.url, person)
    shown_ms = []
    for _ in range(repetitions + 2):
        page = await context.new_page()
        await page.goto(served.url, wait_until="commit")
        shown_ms.append(await page.evaluate(SIDEBAR))
        await page.close()
    page = await context.new_page()
    await page.goto(served.url)
    await usable(page)
    figures: list[Figure] = [
        Figure("5,000 chats: the page's HTML", median(server_ms), "ms", note="from the request to its last byte"),
        Figure("5,000 chats: sidebar shown", median(shown_ms[2:]) / 1000, "s", 0.3, note="warm, since it was called"),
        *await _in_service(served),
        await _by_typing(page, served.people.search_words),
    ]
    await context.close()
    return figures


async def _first_byte_ms(served: Served, person: Person, repetitions: int) -> list[float]:
    times_ms = []
    async with httpx.AsyncClient(base_url=served.url, cookies=person.cookies, timeout=PATIENCE_S) as client:
        for _ in range(repetitions + 1):
            begun_s = time.perf_counter()
            (await client.get("/", headers={"Accept": "text/html"})).raise_for_status()
            times_ms.append(1000 * (time.perf_counter() - begun_s))
    return times_ms[1:]


async def _in_service(served: Served) -> list[Figure]:
    """The same service as the pages call, on the same database, beside the server."""
    services = Services.open(Settings(data_dir=served.data_dir), load_engine)
    try:
        times_ms = []
        for typed in _typed(served.people.search_words):
            begun_s = time.perf_counter()
            await services.searching.find(served.people.veteran.id, typed)
            times_ms.append(1000 * (time.perf_counter() - begun_s))
    finally:
        await services.stop()
        services.close()
    note = f"{len(times_ms)} beginnings of words, median {median(times_ms):.1f}"
    return [Figure("5,000 chats: search in the service, p95", percentile(times_ms, 0.95), "ms", 50, note=note)]


def _typed(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        yield from (word[:length] for length in range(1, len(word) + 1))


async def _by_typing(page: Page, words: tuple[str, ...]) -> Figure:
    """Each letter once the hits of the one before are there: what waits for a next key is in it."""
    await page.locator(OPENER).click()
    field = page.locator(FIELD)
    times_ms = []
    for word in words:
        await field.fill("")
        for length in range(1, len(word) + 1):
            await field.focus()
            await page.evaluate(WATCH, word[:length])
            await page.keyboard.press(word[length - 1])
            times_ms.append(float(await page.evaluate("window.shown_ms")))
    note = f"from the key to the painted hits, median {median(times_ms):.0f}; it waits 70 ms for the next key"
    return Figure("5,000 chats: search as one types, p95", percentile(times_ms, 0.95), "ms", note=note)
