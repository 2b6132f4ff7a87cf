"""One answer, many watchers: whatever a browser does, the answer goes on, complete, and equal to the store."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.conftest import Server, sign_in, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LONG = "Tell me about the history of Rome."     # the starter model answers in some 300 tokens


async def test_reload_other_chat_and_second_device_in_mid_answer_see_one_whole_answer(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    answer_id = await ask(page, server, name, LONG)
    await until(lambda: _text_length(page), "the first words")

    second = await sign_in(browser, server, name)
    await second.goto(page.url)
    await page.reload()
    await until(lambda: _text_length(page), "the text again after a reload")
    await page.get_by_role("link", name="New chat").first.click()
    await page.wait_for_url(f"{server.url}/")
    await page.go_back()
    await until(lambda: _text_length(page), "the text again after another chat")

    await is_over(server, answer_id)
    for watcher in (page, second):
        await expect(watcher.get_by_label("Stop", exact=True)).to_have_count(0)
    assert server.query("select count(*) from message m join conversation c on c.id = m.conversation_id "
                        "join user u on u.id = c.user_id where u.name = ? and m.role = 'assistant'", name) == [(1,)]
    [(content,)] = server.query("select content from message where id = ?", answer_id)
    assert await _copied_text(page) == await _copied_text(second) == content


async def test_a_lost_network_comes_back_to_the_same_answer(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await page.evaluate("delete window.SharedWorker")       # its line would not be cut below
    answer_id = await ask(page, server, name, LONG)
    await until(lambda: _text_length(page), "the first words")
    await page.context.set_offline(True)
    await is_over(server, answer_id)
    await page.context.set_offline(False)
    [(content,)] = server.query("select content from message where id = ?", answer_id)
    await expect(page.get_by_label("Stop", exact=True)).to_have_count(0)
    assert await _copied_text(page) == content


async def test_a_line_that_was_refused_comes_back_as_soon_as_somebody_looks(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await page.evaluate("delete window.SharedWorker")       # its line would not be refused below
    tries: list[str] = []

    async def refuse(route: Route) -> None:
        tries.append(route.request.url)
        await route.fulfill(status=503)

    await page.route("**/ui/stream/**", refuse)
    answer_id = await ask(page, server, name, LONG)
    await is_over(server, answer_id)
    await until(lambda: len(tries) > 3, "it is tried more and more rarely")
    await page.unroute("**/ui/stream/**")
    await page.evaluate("dispatchEvent(new Event('focus'))")
    await expect(page.get_by_label("Try again")).to_be_visible(timeout=4000)      # the next try would be after 10 s


async def test_stop_works_from_another_tab_and_keeps_what_was_written(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    answer_id = await ask(page, server, name, LONG)
    await until(lambda: _text_length(page), "the first words")
    other = await page.context.new_page()
    await other.goto(page.url)
    await other.get_by_label("Stop", exact=True).click()
    await expect(page.get_by_label("Send", exact=True)).to_be_visible()
    [(status, content)] = server.query("select status, content from message where id = ?", answer_id)
    assert status == "stopped"
    assert content
    assert await _copied_text(page) == content


async def test_two_devices_that_write_in_one_chat_at_once_lose_nothing(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await is_over(server, await ask(page, server, name, "What is the capital of France?"))
    second = await sign_in(browser, server, name)
    await second.goto(page.url)
    devices = {"And of Spain?": page, "And of Italy?": second}
    for text, device in devices.items():
        await device.get_by_label("Message", exact=True).fill(text)
    await asyncio.gather(*(device.keyboard.press("Enter") for device in devices.values()))
    for device in devices.values():
        await expect(device.locator(".nk-answer")).to_have_count(2)
        await expect(device.get_by_label("Stop", exact=True)).to_have_count(0)
    said = await page.locator(".nk-bubble").all_inner_texts()
    kept = [await device.get_by_label("Message", exact=True).input_value() for device in devices.values()]
    assert sorted([*said[1:], *filter(None, kept)]) == sorted(devices)      # said, or still in its writer's field
    assert await second.locator(".nk-bubble").all_inner_texts() == said


async def test_a_chat_started_in_one_browser_stands_in_the_sidebar_of_another(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    first = await sign_in(browser, server, name)
    second = await sign_in(browser, server, name)
    await first.get_by_label("Message", exact=True).fill("Name three kinds of apples.")
    await first.keyboard.press("Enter")
    await expect(second.get_by_role("link", name=re.compile("three kinds of apples"))).to_be_visible()


async def test_signing_out_turns_every_open_page_of_that_browser_away(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    other = await page.context.new_page()
    await other.goto(server.url)
    await page.context.request.post(f"{server.url}/logout", headers={"Origin": server.url})
    for tab in (page, other):
        await expect(tab).to_have_url(re.compile("/login"))


async def ask(page: Page, server: Server, name: str, text: str) -> str:
    """Send `text` as a new chat; the id of the answer that is being written."""
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    conversation_id = page.url.rpartition("/")[2]
    find = "select id from message where conversation_id = ? and role = 'assistant'"
    await until(lambda: server.query(find, conversation_id), f"the answer to {name}")
    [(answer_id,)] = server.query(find, conversation_id)
    return str(answer_id)


async def is_over(server: Server, answer_id: str) -> None:
    """Wait for its end as long as it grows: how many tokens a question gets differs from processor to processor."""
    written = "select length(content) from message where id = ? and status = 'streaming'"
    while length := server.query(written, answer_id):
        await until(lambda before=length: server.query(written, answer_id) != before, "more text, or the end")


async def _text_length(page: Page) -> int:
    prose = page.locator(".nk-answer .prose")
    return len(await prose.inner_text()) if await prose.count() else 0


async def _copied_text(page: Page) -> str:
    """What the Copy button under the last answer gives: the text itself, not its rendering."""
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.bring_to_front()
    await page.locator(".nk-answer").last.get_by_label("Copy", exact=True).click()
    await page.locator(".nk-answer").last.get_by_label("Copied", exact=True).wait_for()
    return str(await page.evaluate("navigator.clipboard.readText()"))
