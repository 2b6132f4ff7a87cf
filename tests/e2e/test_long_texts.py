"""Long and odd texts in fields: the page stays at hand while they are put in, and says what will become of them."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import PacedServer, sign_in
from tests.e2e.test_adversity import say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ZALGO = "Zalgo a" + "\u0301" * 100_000
PASTE_S = 5         # half a minute each, before
MEGABYTE = ("word " * 15 + "more\n") * 12_500
KEY_MS = 100


async def paste(page: Page, field: Locator, text: str) -> None:
    await page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    await field.focus()
    async with asyncio.timeout(PASTE_S):
        await page.keyboard.press("Control+V")
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


async def test_marks_without_end_are_put_into_fields_at_once_and_sent_as_they_are(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said = "select content from message where role = 'user' order by created_at"
    field = page.get_by_label("Message", exact=True)
    await paste(page, field, ZALGO)
    await page.keyboard.type("!")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    assert paced_server.query(said) == [(ZALGO + "!",)]

    await page.locator(".nk-said").get_by_label("Edit your message").click()
    editor = page.locator(".nk-said textarea")
    await expect(editor).to_be_focused()
    await page.keyboard.type("?")
    await page.keyboard.press("Control+Enter")
    await expect(page.locator(".nk-said .nk-branch")).to_contain_text("2/2")
    assert paced_server.query(said)[1] == (ZALGO + "!?",)

    await page.get_by_role("button", name="Chat settings").click()
    await paste(page, page.get_by_label("System prompt"), ZALGO)
    await page.keyboard.press("Control+Z")
    await expect(page.get_by_label("System prompt")).to_have_value("")


async def test_a_megabyte_leaves_the_keys_quick_and_what_will_not_fit_is_said(
    paced_server: PacedServer, browser: Browser
) -> None:
    """What Chromium itself needs for a key in a field of that length is its own affair, and a busy machine's."""
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await say(page, "count to 3")
    await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3")
    bare = await page.context.new_page()
    await bare.goto(paced_server.url + "/healthz")
    await bare.evaluate("document.body.innerHTML = '<textarea rows=9 cols=80></textarea>'")
    await bare.evaluate("(text) => (document.querySelector('textarea').value = text)", MEGABYTE)
    least_ms = await key_ms(bare, bare.locator("textarea"))
    await bare.close()

    composer = page.get_by_label("Message", exact=True)
    await paste(page, composer, MEGABYTE)
    assert await key_ms(page, composer) < KEY_MS + 2 * least_ms
    await expect(page.get_by_text("more than the 8,192 tokens that the model sees at once")).to_be_visible()
    await page.locator(".nk-said").get_by_label("Edit your message").click()
    editor = page.locator(".nk-said textarea")
    await paste(page, editor, MEGABYTE)
    assert await key_ms(page, editor) < KEY_MS + 2 * least_ms


async def key_ms(page: Page, field: Locator) -> float:
    """From a key until what it wrote has been drawn; of eight the third best."""
    await field.focus()
    seen = await field.evaluate_handle(
        """(field) => {
          const seen = { all: [] };
          field.addEventListener("keydown", () => {
            const from = performance.now();
            requestAnimationFrame(() => setTimeout(() => seen.all.push(performance.now() - from)));
          });
          return seen;
        }"""
    )
    for count in range(1, 9):
        await page.keyboard.press("x")
        await page.wait_for_function("([seen, count]) => seen.all.length === count", arg=[seen, count])
    return float(sorted(await seen.evaluate("(seen) => seen.all"))[2])
