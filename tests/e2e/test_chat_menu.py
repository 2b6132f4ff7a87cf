"""What can be done with a chat is one menu: of its row by button, by right-click and by key, and of the page's head."""

from __future__ import annotations

from functools import partial

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Server, new_context, sign_in, until
from tests.e2e.states import chat_settings, furnished, head_menu, stands_still
from tests.e2e.test_sidebar import NAMES, seed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

# Whether the browser's own menu came, of each time that one was asked for.
ASKED = "addEventListener('contextmenu', (event) => (window.own ??= []).push(!event.defaultPrevented))"


async def test_the_head_offers_what_the_row_does_and_it_is_undone_alike(server: Server, browser: Browser) -> None:
    name = server.add_user()
    heating, *_ = seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{heating}")
    await _row(page, "Heating").hover()
    await page.get_by_role("button", name="Menu of Heating").click()
    of_row = await _items(page)
    await page.keyboard.press("Escape")
    await expect(page.locator(".q-menu")).to_have_count(0)
    await head_menu(page)
    assert await _items(page) == of_row
    assert {"Pin", "Rename", "Move to", "Tags", "Archive", "Print", "Delete"} < set(of_row)
    await page.get_by_role("button", name="Chat menu").click()      # as any button of a menu: it closes it, too
    await expect(page.locator(".q-menu")).to_have_count(0)

    pinned = page.get_by_role("rowheader", name="Pinned")
    await _by_head(page, "Pin")
    await expect(pinned).to_be_visible()
    await _by_head(page, "Unpin")
    await expect(pinned).to_have_count(0)
    await _undo(page, "Chat unpinned")
    await expect(pinned).to_be_visible()

    await _by_head(page, "Tags")
    await page.get_by_label("New tag").fill("warm")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitemcheckbox", name="warm", checked=True)).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Chat menu")).to_be_focused()
    await _by_head(page, "Tags")
    await expect(page.get_by_role("menuitemcheckbox", name="warm", checked=True)).to_be_visible()
    await page.keyboard.press("Escape")

    await _by_head(page, "Move to")
    await page.get_by_label("New folder").last.fill("House")
    await page.keyboard.press("Enter")
    folder = page.get_by_role("button", name="House", exact=True)
    await expect(folder).to_be_visible()
    await expect(_row(page, "Heating")).to_have_count(0)        # it lies in a folder that is closed: the head knows it

    await _by_head(page, "Archive")
    await expect(page.get_by_role("row", name="Archive")).to_contain_text("1")
    await expect(page).to_have_url(f"{server.url}/c/{heating}")         # and goes on being read
    await until(partial(_is_in_head, page, "Bring back"), "the head knows that it is archived")
    assert "Archive" not in await _items(page)
    await page.keyboard.press("Escape")
    await _undo(page, "Chat archived")
    await expect(page.get_by_role("row", name="Archive")).to_have_count(0)

    await _by_head(page, "Select")
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()
    await page.get_by_role("button", name="End selection").click()
    await _by_head(page, "Delete")
    await page.wait_for_url(f"{server.url}/")
    await expect(page.get_by_role("button", name="Chat menu")).to_be_hidden()
    await _undo(page, "Chat deleted")
    await page.wait_for_url(f"{server.url}/c/{heating}")


async def test_on_a_phone_the_head_has_it_and_the_model_keeps_its_room(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    desk = await sign_in(browser, server, name)
    context = await new_context(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    await context.add_cookies(await desk.context.cookies())      # type: ignore[arg-type]
    page = await context.new_page()
    button, opener = page.get_by_role("button", name="Chat menu"), page.get_by_role("button", name="Open menu")
    for width, height in ((390, 844), (360, 740)):
        await page.set_viewport_size({"width": width, "height": height})
        await page.goto(f"{server.url}/c/{chat_id}")
        await page.wait_for_function("document.querySelector('.nk-ctxm-face')?.clientWidth > 0")   # it comes last
        seen = page.locator(".nk-head > :is(button, a):visible")
        await expect(seen).to_have_count(5)         # what chats there are, the model, its window, this chat, a new one
        boxes = [await each.bounding_box() for each in await seen.all()]
        assert all(box is not None and box["width"] >= 44 and box["x"] + box["width"] <= width for box in boxes)
        assert await page.locator(".nk-picker .nk-ell .nk-ell").evaluate("name => name.clientWidth") > 110
        await button.tap()
        await expect(page.get_by_role("menuitem", name="Delete")).to_be_in_viewport(ratio=1)
        await page.keyboard.press("Escape")
        await expect(page.locator(".q-menu")).to_have_count(0)

    await button.tap()
    await page.get_by_role("menuitem", name="Archive").tap()
    await expect(page.get_by_text("Chat archived")).to_be_visible()
    await page.get_by_role("button", name="Undo").tap()
    await button.tap()
    await page.get_by_role("menuitem", name="Rename").tap()
    await expect(page.get_by_label("New title")).to_be_focused()        # in the list, which comes out for it
    await page.keyboard.type("Warmth")
    await page.keyboard.press("Enter")
    await expect(_row(page, "Warmth")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(opener).to_be_focused()
    await button.tap()
    await page.get_by_role("menuitem", name="Select").tap()
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()
    await page.get_by_role("button", name="End selection").tap()
    await page.get_by_role("button", name="Close menu").tap()

    await chat_settings(page)
    await expect(page.get_by_role("heading", name="Chat settings")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(button).to_be_focused()        # which has led there
    await page.goto(server.url)
    await expect(page.get_by_role("button", name="Chat settings", exact=True)).to_be_visible()
    await expect(button).to_be_hidden()


async def test_a_right_click_opens_it_at_the_pointer(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    page = await sign_in(browser, server, name)
    await page.goto(f"{server.url}/c/{chat_id}")
    await page.evaluate(ASKED)
    lease, menu = _row(page, "Lease"), page.locator(".q-menu")
    for row, what in ((lease, "Archive"), (page.get_by_role("button", name="House", exact=True), "New folder inside")):
        x, y = await _right_click(row)
        await expect(page.get_by_role("menuitem", name=what)).to_be_visible()
        await stands_still(page)
        box = await menu.bounding_box()
        assert box is not None and abs(box["x"] - x) <= 8 and abs(box["y"] - y) <= 8, (box, x, y)
        await page.keyboard.press("Escape")
        await expect(menu).to_have_count(0)
        await expect(row).to_be_focused()
    assert await page.evaluate("own.splice(0)") == [False, False]

    await _right_click(lease)
    await _right_click(_row(page, "Invoices"))                # from one to the next
    await page.get_by_role("menuitem", name="Unpin").click()
    await expect(page.get_by_role("rowheader", name="Pinned")).to_have_count(0)
    await expect(_row(page, "Invoices")).not_to_be_focused()
    await expect(page.locator(".nk-side-rows :focus")).to_have_count(1)     # on the row that took its place
    await page.set_viewport_size({"width": 1440, "height": 420})    # where there is no room below
    await _right_click(lease)
    await page.get_by_role("menuitem", name="Move to").click()
    await stands_still(page)
    await expect(page.get_by_label("New folder").last).to_be_in_viewport(ratio=1)
    await page.get_by_role("menuitem", name="House").click()
    await expect(page.get_by_text("Chat moved")).to_be_visible()
    await page.set_viewport_size({"width": 1440, "height": 900})

    await page.evaluate("own.length = 0")
    for place in (page.get_by_label("Message", exact=True), page.locator(".prose a").last, page.locator(".nk-who")):
        await place.click(button="right")
    await _row(page, "Heating").click(button="right", modifiers=["Shift"])
    await _row(page, "Heating").click(modifiers=["Control"])        # being selected, chats have their toolbar
    await _right_click(_row(page, "Heating"))
    assert await page.evaluate("own") == [True] * 5
    await expect(menu).to_have_count(0)
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()


async def test_by_keyboard_it_opens_and_leaves_the_focus_where_it_was(server: Server, browser: Browser) -> None:
    name = server.add_user()
    seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    await page.evaluate(ASKED)
    movers, menu = _row(page, "Movers"), page.locator(".q-menu")
    for key in ("ContextMenu", "Shift+F10"):
        await movers.press(key)
        await expect(page.get_by_role("menuitem", name="Pin")).to_be_focused()
        await stands_still(page)
        box, row = await menu.bounding_box(), await movers.bounding_box()
        assert box is not None and row is not None and abs(box["y"] - row["y"] - row["height"]) < row["height"]
        await page.keyboard.press("Escape")
        await expect(menu).to_have_count(0)
        await expect(movers).to_be_focused()
    assert True not in await page.evaluate("window.own ?? []")
    await movers.press("Shift+F10")
    await page.get_by_role("menuitem", name="Archive").press("Enter")
    await expect(movers).to_have_count(0)
    await page.keyboard.press("Control+z")
    await expect(movers).to_be_visible()

    await movers.press(" ")
    await movers.press("Shift+F10")                 # being selected, chats have their toolbar
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()
    await expect(menu).to_have_count(0)


def _row(page: Page, title: str) -> Locator:
    return page.get_by_role("link", name=title, exact=True)


async def _items(page: Page) -> list[str]:
    await expect(page.get_by_role("menuitem", name="Delete")).to_be_visible()
    return [text.strip() for text in await page.get_by_role("menuitem").all_inner_texts()]


async def _is_in_head(page: Page, what: str) -> bool:
    """Then its menu stays open. What was done a moment ago may not be there yet: each opening asks anew."""
    await head_menu(page)
    if await page.get_by_role("menuitem", name=what, exact=True).count():
        return True
    await page.keyboard.press("Escape")
    return False


async def _by_head(page: Page, what: str) -> None:
    await until(partial(_is_in_head, page, what), f"{what} is in the head's menu")
    await page.get_by_role("menuitem", name=what, exact=True).click()


async def _undo(page: Page, told: str) -> None:
    await expect(page.locator(".nk-toast").filter(has_text=told)).to_be_visible()
    await page.get_by_role("button", name="Undo").click()


async def _right_click(place: Locator) -> tuple[float, float]:
    """Where it was."""
    await place.click(button="right", position={"x": 40, "y": 10})
    box = await place.bounding_box()
    assert box is not None
    return box["x"] + 40, box["y"] + 10
