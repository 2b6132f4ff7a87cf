"""Escape leaves what lies over the page and its modes: wherever the focus is, the nearest first, one at a time."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import Server, sign_in
from tests.e2e.states import drawer, edit, furnished, leave, pages, search, selection

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LONG = "Write a very long story about a lighthouse."
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})


async def test_every_state_is_left_with_the_focus_nowhere(server: Server, browser: Browser) -> None:
    name = server.add_user(admin=True)
    states = pages(furnished(server, name))
    page = await sign_in(browser, server, name)
    await page.emulate_media(reduced_motion="reduce")
    for size in SIZES:
        await page.set_viewport_size(size)     # type: ignore[arg-type]
        for path, reached in states:
            if reached:
                await page.goto(server.url + path)
                await expect(page.get_by_role("main")).to_have_count(1)
            for reach in reached:
                await reach(page)
                await leave(page, blurred=True)


async def test_the_nearest_to_the_focus_is_left_first_then_the_last_opened(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{chat_id}")
    composer, shown = page.get_by_label("Message", exact=True), page.locator(".nk-drawer.open")
    await drawer(page)
    await composer.focus()
    await page.keyboard.press("Escape")
    await expect(shown).to_have_count(0)

    await edit(page)
    await drawer(page)
    await search(page)
    await page.locator(".nk-edit textarea").focus()
    await page.keyboard.press("Escape")         # its own field is nearer than what was opened since
    await expect(page.locator(".nk-edit")).to_have_count(0)
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("Escape")
    await expect(page.locator(".nk-search")).to_have_count(0)
    await expect(shown).to_have_count(1)
    await page.evaluate("document.activeElement.blur()")
    await page.keyboard.press("Escape")
    await expect(shown).to_have_count(0)
    await expect(page.get_by_role("button", name="Chat settings", exact=True)).to_be_focused()

    await selection(page)
    await composer.fill(LONG)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Stop", exact=True)).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Stop", exact=True)).to_have_count(0)
    await expect(page.get_by_role("toolbar")).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("toolbar")).to_have_count(0)


async def test_what_went_away_without_being_left_holds_nothing_up(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{chat_id}")
    await drawer(page)
    await page.evaluate("""() => {
        const element = document.body.appendChild(document.createElement("div"));
        window.nkEscape.opened(element, () => {});
        element.remove();
    }""")
    await page.keyboard.press("Escape")
    await expect(page.locator(".nk-drawer.open")).to_have_count(0)


async def test_an_input_method_and_an_open_menu_have_escape_for_themselves(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{chat_id}")
    await edit(page)
    assert not await _composing_escape(page)
    await expect(page.locator(".nk-edit")).to_have_count(1)
    await page.get_by_role("button", name="Model:").click()
    await expect(page.get_by_role("menuitemradio").first).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.locator(".q-menu")).to_have_count(0)
    await expect(page.locator(".nk-edit")).to_have_count(1)
    await page.keyboard.press("Escape")
    await expect(page.locator(".nk-edit")).to_have_count(0)


async def _composing_escape(page: Page) -> bool:
    """Whether the page has taken it."""
    taken: bool = await page.evaluate("""() => !document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Escape", isComposing: true, bubbles: true, cancelable: true }))""")
    return taken
