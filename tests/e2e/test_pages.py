"""What only a browser shows: focus and keys, the clipboard, themes, what the console says, and that text stays text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PASSWORD, Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTION = "What is the capital of France?"
CODE = "print('<b>Paris</b>')\n"
HOSTILE_LINE = "<img src=x onerror=fall()> <script>fall()</script> <iframe src='javascript:fall()'></iframe>"
HOSTILE = f"""\
{HOSTILE_LINE} <svg onload=fall()>

[script](javascript:fall()) [data](data:text/html,<script>fall()</script>) [plain](https://example.org/)
![elsewhere](https://example.org/picture.png)

```python
{CODE}```

| <b onclick=fall()>a</b> | b |
|---|---|
| 1 | 2 |

שלום עולם

```"><img src=x onerror=fall()>
a fence that nobody closes
"""


async def test_no_page_complains_in_the_console(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    await _ask(page)
    for path in ("/", "/models", "/settings", page.url.removeprefix(server.url)):
        await page.goto(server.url + path)
        await expect(page.get_by_role("main")).to_have_count(1)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await page.get_by_role("button", name="Admin").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await page.wait_for_url("**/login")
    assert said == []


async def test_by_keyboard_a_chat_is_renamed_deleted_and_brought_back(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await _ask(page)
    address = page.url
    await page.get_by_label("Chat menu").focus()
    await _press(page, "Enter")
    await expect(page.get_by_role("menuitem", name="Pin")).to_be_focused()
    await _press(page, "ArrowDown")
    await expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await _press(page, "Enter")
    await expect(page.get_by_label("New title")).to_be_focused()
    await page.keyboard.type("<b>Capitals</b>")
    await _press(page, "Enter")
    chat = page.get_by_role("link", name="<b>Capitals</b>")
    await expect(chat).to_be_focused()
    await expect(page).to_have_title("<b>Capitals</b> · Inglenook")

    await _press(page, "Tab", "Enter", "ArrowUp")
    await expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    await _press(page, "Enter")
    await page.wait_for_url(f"{server.url}/")
    await expect(chat).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await page.wait_for_url(address)
    await expect(chat).to_be_visible()
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Paris")


async def test_another_answer_stands_beside_the_first(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await _ask(page)
    [(first,)] = server.query("select content from message where conversation_id = ? and role = 'assistant'",
                              page.url.rpartition("/")[2])
    await page.get_by_label("Try again").click()
    await expect(page.get_by_text("2/2")).to_be_visible()
    await page.get_by_label("Previous version").focus()
    await _press(page, "Enter")
    await expect(page.get_by_text("1/2")).to_be_visible()
    await expect(page.locator(".nk-answer .prose")).to_have_text(str(first))
    await expect(page.get_by_label("Next version")).to_be_focused()
    await _press(page, "Enter")
    await expect(page.get_by_text("2/2")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("2/2")).to_be_visible()


async def test_what_a_model_writes_is_text_and_code_can_be_copied(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    fallen: list[None] = []
    await page.expose_function("fall", lambda: fallen.append(None))
    state: dict[str, Any] = {
        "status": "complete", "finish": "stop", "error": None, "thought": "", "edited": False, "figures": {},
    }
    pieces = [[at, HOSTILE[at:at + 40]] for at in range(0, len(HOSTILE), 40)]
    events = [f"data: {json.dumps(piece)}\n\n" for piece in pieces] + [f"event: done\ndata: {json.dumps(state)}\n\n"]
    await page.evaluate("delete window.SharedWorker")       # no worker's requests can be answered here
    await page.route("**/ui/stream/*", lambda route: route.fulfill(
        content_type="text/event-stream", body="".join(events),
    ))
    await page.get_by_label("Message", exact=True).fill(f"{HOSTILE_LINE} {QUESTION}")
    await page.keyboard.press("Enter")

    answer = page.locator(".nk-answer .prose")
    await expect(answer.get_by_text("a fence that nobody closes")).to_be_visible()
    assert await answer.locator("script, iframe, img, b, svg:not(.nk-i)").count() == 0
    assert await answer.locator("a").evaluate_all("links => links.map((link) => link.href)") == [
        "https://example.org/", "https://example.org/picture.png",
    ]
    assert await answer.get_by_text("שלום").evaluate("element => getComputedStyle(element).direction") == "rtl"
    await answer.get_by_label("Copy code").first.click()
    await expect(answer.get_by_label("Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == CODE
    await expect(page.locator(".nk-bubble")).to_have_text(f"{HOSTILE_LINE} {QUESTION}")
    assert fallen == []
    assert not [address for address in asked if not address.startswith(server.url)]


async def test_somebody_elses_chat_is_not_here(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await _ask(page)
    other = await sign_in(browser, server, server.add_user())
    response = await other.goto(page.url)
    assert response is not None and response.status == 404
    await expect(other.get_by_text("This chat is not here")).to_be_visible()
    await expect(other.get_by_text("Paris")).to_have_count(0)
    await expect(other).to_have_title("Not here · Inglenook")


async def test_the_theme_stays_and_system_follows_the_device(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.goto(f"{server.url}/settings")
    await page.get_by_role("main").get_by_role("button", name="Dark").click()
    await expect(page.locator("body.body--dark")).to_be_visible()
    await page.reload()
    await expect(page.locator("body.body--dark")).to_be_visible()
    await page.get_by_role("group", name="Theme").get_by_role("button", name="System").click()
    sign_in_page = await page.context.new_page()
    await page.context.clear_cookies()
    await sign_in_page.goto(f"{server.url}/login")
    for scheme in ("dark", "light"):
        for each in (page, sign_in_page):
            await each.emulate_media(color_scheme=scheme)
        await expect(page.locator(f"body.body--{scheme}")).to_be_visible()
        await expect(sign_in_page.locator(f"html[data-theme={scheme}]")).to_be_visible()


async def test_a_model_is_unloaded_and_loaded(fresh_server: Server, browser: Browser) -> None:
    name = fresh_server.add_user(admin=True)
    page = await sign_in(browser, fresh_server.start(), name)
    await page.goto(f"{fresh_server.url}/models")
    await page.get_by_role("button", name="Unload", exact=True).click()
    await expect(page.get_by_text("On disk", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Load", exact=True).click()
    await expect(page.get_by_text("Ready", exact=True)).to_be_visible()


async def test_a_new_password_signs_out_other_devices(server: Server, browser: Browser) -> None:
    name, new_password = server.add_user(), PASSWORD + "!"
    page = await sign_in(browser, server, name)
    other = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/settings")
    await page.get_by_label("Current password").fill("not this one")
    await page.get_by_label("New password").fill(new_password)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Current password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Changed. Other devices are signed out.")).to_be_visible()
    await expect(other).to_have_url(re.compile("/login"))
    await other.get_by_label("Name").fill(name)
    await other.locator("input[type=password]").fill(new_password)
    await other.keyboard.press("Enter")
    await expect(other.get_by_label("Message", exact=True)).to_be_visible()


async def test_what_is_too_long_is_refused_and_stays(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    box = page.get_by_label("Message", exact=True)
    await box.evaluate("box => { box.value = '\\u0001'.repeat(200000); box.dispatchEvent(new Event('input')); }")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("That is too long to send at once.")).to_be_visible()
    assert len(await box.input_value()) == 200_000


async def test_a_page_comes_back_with_its_draft_when_the_server_does(fresh_server: Server, browser: Browser) -> None:
    name = fresh_server.add_user(admin=True)
    page = await sign_in(browser, fresh_server.start(), name)
    box = page.get_by_label("Message", exact=True)
    await box.fill("Half a ")
    fresh_server.stop()
    await expect(page.get_by_text("Connection lost.")).to_be_visible()
    await box.press_sequentially("thought")
    async with page.expect_navigation():
        fresh_server.start()
    await expect(box).to_have_value("Half a thought")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-bubble")).to_have_text("Half a thought")


async def test_on_a_phone_the_sidebar_gives_the_focus_back(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await page.set_viewport_size({"width": 390, "height": 844})
    opener = page.get_by_label("Open menu")
    await opener.click()
    await expect(page.get_by_label("Close menu")).to_be_focused()
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    assert await page.locator("main.nk-main").evaluate("main => main.inert")
    await page.keyboard.press("Escape")
    await expect(opener).to_be_focused()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def _ask(page: Page) -> None:
    """In a new chat; until the answer is whole."""
    await page.get_by_label("Message", exact=True).fill(QUESTION)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    await expect(page.get_by_label("Try again")).to_be_visible()


async def _press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)
        await page.wait_for_timeout(250)       # menus open and close in a moment, and hold the focus meanwhile
