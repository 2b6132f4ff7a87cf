"""The list of commands and the keys: what a person finds and does without a mouse, and where the focus is after it."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def test_chats_actions_and_models_are_found_in_one_list(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    for question in ("What is the capital of France?", "Name a river in Peru."):
        await page.get_by_role("link", name="New chat").click()
        await page.wait_for_url(f"{server.url}/")
        await page.get_by_label("Message", exact=True).fill(question)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/c/*")
        await expect(page.get_by_label("Try again").last).to_be_visible()
    box = page.get_by_role("combobox", name="Search chats and commands")
    options, composer = page.get_by_role("option"), page.get_by_label("Message", exact=True)

    await composer.focus()
    await page.keyboard.press("Control+k")
    await expect(box).to_be_focused()
    await expect(options.first).to_contain_text("Name a river in Peru.")
    await expect(page.get_by_role("group", name="Models").get_by_role("option")).to_contain_text("Use SmolLM2 135M")
    await page.keyboard.press("Escape")
    await expect(composer).to_be_focused()

    await page.keyboard.press("Control+k")
    await page.keyboard.type("capit")
    await expect(options.first.locator("mark").first).to_have_text("capital")    # the title; a message may match too
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await expect(box).to_have_attribute("aria-activedescendant", "nk-hit-1")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page).to_have_title("What is the capital of France? · Inglenook")
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()

    await page.keyboard.press("Control+k")
    await page.keyboard.type("nothing like it")
    await expect(options).to_have_text(["New chat about “nothing like it”CtrlShiftO"])
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{server.url}/")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("nothing like it")

    await page.keyboard.press("Control+k")
    await page.keyboard.type("SETT")
    await expect(options).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{server.url}/settings")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("peru")
    await page.keyboard.press("Enter")             # before the hit is there: it opens as soon as it is
    await expect(page).to_have_title("Name a river in Peru. · Inglenook")


async def test_keys_do_what_the_sheet_says_and_leave_alone_who_is_writing(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    composer = page.get_by_label("Message", exact=True)
    await composer.fill("What is the capital of France?")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    first = page.url
    await expect(page.get_by_label("Try again")).to_be_visible()

    await page.get_by_label("Message", exact=True).press("Control+Shift+c")
    await expect(page.get_by_label("Copied")).to_be_visible()
    assert "Paris" in await page.evaluate("navigator.clipboard.readText()")
    await page.keyboard.press("Control+Shift+s")
    await expect(page.locator("body.nk-side-off")).to_have_count(1)
    await page.keyboard.press("Control+Shift+s")
    await page.keyboard.press("Control+Shift+d")
    await expect(page.locator("body.body--dark")).to_be_visible()
    await page.keyboard.press("Control+Shift+o")
    await page.wait_for_url(f"{server.url}/")
    await expect(composer).to_be_focused()

    await composer.fill("Is that so")
    await page.keyboard.press("Alt+ArrowDown")      # there are words in the field
    await page.keyboard.type("?")
    await expect(composer).to_have_value("Is that so?")
    assert page.url == f"{server.url}/"
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_hidden()
    await composer.fill("")
    await page.keyboard.press("Alt+ArrowDown")
    await page.wait_for_url(first)

    await page.get_by_label("Try again").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    await expect(page.get_by_role("term").filter(has_text="Next chat")).to_be_visible()
    await page.keyboard.press("Control+Shift+o")    # what lies over the page comes first
    await page.keyboard.press("Control+Shift+f")
    await expect(page.locator("dialog[open] :focus")).to_have_count(1)
    await expect(page.locator(".nk-search")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Try again")).to_be_focused()
    await page.keyboard.press("Shift+Escape")
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert page.url == first
    await page.keyboard.press("Control+,")
    await page.wait_for_url(f"{server.url}/settings")


async def test_the_language_the_size_of_text_and_enter_follow_the_settings(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.goto(f"{server.url}/settings")
    await page.get_by_role("button", name="125 %").click()
    await expect(page.locator("html")).to_have_css("font-size", "20px")
    await page.get_by_role("button", name="New line").click()
    await page.get_by_role("button", name="Deutsch").click()
    await expect(page.get_by_role("heading", name="Einstellungen")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "de")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option", name="Neuer Chat")).to_be_visible()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{server.url}/")
    await expect(page.locator("html")).to_have_css("font-size", "20px")
    composer = _composer(page)
    await composer.fill("Zeile")
    await page.keyboard.press("Enter")
    await page.keyboard.type("zwei")
    await expect(composer).to_have_value("Zeile\nzwei")
    await page.keyboard.press("Control+Enter")
    await page.wait_for_url("**/c/*")
    await page.context.clear_cookies()
    await page.goto(f"{server.url}/login")
    await expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()      # by the browser's wish
    await expect(page.locator("html")).to_have_css("font-size", "20px")


def _composer(page: Page) -> Locator:
    return page.locator(".nk-composer textarea")
