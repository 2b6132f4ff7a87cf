"""A chat of a thousand messages with code and tables: opening it, writing into it, and typing meanwhile."""

from __future__ import annotations

from dataclasses import replace

from playwright.async_api import Browser, Page

from tests.benchmarks.ui.browser import context_of, usable
from tests.benchmarks.ui.figures import Figure, median, percentile
from tests.benchmarks.ui.house import Served

STREAMED_MS = 5000
NUM_KEYS = 40
PASTED = "a pasted line of forty characters or so\n" * 7680         # 300 kB: CASE 32 and its kin
KEY_PAUSE_MS = 60

OPENED = """
  (chat) => new Promise((resolve) => {
    const start = performance.now();
    document.querySelector(`[data-chat="${chat}"]`).click();
    const look = () => document.querySelector(".nk-answer:last-child .prose > *")
      ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start))) : requestAnimationFrame(look);
    look();
  })
"""
FRAMES = """
  (duration) => new Promise((resolve) => {
    const times = [];
    const look = (now) => {
      times.push(now);
      if (now - times[0] < duration) return requestAnimationFrame(look);
      const gaps = times.slice(1).map((time, index) => time - times[index]);
      resolve({ rate: 1000 * gaps.length / (times.at(-1) - times[0]), longest: Math.max(...gaps) });
    };
    requestAnimationFrame(look);
  })
"""
# From the key until the frame that shows its letter has been made.
KEYS = """
  window.nk_keys = [];
  document.addEventListener("keydown", (event) => {
    requestAnimationFrame(() => setTimeout(() => window.nk_keys.push(performance.now() - event.timeStamp)));
  }, { capture: true });
"""
BARE = """
  (text) => {
    const field = Object.assign(document.createElement("textarea"), { id: "bare", value: text });
    field.style.cssText = "position: fixed; inset: 0 0 auto auto; width: 600px; height: 300px; z-index: 99";
    document.body.append(field);
  }
"""
PASTE = """
  (text) => {
    const field = document.querySelector("textarea");
    field.focus();
    field.setRangeText(text, 0, field.value.length, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
"""


async def long_chat(served: Served, browser: Browser, repetitions: int) -> list[Figure]:
    chat_id = served.people.long_chat_id
    context = await context_of(browser, served.url, served.people.veteran)
    page = await context.new_page()
    loaded_ms = []
    for _ in range(repetitions + 1):
        await page.goto(f"{served.url}/c/{chat_id}")
        loaded_ms.append(await usable(page))
    clicked_ms = []
    for _ in range(repetitions):
        await page.goto(served.url)
        await usable(page)
        clicked_ms.append(await page.evaluate(OPENED, chat_id))
    figures = [
        Figure("1,000 messages: by its address", median(loaded_ms[1:]) / 1000, "s", 1.0, note=f"of {repetitions}"),
        Figure("1,000 messages: by a click", median(clicked_ms) / 1000, "s", 1.0, note=f"of {repetitions}"),
    ]
    await page.goto(f"{served.url}/c/{chat_id}")
    await usable(page)
    await page.wait_for_timeout(2000)           # all answers drawn
    resting = await page.evaluate(FRAMES, 1000)
    await page.evaluate(KEYS)
    figures.append(await _typing(page, "1,000 messages: typing, p95"))
    await page.evaluate(BARE, PASTED)
    bare = await _typing(page, "a bare field of 300 kB", field="#bare")
    await page.locator("#bare").evaluate("(field) => field.remove()")
    await page.evaluate(PASTE, PASTED)
    huge = await _typing(page, "1,000 messages: typing into 300 kB, p95", goal_ms=50)
    figures.append(replace(huge, note=f"{huge.note}; the browser's bare field: {bare.value:.0f}"))
    await page.locator("textarea").fill("Write 2000 tokens.")
    await page.keyboard.press("Enter")
    await page.locator(".nk-answer[data-status=streaming] .prose > *").first.wait_for()
    streaming = await page.evaluate(FRAMES, STREAMED_MS)
    note = f"{resting['rate']:.0f} at rest; longest {streaming['longest']:.0f} ms"
    name = "1,000 messages: frames while streaming"
    figures.append(Figure(name, streaming["rate"], "/s", 55, more_is_better=True, note=note))
    figures.append(await _typing(page, "1,000 messages: typing while streaming, p95"))
    await context.close()
    return figures


async def _typing(page: Page, name: str, *, field: str = "textarea", goal_ms: float = 30) -> Figure:
    await page.locator(field).focus()
    await page.evaluate("window.nk_keys.length = 0")
    for _ in range(NUM_KEYS):
        await page.keyboard.press("a")
        await page.wait_for_timeout(KEY_PAUSE_MS)
    times_ms: list[float] = await page.evaluate("window.nk_keys")
    note = f"from key to frame, of {len(times_ms)}, median {median(times_ms):.0f}"
    return Figure(name, percentile(times_ms, 0.95), "ms", goal_ms, note=note)
