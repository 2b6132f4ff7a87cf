"""What a person does with messages, in a real browser: edit, delete, copy, turn back, read aloud; and many tabs."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Server, sign_in, until
from tests.e2e.test_streaming import LONG, ask, is_over

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PARIS = "What is the capital of France?"
# Headless Chromium has no voices: one of the device's own, and one that would send the text away.
VOICES = """
  const said = (window.said = []);
  const voice = (name, lang, localService) => ({ name, lang, localService });
  const speech = {
    getVoices: () => [voice("far", "en-US", false), voice("near", "en-GB", true), voice("nah", "de-DE", true)],
    speak: ({ text, lang, voice }) => said.push([text, lang, voice.name]), cancel: () => said.push("silence"),
    addEventListener() {},
  };
  Object.defineProperty(window, "speechSynthesis", { value: speech });
  window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
"""


async def test_ones_own_message_is_edited_in_place_and_both_branches_stay(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await _whole(page, server, name, PARIS)
    said = page.locator(".nk-said")
    edit = said.get_by_label("Edit your message")
    await edit.click()
    field = said.locator("textarea")
    await expect(field).to_be_focused()
    await field.fill("Nothing of it")
    await page.keyboard.press("Escape")
    await expect(said.locator(".nk-bubble")).to_have_text(PARIS)
    await expect(edit).to_be_focused()

    await page.keyboard.press("Enter")
    await field.fill("What is the capital of Italy?")
    await page.keyboard.press("Control+Enter")
    await expect(said.locator(".nk-bubble")).to_have_text("What is the capital of Italy?")
    await expect(said.locator(".nk-branch")).to_contain_text("2/2")
    await _ended(page)
    await said.get_by_label("Previous version").focus()
    await page.keyboard.press("ArrowLeft")
    await expect(said.locator(".nk-bubble")).to_have_text(PARIS)
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Paris")
    await expect(said.get_by_label("Next version")).to_be_focused()        # "previous" has none: its neighbour takes it
    await page.keyboard.press("ArrowRight")
    await expect(said.locator(".nk-bubble")).to_have_text("What is the capital of Italy?")
    await expect(page.locator(".nk-answer")).to_have_count(1)


async def test_an_edited_answer_says_so_and_the_old_one_stays_a_version(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await _whole(page, server, name, PARIS)
    answer = page.locator(".nk-answer")
    await answer.get_by_label("Edit the answer").click()
    await answer.locator("textarea").fill("It is **Paris**, on the Seine.")
    await answer.get_by_role("button", name="Save").click()
    await expect(answer.locator(".prose strong")).to_have_text("Paris")
    await expect(answer.locator(".nk-edited")).to_have_text("Edited")
    await expect(answer.locator(".nk-branch")).to_contain_text("2/2")
    await page.reload()
    await expect(answer.locator(".prose strong")).to_have_text("Paris")


async def test_a_message_is_deleted_with_what_follows_and_brought_back(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await _whole(page, server, name, PARIS)
    await page.get_by_label("Message", exact=True).fill("And of Spain?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-said")).to_have_count(2)
    await _ended(page)
    await _menu(page, page.locator(".nk-said").last, "Delete from here on")
    await expect(page.locator(".nk-said")).to_have_count(1)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".nk-answer")).to_have_count(2)
    await _menu(page, page.locator(".nk-answer").last, "Delete")
    await expect(page.locator(".nk-answer")).to_have_count(1)
    await page.reload()
    await page.get_by_role("button", name="Answer this").click()
    await expect(page.locator(".nk-answer")).to_have_count(2)
    await _ended(page)


async def test_what_is_half_edited_outlives_a_reload_and_another_device(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await _whole(page, server, name, PARIS)
    said = page.locator(".nk-said")
    await said.get_by_label("Edit your message").click()
    await said.locator("textarea").fill("What is the capital of Ita")
    await page.reload()
    await expect(said.locator("textarea")).to_have_value("What is the capital of Ita")

    phone = await sign_in(browser, server, name)
    await phone.goto(page.url)
    await _menu(phone, phone.locator(".nk-said"), "Delete from here on")
    await expect(said).to_have_count(0)
    await phone.get_by_role("button", name="Undo").click()
    await expect(said.locator("textarea")).to_have_value("What is the capital of Ita")
    await said.locator("textarea").press("Escape")
    await page.reload()
    await expect(said.locator(".nk-bubble")).to_have_text(PARIS)


async def test_copying_reading_aloud_and_the_figures_of_an_answer(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await page.add_init_script(VOICES)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer_id = await _whole(page, server, name, PARIS)
    await page.reload()
    answer = page.locator(".nk-answer")
    await answer.get_by_label("Edit the answer").click()
    await answer.locator("textarea").fill("It is **Paris**. That is the city of light and of love.")
    await page.keyboard.press("Control+Enter")
    await expect(answer.locator(".nk-edited")).to_be_visible()
    for item, text in (("Copy as text", "It is Paris."), ("Copy as Markdown", "It is **Paris**.")):
        await _menu(page, answer, item)
        await until(lambda text=text: _clipboard_begins(page, text), item)

    await _menu(page, answer, "Read aloud")
    await expect(answer.get_by_label("Stop reading aloud")).to_be_visible()
    assert await page.evaluate("said") == [
        ["It is Paris.", "en-GB", "near"], ["That is the city of light and of love.", "en-GB", "near"],
    ]
    await answer.get_by_label("Stop reading aloud").click()
    await expect(answer.get_by_label("Stop reading aloud")).to_have_count(0)
    assert (await page.evaluate("said"))[-1] == "silence"

    await answer.get_by_label("Previous version").click()
    stats = answer.locator(".nk-stats")
    await expect(stats).to_contain_text("tok/s")
    [(version,)] = server.query("select model_version from message where id = ?", answer_id)
    await stats.focus()
    await page.keyboard.press("Enter")
    await expect(answer.locator(".nk-figures")).to_be_visible()
    await expect(answer.locator(".nk-figures")).to_contain_text(str(version).partition(",")[0])
    await expect(answer.locator(".nk-figures")).to_contain_text("First token after")
    await page.keyboard.press("Escape")
    await expect(answer.locator(".nk-figures")).to_be_hidden()


async def test_the_meter_counts_and_what_becomes_of_a_full_window_is_chosen_by_chat(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    await _whole(page, server, name, PARIS)
    meter = page.locator(".nk-ctxm")
    await expect(meter).to_contain_text(re.compile(r"\d+ of \d+k"))
    await expect(meter).to_have_attribute("aria-label", re.compile(r"Context: \d+ %"))
    await meter.click()
    await page.get_by_role("menuitemradio", name="Sum up the oldest").click()
    conversation_id = page.url.rpartition("/")[2]
    chosen = "select when_full from conversation where id = ?"
    await until(lambda: server.query(chosen, conversation_id) == [("summarise",)], "the choice")
    await meter.click()
    await expect(page.get_by_role("menuitemradio", name="Sum up the oldest")).to_have_attribute("aria-checked", "true")


async def test_an_answer_goes_on_while_no_tab_is_open(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    answer_id = await ask(page, server, name, LONG)
    address, context = page.url, page.context
    await page.close()
    await is_over(server, answer_id)
    again = await context.new_page()
    await again.goto(address)
    [(status, content)] = server.query("select status, content from message where id = ?", answer_id)
    assert status == "complete"
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    await again.locator(".nk-answer").get_by_label("Copy", exact=True).click()
    await until(lambda: again.evaluate("navigator.clipboard.readText()"), "the copy")
    assert await again.evaluate("navigator.clipboard.readText()") == content


async def test_nine_tabs_of_one_browser_follow_their_answers_and_a_tenth_opens(
    server: Server, browser: Browser
) -> None:
    """A browser holds six connections to a host. All tabs share one line."""
    name = server.add_user()
    first = await sign_in(browser, server, name)
    tabs = [first, *[await first.context.new_page() for _ in range(8)]]
    for tab in tabs[1:]:
        await tab.goto(server.url)
    for tab in tabs:
        await tab.get_by_label("Message", exact=True).fill(LONG)
        await tab.keyboard.press("Enter")
    for tab in tabs:
        await tab.wait_for_url("**/c/*")
    tenth = await first.context.new_page()
    await tenth.goto(server.url)
    await tenth.get_by_label("Message", exact=True).wait_for()
    for tab in tabs:
        await until(lambda tab=tab: tab.locator(".nk-answer .prose").inner_text(), "the first words in each")
        await tab.get_by_label("Stop", exact=True).or_(tab.get_by_label("Send", exact=True)).click(force=True)
    await asyncio.gather(*(expect(tab.locator(".nk-answer")).not_to_have_attribute("data-status", "streaming")
                           for tab in tabs))
    shown = {(await tab.locator(".nk-answer").get_attribute("data-message")) for tab in tabs}
    assert len(shown) == len(tabs)


async def _whole(page: Page, server: Server, name: str, text: str) -> str:
    answer_id = await ask(page, server, name, text)
    await _ended(page)
    return answer_id


async def _ended(page: Page) -> None:
    await expect(page.locator(".nk-answer").last).not_to_have_attribute("data-status", "streaming")
    await expect(page.get_by_label("Stop", exact=True)).to_have_count(0)


async def _menu(page: Page, message: Locator, item: str) -> None:
    await message.hover()
    await message.get_by_label("More").click()
    await page.get_by_role("menuitem", name=item, exact=True).click()
    await expect(page.locator(".q-menu")).to_have_count(0)


async def _clipboard_begins(page: Page, text: str) -> bool:
    return str(json.loads(await page.evaluate("navigator.clipboard.readText().then(JSON.stringify)"))).startswith(text)
