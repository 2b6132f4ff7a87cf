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
from tests.benchmarks.ui.figures import Figure, Skipped, median, percentile
from tests.benchmarks.ui.house import PATIENCE_S, Person, Served

FIELD = "#menu input[type=search]"
# From the key to what it shows: the list has changed, and has been painted.
TYPED = """
() => new Promise((resolve) => {
  const start = performance.now();
  const watcher = new MutationObserver(() => {
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  });
  watcher.observe(document.querySelector("#menu"), { childList: true, subtree: true, characterData: true });
})
"""
SIDEBAR = """
  new Promise((resolve) => {
    const look = () => document.querySelector("#menu [data-chat]")
      ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))) : requestAnimationFrame(look);
    look();
  })
"""


async def many_chats(served: Served, browser: Browser, repetitions: int) -> list[Figure | Skipped]:
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
    figures: list[Figure | Skipped] = [
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
            await services.conversations.search(served.people.veteran.id, typed)
            times_ms.append(1000 * (time.perf_counter() - begun_s))
    finally:
        await services.stop()
        services.close()
    note = f"{len(times_ms)} beginnings of words, median {median(times_ms):.1f}"
    return [Figure("5,000 chats: search in the service, p95", percentile(times_ms, 0.95), "ms", 50, note=note)]


def _typed(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        yield from (word[:length] for length in range(1, len(word) + 1))


async def _by_typing(page: Page, words: tuple[str, ...]) -> Figure | Skipped:
    name = "5,000 chats: search as one types, p95"
    if not await page.locator(FIELD).count():
        return Skipped(name, "the sidebar has no search field")
    times_ms = []
    for word in words:
        await page.locator(FIELD).fill("")
        for letter in word:
            await page.locator(FIELD).focus()
            changed = page.evaluate(TYPED)
            await page.keyboard.press(letter)
            times_ms.append(float(await changed))
    note = f"from the key to the painted list, median {median(times_ms):.0f}"
    return Figure(name, percentile(times_ms, 0.95), "ms", 50, note=note)


