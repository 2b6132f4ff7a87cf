"""What is written and not sent stays as its writer left it: after a look at prompts, and while an answer is written."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PacedServer, Server, sign_in
from tests.e2e.test_composer import field, press, save_prompt

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def look_at_prompts(page: Page) -> None:
    await page.get_by_role("button", name="Prompts").click()
    await page.get_by_role("link", name="Presets and prompts").wait_for()


async def kept(page: Page) -> list[str]:
    """Drafts, as the browser has them."""
    entries: dict[str, str] = await page.evaluate("({...localStorage})")
    return [text for key, text in entries.items() if "draft" in key]


async def test_the_button_of_prompts_leaves_no_slash_behind(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    options = page.get_by_role("option")
    await field(page).fill("hello")
    await look_at_prompts(page)                     # there are none yet
    await expect(field(page)).to_have_value("hello /")
    await press(page, "Escape")
    await expect(page.get_by_role("link", name="Presets and prompts")).to_have_count(0)
    await expect(field(page)).to_have_value("hello")
    await expect(field(page)).to_be_focused()
    assert await kept(page) == ["hello"]

    await look_at_prompts(page)
    await page.get_by_role("link", name="Presets and prompts").click()
    await page.wait_for_url("**/library")
    assert await kept(page) == ["hello"]
    await save_prompt(page, "Translate", "Into {{language}}:")
    await page.get_by_role("link", name="Back to chats").click()

    await expect(field(page)).to_have_value("hello")
    await press(page, "Control+A")
    await look_at_prompts(page)                     # in the place of what is marked
    await expect(field(page)).to_have_value("/")
    await page.keyboard.type("tra")
    await expect(options).to_have_count(1)
    await press(page, "Escape")
    await expect(options).to_have_count(0)
    await expect(field(page)).to_have_value("hello")
    await press(page, "End")
    await look_at_prompts(page)
    await page.get_by_role("button", name="Prompts").click()        # again
    await expect(options).to_have_count(0)
    await expect(field(page)).to_have_value("hello")
    await look_at_prompts(page)
    await page.get_by_role("button", name="Chat settings").focus()
    await expect(options).to_have_count(0)
    await expect(field(page)).to_have_value("hello")

    await field(page).focus()
    await look_at_prompts(page)
    await options.first.click()
    form = page.get_by_role("dialog", name="Translate")
    await expect(form.get_by_label("Language")).to_be_focused()
    await press(page, "Escape")
    await expect(field(page)).to_have_value("hello")
    await expect(field(page)).to_be_focused()
    await look_at_prompts(page)
    await options.first.click()
    await form.get_by_label("Language").fill("Polish")
    await press(page, "Enter")
    await expect(field(page)).to_have_value("hello Into Polish:")


async def test_a_slash_of_its_writers_own_stays(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await field(page).focus()
    await page.keyboard.type("either /")
    await page.get_by_role("link", name="Presets and prompts").wait_for()
    await press(page, "Escape")
    await expect(page.get_by_role("link", name="Presets and prompts")).to_have_count(0)
    await expect(field(page)).to_have_value("either /")
    await field(page).fill("")
    await look_at_prompts(page)
    await page.keyboard.type("usr is a folder")     # no prompt: the button's slash is its writer's by now
    await press(page, "Escape")
    await expect(field(page)).to_have_value("/usr is a folder")


async def test_enter_while_an_answer_is_written_says_why_nothing_is_sent(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    hint = page.get_by_role("status").filter(has_text="Not sent yet")
    paced_server.pace(0.2)
    await field(page).fill("count to 2000")
    await press(page, "Enter")
    await page.get_by_label("Stop", exact=True).wait_for()
    await press(page, "Enter")
    await expect(page.locator(".nk-answer .prose")).not_to_be_empty()
    await expect(hint).to_have_count(0)             # there was nothing to send
    await field(page).fill("and on")
    await press(page, "Enter")
    await expect(hint).to_be_visible()
    await expect(field(page)).to_have_value("and on")
    await page.get_by_label("Stop", exact=True).click()
    await expect(page.get_by_label("Send", exact=True)).to_be_visible()
    await expect(hint).to_have_count(0)
    await expect(field(page)).to_have_value("and on")
    await press(page, "Enter")
    await expect(page.locator(".nk-bubble")).to_have_text(["count to 2000", "and on"])


async def test_enter_while_the_first_message_is_on_its_way_says_so_too(
    paced_server: PacedServer, browser: Browser
) -> None:
    """At once, before the chat has its own page: the words and the hint go on to that."""
    page = await sign_in(browser, paced_server, paced_server.add_user())
    paced_server.pace(0.2)
    await field(page).evaluate("""box => {
        for (const text of ["count to 2000", "count to 2000 and on"]) {
            box.value = text;
            box.dispatchEvent(new Event("input", { bubbles: true }));
            box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
        }
    }""")
    hint = page.get_by_role("status").filter(has_text="Not sent yet")
    await page.wait_for_url("**/c/*")
    await page.get_by_label("Stop", exact=True).wait_for()
    await expect(field(page)).to_have_value("and on")
    await expect(hint).to_be_visible()
    await page.get_by_label("Stop", exact=True).click()
    await expect(hint).to_have_count(0)
    await expect(field(page)).to_have_value("and on")
