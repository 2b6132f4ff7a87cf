"""A person moves in with their chats from elsewhere, takes them along as files, and prints one. In a real browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.app.elsewhere import chatgpt_conversation, newest_zip, node, said
from tests.e2e.conftest import Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CODE = "```python\n" + "a_long_line_of_code(" + ", ".join(f"argument_{n}" for n in range(40)) + ")\n```"
ANSWER = f"See [the page](https://example.org/page), or https://example.com/plain.\n\n{CODE}"


def _long_chat(num_messages: int) -> dict[str, object]:
    nodes = [
        node(f"m{at}", f"m{at - 1}" if at else None, [], *(("user", said(f"Question {at}")) if at % 2 == 0 else
                                                           ("assistant", said(f"{ANSWER}\n\nAnswer {at}"))))
        for at in range(num_messages)
    ]
    return {"id": "long", "title": "A long chat: 漢字", "create_time": 1_740_000_100,
            "mapping": {each["id"]: each for each in nodes}, "current_node": f"m{num_messages - 1}"}


async def _import(page: Page, server: Server, data: bytes, name: str) -> None:
    await page.goto(f"{server.url}/settings")
    await page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "", "buffer": data})
    await expect(page.get_by_text("Imported.")).to_be_visible()


async def test_chats_move_in_from_chatgpt_and_out_again(browser: Browser, server: Server) -> None:
    page = await sign_in(browser, server, server.add_user())
    chats = [chatgpt_conversation(f"c{number}", f"Moved chat {number}") for number in range(3)]
    await _import(page, server, newest_zip(*chats, {"title": "Broken one", "mapping": {}}), "export.zip")
    await expect(page.get_by_text("3 chats added.")).to_be_visible()
    await page.get_by_text("1 skipped, and why").click()
    await expect(page.get_by_text("Broken one")).to_be_visible()

    async with page.expect_download() as download:
        await page.get_by_role("link", name="Export all chats as JSON").click()
    data = await asyncio.to_thread(Path(await (await download.value).path()).read_bytes)
    assert sorted(chat["title"] for chat in json.loads(data)) == [f"Moved chat {number}" for number in range(3)]
    await _import(page, server, data, "again.json")
    await expect(page.get_by_text("3 chats were here already.")).to_be_visible()

    await page.goto(server.url)
    await page.get_by_role("link", name="Moved chat 1").click()
    await expect(page.get_by_text("A cat (Cats).")).to_be_visible()
    await expect(page.get_by_text("Looking")).to_have_count(0)
    await page.get_by_role("button", name="Thought first").first.click()
    await expect(page.get_by_text("Four legs.")).to_be_visible()


async def test_a_dropped_file_that_is_none_is_refused_in_its_place(browser: Browser, server: Server) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.goto(f"{server.url}/settings")
    make = "() => { const files = new DataTransfer(); files.items.add(new File([], 'e.json')); return files; }"
    files = await page.evaluate_handle(make)
    await page.locator(".nk-drop").dispatch_event("drop", {"dataTransfer": files})
    await expect(page.get_by_role("alert")).to_have_text("The file is empty.")
    await page.locator("input[type=file]").set_input_files({"name": "a.json", "mimeType": "", "buffer": b"hello"})
    await expect(page.get_by_text("This is no JSON list.")).to_be_visible()


async def test_a_long_chat_prints_whole_and_clean(browser: Browser, server: Server) -> None:
    page = await sign_in(browser, server, server.add_user())
    await _import(page, server, json.dumps([_long_chat(90)]).encode(), "long.json")
    await page.goto(server.url)
    await page.emulate_media(color_scheme="dark")
    await page.evaluate("() => { window.print = () => { window.isPrinted = true; }; }")
    await page.get_by_role("link", name="A long chat").hover()
    await page.get_by_role("button", name="Menu of A long chat: 漢字").click()
    await page.get_by_role("menuitem", name="Print").click()
    await page.wait_for_function("window.isPrinted")
    await page.emulate_media(media="print")
    await page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    await expect(page.get_by_text("Question 0", exact=True)).to_be_visible()
    await expect(page.get_by_text("Answer 89")).to_be_visible()
    for hidden in (".nk-side", ".nk-composer", ".nk-head", ".nk-meta .nk-ib >> nth=0"):
        await expect(page.locator(hidden)).to_be_hidden()
    title = "getComputedStyle(document.querySelector('.nk-thread'), '::before').content"
    assert await page.evaluate(title) == '"A long chat: 漢字"'
    after = "(link) => getComputedStyle(link, '::after').content"
    assert "https://example.org/page" in await page.get_by_text("the page").first.evaluate(after)
    assert await page.get_by_text("https://example.com/plain").first.evaluate(after) == "none"
    code = page.locator("pre").first
    assert await code.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")       # wrapped
    assert await page.evaluate("getComputedStyle(document.body).color") == "rgb(36, 29, 25)"
    assert (await page.pdf(format="A4")).startswith(b"%PDF")
