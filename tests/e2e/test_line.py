"""What is clicked while the line to the server dies is done once, when it is back; where it cannot be, that is said."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PacedServer, sign_in, until
from tests.e2e.line import line_to

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

UNSURE = "What you did last may not have been done"

Click = Callable[[], Awaitable[object]]


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def from_menu(page: Page, title: str, item: str) -> Click:
    """The menu is open, and waits for the click."""
    await page.get_by_role("link", name=title, exact=True).hover()
    await page.get_by_role("button", name=f"Menu of {title}").click()
    await page.get_by_role("menuitem", name=item, exact=True).wait_for()
    return page.get_by_role("menuitem", name=item, exact=True).click


async def test_what_is_clicked_on_a_dying_line_is_done_once(paced_server: PacedServer, browser: Browser) -> None:
    name = paced_server.add_user()
    answers = "select status from message where role = 'assistant' and deleted_at is null order by created_at"
    chats = "select title, pin_position is not null, deleted_at is not null from conversation"
    temperature = "select json_extract(parameters, '$.temperature') from conversation"
    enter = "select value from user_setting where key = 'enter'"

    async with line_to(paced_server.port) as line:
        page = await sign_in(browser, paced_server, name, line.url)

        async def dying(click: Click, sql: str, wanted: list[tuple[object, ...]]) -> None:
            """Neither lost nor done twice."""
            await expect(page.get_by_text("Connection lost.")).to_be_hidden()
            line.hold()
            await click()
            line.cut()
            await until(lambda: paced_server.query(sql) == wanted, f"{wanted}, not {paced_server.query(sql)}")

        paced_server.pace(0.05)
        await say(page, "count to 900")
        await page.wait_for_url("**/c/*")
        await expect(page.locator(".nk-answer .prose")).to_contain_text("1 2 3")
        await dying(page.get_by_label("Stop", exact=True).click, answers, [("stopped",)])
        paced_server.pace(0.01)
        again = page.locator(".nk-answer .nk-meta").get_by_label("Try again", exact=True)
        await again.wait_for()
        await dying(again.click, "select count(*) from message where role = 'assistant'", [(2,)])
        await page.get_by_label("Stop", exact=True).click()
        await until(lambda: paced_server.query(answers) == [("stopped",)] * 2, "the second is stopped, too")

        await (await from_menu(page, "count to 900", "Rename"))()
        title = page.get_by_label("New title")
        await expect(title).to_be_focused()
        await title.fill("Numbers")
        await dying(lambda: page.keyboard.press("Enter"), chats, [("Numbers", 0, 0)])
        await page.get_by_role("link", name="Numbers", exact=True).wait_for()
        await dying(await from_menu(page, "Numbers", "Pin"), chats, [("Numbers", 1, 0)])

        await page.get_by_role("button", name="Chat settings").click()
        number = page.get_by_role("spinbutton", name="Temperature")
        await number.fill("0.9")
        await dying(lambda: page.keyboard.press("Tab"), temperature, [(0.9,)])
        await page.keyboard.press("Escape")

        await page.get_by_text("Pinned", exact=True).first.wait_for()
        await dying(await from_menu(page, "Numbers", "Delete"), chats, [("Numbers", 1, 1)])
        await page.get_by_text("Chat deleted").wait_for()
        await dying(page.get_by_role("button", name="Undo").click, chats, [("Numbers", 1, 0)])

        await page.goto(f"{line.url}/settings")
        await dying(page.get_by_role("button", name="New line").click, enter, [('"newline"',)])
        await expect(page.get_by_text(UNSURE)).to_have_count(0)


async def test_what_the_server_had_heard_before_its_line_died_is_not_done_again(
    paced_server: PacedServer, browser: Browser
) -> None:
    num_answers = "select count(*) from message where role = 'assistant'"
    async with line_to(paced_server.port) as line:
        page = await sign_in(browser, paced_server, paced_server.add_user(), line.url)
        await say(page, "count to 4")
        await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4")
        for number in range(2, 5):
            again = page.locator(".nk-answer .nk-meta").get_by_label("Try again", exact=True)
            await again.wait_for()
            line.hold_answers()
            await again.click()
            await until(lambda number=number: paced_server.query(num_answers) == [(number,)], "it was heard")
            line.cut()
            await expect(page.locator(".nk-branch")).to_contain_text(f"{number}/{number}")
        assert paced_server.query(num_answers) == [(4,)]


async def test_a_line_on_which_nothing_comes_back_is_told_and_what_was_clicked_is_done(
    paced_server: PacedServer, browser: Browser
) -> None:
    async with line_to(paced_server.port) as line:
        page = await sign_in(browser, paced_server, paced_server.add_user(), line.url)
        lost = page.get_by_text("Connection lost.")
        await expect(lost).to_be_hidden()
        line.hold()
        await say(page, "count to 4")
        await expect(lost).to_be_visible()
        line.release()
        await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4")
        await expect(lost).to_be_hidden()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_what_was_clicked_while_the_server_was_away_is_told_to_be_unsure(
    paced_server: PacedServer, browser: Browser, how: signal.Signals
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await say(page, "count to 4")
    await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4")
    pin = await from_menu(page, "count to 4", "Pin")
    paced_server.stop(how)
    await expect(page.get_by_text("Connection lost.")).to_be_visible()
    await pin()
    paced_server.start()
    await expect(page.get_by_text(UNSURE)).to_be_visible()
    assert paced_server.query("select pin_position from conversation") == [(None,)]
    await page.get_by_role("button", name="Close", exact=True).click()
    await page.reload()
    await expect(page.get_by_role("link", name="count to 4", exact=True)).to_be_visible()
    await expect(page.get_by_text(UNSURE)).to_have_count(0)

    paced_server.stop(how)      # nothing was clicked: nothing is said
    async with page.expect_event("load"):
        paced_server.start()
    await expect(page.get_by_role("link", name="count to 4", exact=True)).to_be_visible()
    await expect(page.get_by_text(UNSURE)).to_have_count(0)


COVERED = """() => {
  const shown = (each) => each.checkVisibility({ visibilityProperty: true });
  const box = (each) => each.getBoundingClientRect();
  const meet = (one, other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  const all = (what) => [...document.querySelectorAll(what)].filter(shown);
  const covered = (banner) =>
    all("button, a, input, textarea").filter((each) => !banner.contains(each) && meet(box(banner), box(each)));
  return all(".nk-banner, .nicegui-error-popup").map((banner) => covered(banner).length).join();
}"""


async def test_no_banner_lies_over_what_can_be_clicked(paced_server: PacedServer, browser: Browser) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())

    async def nothing_is_covered() -> None:
        for width, part in ((1440, ""), (1024, "Chat settings"), (390, ""), (390, "Open menu"), (390, "Chat settings")):
            await page.set_viewport_size({"width": width, "height": 900})
            if part:
                await page.get_by_role("button", name=part, exact=True).click()
            await page.wait_for_function(f"({COVERED})() === '0'")
            assert await page.evaluate("document.documentElement.scrollHeight <= innerHeight")
            if part:
                await page.keyboard.press("Escape")

    paced_server.stop(signal.SIGKILL)
    await expect(page.get_by_text("Connection lost.")).to_be_visible()
    await nothing_is_covered()
    await page.get_by_label("Message", exact=True).fill("count to 9")
    await page.keyboard.press("Enter")
    paced_server.start()
    await expect(page.get_by_text(UNSURE)).to_be_visible()
    await nothing_is_covered()
    await page.locator(".nk-banner").get_by_role("button", name="Close").click()
    await expect(page.get_by_text(UNSURE)).to_have_count(0)
    await page.wait_for_function("getComputedStyle(document.querySelector('.nk-app')).paddingTop === '0px'")
