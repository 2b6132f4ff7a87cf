"""What showing a growing answer costs the browser: `python -m tests.benchmarks.markdown [--step 40]`.

The committed bundle in headless Chromium, without a server. Each text comes in pieces of `step` characters; of each
quarter of them the mean is printed, in milliseconds of the page's main thread: script, cleaning and DOM, then style and
layout. Thread time, so that a busy machine changes little. A cost that is linear in the text has four equal quarters.
"""

from __future__ import annotations

import argparse
import asyncio
import mimetypes
import random
from pathlib import Path

from playwright.async_api import CDPSession, Page, Route

from tests.e2e.conftest import chromium

ASSETS = Path(__file__).resolve().parent.parent.parent / "assets"
ORIGIN = "http://bench.test/"
SHEETS = ("tokens", "components", "prose", "app")
PAGE = (
    "<!doctype html>" + "".join(f'<link rel=stylesheet href="/styles/{name}.css">' for name in SHEETS)
    + "<body class=body--light><div class=nk-chat style=height:800px><div class=nk-thread></div></div>"
)
START = """async (text) => {
    const { MarkdownView } = await import("/vendor/markdown/index.js");
    const prose = Object.assign(document.createElement("div"), { className: "prose" });
    const pane = document.querySelector(".nk-chat");
    document.querySelector(".nk-thread").replaceChildren(prose);
    const view = new MarkdownView(prose, "bench");
    let at = 0;
    window.grow = (to, step) => {
        let count = 0;
        for (; at < to; count++) {
            view.update(text.slice(0, at += step), true);
            pane.scrollTop = pane.scrollHeight; // as thread.js, which lays the page out
        }
        return count;
    };
    window.finish = () => {
        view.update(text, false);
        return prose.offsetHeight;
    };
}"""
WORDS = ["the quick", "model", "answers", "**boldly**", "with `code`", "[links](https://example.org/)", "12 or $x_1$"]
FUNCTION = """\
def function(first, second="text"):
    # a comment of the line
    if first > 1:
        return [x ** 2 for x in range(first)]

"""
HEAD = "| a | b | c | d | e |\n|---|--:|--:|---|---|\n"
ROW = "| Row {0} | {0}00 | €{0}.50 | some **words** here | `ok` |\n"


def texts() -> dict[str, str]:
    chance = random.Random(1)

    def words(count: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(count))

    def blocks(size: int) -> str:
        makers = [
            lambda: words(60),
            lambda: f"## {words(5)}",
            lambda: "\n".join(f"- {words(10)}" for _ in range(6)),
            lambda: "```python\n" + "def f(a, b='x'):  # note\n    return a + 1\n" * 8 + "```",
            lambda: "| a | b |\n|---|--:|\n" + "\n".join(f"| {row} | {words(3)} |" for row in range(6)),
        ]
        text = ""
        while len(text) < size:
            text += chance.choice(makers)() + "\n\n"
        return text[:size]

    return {
        "25 kB of blocks": blocks(25_000),
        "100 kB of blocks": blocks(100_000),
        "12 kB of code": "```python\n" + FUNCTION * 93,
        "50 kB of code": "```python\n" + FUNCTION * 373,
        "table of 125 rows": HEAD + "".join(map(ROW.format, range(125))),
        "table of 500 rows": HEAD + "".join(map(ROW.format, range(500))),
        "100 kB in one list": "".join(f"{n}. **Step**: {words(25)}\n   - {words(8)}\n" for n in range(370)),
    }


async def serve(route: Route) -> None:
    path = route.request.url.removeprefix(ORIGIN)
    file = ASSETS / path
    if not path:
        await route.fulfill(content_type="text/html", body=PAGE)
    elif file.is_file():
        await route.fulfill(content_type=mimetypes.guess_type(path)[0] or "font/woff2", body=file.read_bytes())
    else:
        await route.fulfill(status=404)


async def spent_ms(session: CDPSession) -> tuple[float, float]:
    """Of the main thread so far: (all but layout, style and layout)."""
    metrics = {each["name"]: each["value"] * 1000 for each in (await session.send("Performance.getMetrics"))["metrics"]}
    layout = metrics["LayoutDuration"] + metrics["RecalcStyleDuration"]
    return metrics["TaskDuration"] - layout, layout


async def measure(page: Page, text: str, step: int) -> list[str]:
    await page.goto(ORIGIN)
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.evaluate(START, "$x$ .")
    await page.evaluate("grow(9, 9)")
    await page.locator(".katex").wait_for()
    await page.evaluate(START, text)
    found = []
    for quarter in (1, 2, 3, 4, None):
        before = await spent_ms(session)
        if quarter is None:
            await page.evaluate("finish()")
            count = 1
        else:
            count = await page.evaluate("([to, step]) => grow(to, step)", [len(text) * quarter // 4, step])
        after = await spent_ms(session)
        found.append(" + ".join(f"{(late - early) / count:.1f}" for early, late in zip(before, after, strict=True)))
    return found


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=40)
    step: int = parser.parse_args().step
    async with chromium() as browser:
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        await page.route(f"{ORIGIN}**", serve)
        print("ms a piece, script + layout | 1st quarter | 2nd | 3rd | 4th | once whole")
        for name, text in texts().items():
            print(f"{name:27} | " + " | ".join(await measure(page, text, step)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
