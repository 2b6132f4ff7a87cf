"""What a model may write, in the real page: nothing of it runs or is fetched, and it is shown, also while it grows.

One page for all: each test asks the page's own renderer, which a chat's answers use (markdown.js here).
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.conftest import Server, sign_in, until
from tests.e2e.markdown_texts import ATTACKS, ELSEWHERE, FORMULAS, HEAVY, LEAVING_HTML, NETWORK_HTML, RICH, STEADY

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HELPERS = (Path(__file__).parent / "markdown.js").read_text(encoding="utf-8")
MAX_HEAVY_S = 3.0       # a tenth of that on a quiet machine; without a bound, minutes
NUM_TRIES = 5           # other tests run beside this one
ALLOWED = {
    "a", "blockquote", "br", "button", "code", "div", "em", "figcaption", "figure", "h1", "h2", "hr", "img", "input",
    "label", "li", "ol", "p", "pre", "s", "section", "span", "strong", "sup", "svg", "table", "tbody", "td", "th",
    "thead", "tr", "ul", "use",
}


@dataclass
class Sheet:
    """A page to show markdown on, and what happened there."""

    page: Page
    url: str
    fallen: list[None] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def show(self, text: str) -> None:
        await self.page.evaluate("markdown.clear()")
        await self.page.evaluate("text => { markdown.show(text) }", text)

    async def html(self, text: str) -> str:
        return str(await self.page.evaluate("text => markdown.show(text)", text))

    async def set_formulas(self) -> None:
        """Have KaTeX here."""
        await self.show("$x$")
        await expect(self.page.locator(".katex")).to_be_visible()

    async def refuse(self, route: Route) -> None:
        """What would have left this computer."""
        self.left.append(route.request.url)
        await route.abort()


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def open_sheet(shared_browser: Browser, server: Server) -> AsyncIterator[Sheet]:
    page = await sign_in(shared_browser, server, server.add_user())
    sheet = Sheet(page, server.url)
    page.on("request", lambda request: sheet.requests.append(request.url))
    page.on("pageerror", lambda error: sheet.complaints.append(str(error)))
    await page.context.route(lambda url: not url.startswith((server.url, "data:", "blob:")), sheet.refuse)
    await page.expose_function("fall", lambda: sheet.fallen.append(None))
    await page.add_script_tag(content=HELPERS)
    await page.wait_for_function("window.markdown")
    yield sheet
    await page.context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def sheet(open_sheet: Sheet) -> AsyncIterator[Sheet]:
    await open_sheet.page.evaluate("markdown.clear()")
    yield open_sheet
    assert open_sheet.fallen == []
    assert open_sheet.left == []
    assert open_sheet.complaints == []


async def test_formulas_are_set_and_prices_stay_text(sheet: Sheet) -> None:
    page = sheet.page
    await sheet.show("No formula: $5 and $10.")
    assert not [url for url in sheet.requests if "katex" in url.lower()]
    await sheet.set_formulas()
    fetched = [url.rpartition("/")[2] for url in sheet.requests if "katex" in url.lower()]
    assert fetched[:2] == ["katex.js", "katex.css"] and all(name.endswith(".woff2") for name in fetched[2:])
    for text, count in FORMULAS:
        await sheet.show(text)
        assert await page.locator(".prose .katex").count() == count, text
    await sheet.show("`$x$` $\\frac{1}{$ and\n\n$$\n\\nothing{\n$$")
    assert await page.locator(".prose code").text_content() == "$x$"
    broken = page.locator(".prose .nk-tex-source")
    assert await broken.all_text_contents() == ["$\\frac{1}{$", "$$\n\\nothing{\n$$"]
    await sheet.show("$$E = mc^2$$")
    assert await page.locator(".nk-math math").count() == 1         # what a screen reader reads
    assert await page.evaluate("document.fonts.ready.then(() => [...document.fonts].filter((font) => "
                               "font.family.startsWith('KaTeX') && font.status === 'loaded').length > 0)")


async def test_nothing_that_a_model_writes_runs_or_is_fetched(sheet: Sheet) -> None:
    await sheet.set_formulas()
    page = sheet.page
    await page.evaluate("markdown.clear()")
    for text in ATTACKS:
        ends = [*range(1, len(text), 7), len(text)]
        grown = await page.evaluate("([text, ends]) => markdown.grow(text, ends, 'a')", [text, ends])
        assert grown == await page.evaluate("text => markdown.show(text, 'a')", text), text
    await page.wait_for_timeout(300)        # for what would run a moment later
    found = await page.evaluate("markdown.elements()")
    formulas = [each for each in found if each["inFormula"]]
    assert {each["tag"] for each in found if not each["inFormula"]} <= ALLOWED
    assert not {each["tag"] for each in formulas} & {"a", "img", "script", "style", "foreignobject"}
    names = {name for each in found for name in each["attributes"]}
    assert not {name for name in names if name.startswith("on")} | names & {"srcdoc", "action", "name", "formaction"}
    assert not {name for each in formulas for name in each["attributes"]} & {"href", "src", "id"}
    assert not [each for each in formulas if re.search("url|fixed|absolute", each["style"])]
    assert {each["style"] for each in found if not each["inFormula"]} <= {""}
    addresses = await page.evaluate("[...document.querySelectorAll('.prose a')].map((link) => link.href)")
    assert addresses and not [each for each in addresses if not re.match(r"https?://|mailto:", each)]
    pictures = await page.evaluate("[...document.querySelectorAll('.prose img')].map((image) => image.src)")
    assert pictures and all(each.startswith(("data:image/png", sheet.url)) for each in pictures)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_what_is_made_to_be_heavy_is_bounded(sheet: Sheet) -> None:
    await sheet.set_formulas()
    for text in HEAVY:
        took_ms: list[float] = []
        while not took_ms or (min(took_ms) > MAX_HEAVY_S * 1000 and len(took_ms) < NUM_TRIES):
            took_ms.append(await sheet.page.evaluate("""text => {
                const start = performance.now();
                markdown.show(text);
                markdown.grow(text, [text.length / 3, text.length / 2, text.length - 1]);
                return performance.now() - start;
            }""", text))
            await sheet.page.evaluate("markdown.clear()")
        assert min(took_ms) < MAX_HEAVY_S * 1000, text[:40]


async def test_tables_tasks_links_and_pictures(sheet: Sheet) -> None:
    page = sheet.page
    await sheet.show("|" + " A column that is wide |" * 9 + "\n|" + "--:|" * 9 + "\n|" + " 1 |" * 9)
    await page.set_viewport_size({"width": 390, "height": 844})
    table = page.locator(".prose .nk-table")
    assert await table.evaluate("each => each.scrollWidth > each.clientWidth && each.tabIndex === 0")
    assert await page.evaluate("document.querySelector('.prose').scrollWidth <= innerWidth")
    assert await table.locator("td").first.evaluate("each => getComputedStyle(each).textAlign") in ("end", "right")
    await page.set_viewport_size({"width": 1440, "height": 900})

    await sheet.show("- [x] **done** `now`\n- [ ] not yet\n- [] none\n- text [x]")
    boxes = page.get_by_role("checkbox")
    assert await boxes.count() == 2
    await expect(page.get_by_role("checkbox", name="done now")).to_be_checked()
    await expect(page.get_by_role("checkbox", name="not yet")).to_be_disabled()

    await sheet.show(
        "www.example.org, https://example.org/a, a@example.org, main.rs, notes.md, [here](/models)\n\n"
        f"![a cat]({ELSEWHERE}/cat.png) ![dot](data:image/gif;base64,R0lGODlhAQABAAAAACw=) ![icon](/favicon.ico)"
    )
    links = page.locator(".prose a")
    addresses = await links.evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert addresses == [
        "http://www.example.org", "https://example.org/a", "mailto:a@example.org", "/models", f"{ELSEWHERE}/cat.png",
    ]
    assert all("noopener" in rel for rel in await links.evaluate_all("links => links.map((link) => link.rel)"))
    assert await page.locator(".prose a:has(.nk-away)").count() == 3
    await expect(page.get_by_role("link", name="a cat (elsewhere.example)")).to_have_attribute("target", "_blank")
    pictures = await page.locator(".prose img").evaluate_all("images => images.map((image) => image.alt)")
    assert pictures == ["dot", "icon"]


async def test_footnotes_lead_to_their_note_and_back_within_a_message(sheet: Sheet) -> None:
    page = sheet.page
    text = "One[^b], two[^a], one again[^b], none[^c].\n\n[^a]: Note **a**\n[^b]: Note b\n[^d]: Nobody asks\n\nEnd."
    await page.evaluate("text => { markdown.show(text, 'x'); markdown.show(text, 'y') }", text)
    ids = await page.evaluate("[...document.querySelectorAll('.prose [id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids)) == 8
    second = page.locator(".prose").nth(1)
    assert await second.locator("sup").all_text_contents() == ["1", "2", "1"]
    assert "none[^c]" in (await second.text_content() or "")
    assert await second.locator(".nk-notes li").all_inner_texts() == ["Note b ", "Note a ", "Nobody asks"]
    address = page.url
    await second.get_by_role("link", name="Footnote 2").focus()
    await page.keyboard.press("Enter")
    await expect(second.locator(".nk-notes li").nth(1)).to_be_focused()
    await second.get_by_role("link", name="Back to the text").nth(1).click()
    await expect(second.get_by_role("link", name="Footnote 2")).to_be_focused()
    assert page.url == address


async def test_code_is_copied_wrapped_and_downloaded_by_keyboard(sheet: Sheet, tmp_path: Path) -> None:
    page = sheet.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = f"# app/main.py\nprint('{'<b>Paris</b> ' * 20}')\n"
    await sheet.show(f"- text\n\n  ```py\n  x = 1\n  ```\n\n```python\n{code}```\n\n```dockerfile\nFROM x\n```")
    figure = page.locator("figure").nth(1)
    for way in ("navigator.clipboard", "the old one"):
        if way != "navigator.clipboard":        # as on plain http
            await page.evaluate("markdown.takeClipboardAway()")
        await page.evaluate("navigator.clipboard.writeText('').catch(() => {})")
        await figure.get_by_role("button", name="Copy code").focus()
        await page.keyboard.press("Enter")
        await expect(figure.get_by_role("button", name="Copied")).to_be_visible()
        await expect(figure.get_by_role("button", name="Copied")).to_be_focused()
        assert await page.evaluate("navigator.clipboard.readText()") == code
        await expect(figure.get_by_role("button", name="Copy code")).to_be_visible()

    wrap = figure.get_by_role("button", name="Wrap lines")
    scroller = figure.locator("pre")
    assert await scroller.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    await wrap.focus()
    await page.keyboard.press("Space")
    await expect(wrap).to_have_attribute("aria-pressed", "true")
    assert await scroller.evaluate("pre => pre.scrollWidth <= pre.clientWidth")

    for index, (name, content) in enumerate([("snippet.py", "x = 1\n"), ("main.py", code), ("Dockerfile", "FROM x\n")]):
        async with page.expect_download() as coming:
            await page.locator("figure").nth(index).get_by_role("button", name=f"Download {name}").press("Enter")
        file = await coming.value
        assert file.suggested_filename == name
        await file.save_as(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == content


async def test_html_is_shown_only_on_demand_and_in_a_closed_frame(sheet: Sheet) -> None:
    page = sheet.page
    svg = "<svg><circle r='9'/></svg>\n"
    blocks = [("html", NETWORK_HTML), ("html", LEAVING_HTML), ("svg", svg), ("python", "<h1>no</h1>\n")]
    await sheet.show("\n\n".join(f"```{language}\n{code}```" for language, code in blocks))
    assert await page.locator("iframe").count() == 0
    assert await page.get_by_role("button", name="Preview").count() == 3
    button = page.get_by_role("button", name="Preview").first
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(button).to_have_attribute("aria-pressed", "true")
    frame = page.frame_locator("iframe[title='Preview of html']")
    await expect(frame.locator("h1")).to_have_text("Shown")
    await expect(frame.locator("h1")).to_have_css("color", "rgb(1, 2, 3)")
    assert await frame.locator("script, link, meta[http-equiv=refresh], base, iframe").count() == 0
    assert await page.locator("iframe").get_attribute("sandbox") == ""

    await page.get_by_role("button", name="Run scripts").click()
    await expect(frame.locator("h1")).to_have_text("Ran, refused")
    assert await page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert await frame.locator("h1").evaluate("() => origin") == "null"
    await button.click()
    assert await page.locator("iframe").count() == 0
    await page.get_by_role("button", name="Preview").nth(1).click()
    await page.get_by_role("button", name="Run scripts").click()
    await page.wait_for_timeout(300)        # it would have left by then
    await page.get_by_role("button", name="Preview").nth(2).click()
    await expect(page.frame_locator("iframe[title='Preview of svg']").locator("circle")).to_have_count(1)
    assert len(page.context.pages) == 1
    sheet.complaints.clear()        # the frame's own, of what it may not do


async def test_a_text_that_grows_ends_as_if_it_had_come_at_once(sheet: Sheet) -> None:
    await sheet.set_formulas()
    chance = random.Random(4)
    table = "| a | b |\n|---|---|\n" + "".join(f"| {row} | **{row}** |\n" for row in range(40)) + "\nbelow\n"
    code = "```python\n" + "".join(f"def f{row}():\n    return '''{row}\n'''\n\n" for row in range(150)) + "```\nbelow"
    for text in (RICH, RICH.replace("\n", "\r\n"), RICH * 2, table, code):
        whole = await sheet.page.evaluate("text => markdown.show(text, 'same')", text)
        for most in (1, 9, 60, 400):
            ends = [0]
            while ends[-1] < len(text):
                ends.append(ends[-1] + chance.randint(1, most))
            if most > 1 or text is RICH:
                grown = await sheet.page.evaluate("([text, ends]) => markdown.grow(text, ends, 'same')", [text, ends])
                assert grown == whole, f"pieces of at most {most} of {text[:20]!r}"
        await sheet.page.evaluate("markdown.clear()")


async def test_what_is_settled_while_it_grows_is_as_it_will_be(sheet: Sheet) -> None:
    await sheet.set_formulas()
    chance = random.Random(5)
    whole = await sheet.page.evaluate("text => markdown.show(text, 'same')", STEADY)
    for most in (1, 7, 50):
        ends = [0]
        while ends[-1] < len(STEADY):
            ends.append(ends[-1] + chance.randint(1, most))
        assert await sheet.page.evaluate("asked => markdown.beforeTheEnd(...asked, 'same')", [STEADY, ends]) == whole


async def test_while_it_grows_nothing_changes_its_kind(sheet: Sheet) -> None:
    async def seen(text: str, selector: str) -> list[str]:
        found: list[str] = await sheet.page.evaluate("asked => markdown.glimpses(...asked)", [text, selector])
        return found

    assert await seen("Words:\n- one\n- two\n\nMore:\n1. one", "h1, h2") == []
    assert not [text for text in await seen("Words\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend", "p") if "|" in text]
    assert not [text for text in await seen("Words\n```python\ncode()\n```\nmore", "p") if "`" in text]
    assert await seen("```python\ncode()\n```", "figcaption > span:first-child") == ["python"]
    assert not [text for text in await seen("```python\ncode()\n```\nend", "code") if "`" in text]
    assert not [text for text in await seen("Words[^1] more.\n\n[^1]: The note", "p") if "[" in text]
    assert not [text for text in await seen("a **bold word** and `code` end", "p") if "*" in text or "`" in text]
    assert not [text for text in await seen("see [the page](https://example.org/x) end", "p") if "(" in text]
    assert not [text for text in await seen(f"a ![cat]({ELSEWHERE}/cat.png) end", "p") if "!" in text]
    assert not [text for text in await seen("- [x] done\n- [ ] open", "li") if "[" in text]
    await sheet.set_formulas()
    assert not [text for text in await seen("so\n\n$$\nx\n$$\n\nend", "p") if "$" in text]


async def test_what_is_written_is_not_made_again(sheet: Sheet) -> None:
    text = "\n\n".join(f"Paragraph {number} with **bold** words.\n\n- item\n- item" for number in range(60))
    found = await sheet.page.evaluate("text => markdown.touched(text, 23)", text)
    assert found["settled"] > 50
    assert found == {"settled": found["settled"], "changed": 0, "same": True}
    rows = "| a | b |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(200))
    kept = await sheet.page.evaluate("""async (text) => {
        let first, same = true;
        markdown.grow(text, Array.from({ length: text.length / 20 }, (_, index) => index * 20), 'rows', (prose) => {
            first ??= prose.querySelector("tbody tr");
            same &&= !first || first === prose.querySelector("tbody tr");
        });
        return [same, document.querySelectorAll(".prose:last-child tbody tr").length];
    }""", rows)
    assert kept == [True, 200]


async def test_an_answer_in_a_chat_is_shown_by_the_same_renderer(sheet: Sheet) -> None:
    page = sheet.page
    state: dict[str, Any] = {
        "status": "complete", "finish": "stop", "error": None, "thought": "", "edited": False, "figures": {},
    }
    text = "Sum: $a^2$[^1]\n\n```python\nx = 1\n```\n\n[^1]: A note"
    body = f"data: {json.dumps([0, text])}\n\nevent: done\ndata: {json.dumps(state)}\n\n"
    await page.evaluate("delete window.SharedWorker")       # no worker's requests can be answered here
    await page.route("**/ui/stream/*", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    await page.get_by_label("Message", exact=True).fill("What is the capital of France?")
    await page.keyboard.press("Enter")
    answer = page.locator(".nk-answer")
    await expect(answer.locator(".katex")).to_be_visible()
    await expect(answer.get_by_role("button", name="Copy code")).to_be_visible()
    await expect(answer.locator(".nk-notes li")).to_contain_text("A note")
    await until(lambda: page.evaluate("!document.querySelector('.nk-caret')"), "the end of writing")
