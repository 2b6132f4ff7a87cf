"""What is half written in several tabs of one browser: it goes with its writer, and does not come back once sent."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Server, sign_in
from tests.e2e.test_sidebar import NAMES, seed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KEPT = "JSON.stringify([{...localStorage}, {...sessionStorage}])"


async def test_signing_out_takes_along_what_is_half_written_in_every_tab(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id, *_ = seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    tabs = [page, await page.context.new_page()]
    for tab in tabs:
        await tab.goto(f"{server.url}/c/{chat_id}")
        await _field(tab).fill("half a thought")
        await tab.get_by_role("button", name="Edit your message").click()
        await tab.locator(".nk-edit textarea").fill("otherwise thought")
        assert "half a thought" in await tab.evaluate(KEPT) and "otherwise thought" in await tab.evaluate(KEPT)
    await page.get_by_role("button", name="reader-").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    for tab in tabs:
        await expect(tab).to_have_url(re.compile("/login"))
        await tab.wait_for_load_state()
        assert "thought" not in await tab.evaluate(KEPT)


async def test_what_another_tab_has_sent_is_no_draft_any_more(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id, *_ = seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{chat_id}")
    await _field(page).fill("What is the capital of France?")
    other = await page.context.new_page()
    await other.goto(page.url)
    await expect(_field(other)).to_have_value("What is the capital of France?")
    await page.bring_to_front()
    await _field(page).press("Enter")
    await expect(page.locator(".nk-said")).to_have_count(2)
    await expect(_field(page)).to_have_value("")
    await other.get_by_role("link", name=NAMES[1], exact=True).click()
    await expect(other.locator("h1")).to_have_text(NAMES[1])
    later = await page.context.new_page()
    await later.goto(page.url)
    await expect(later.locator(".nk-said")).to_have_count(2)
    await expect(_field(later)).to_have_value("")


def _field(page: Page) -> Locator:
    return page.get_by_label("Message", exact=True)
