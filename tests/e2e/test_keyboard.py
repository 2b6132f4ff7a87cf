"""Without a mouse, without sight: the focus is somewhere after each action, and an answer is heard once, whole."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Server, sign_in, until
from tests.e2e.test_sidebar import NAMES, seed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LONG = "Write a very long story about a lighthouse."
HELD_MS = 90        # as long as a finger is on a key: what opens or closes meanwhile has the key's release
# What a screen reader is given to say, in order.
LISTEN = """() => {
  const LIVE = "[aria-live=polite], [aria-live=assertive], [role=status], [role=alert]";
  window.heard = [];
  new MutationObserver((records) => {
    const all = (node) => (node.nodeType === 1 ? [node, ...node.querySelectorAll("*")] : []);
  const inside = (node) => all(node).filter((each) => each.matches(LIVE));
    const around = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest(LIVE);
    const touched = records.flatMap(({ target, addedNodes }) => [around(target), ...[...addedNodes].flatMap(inside)]);
    for (const region of new Set(touched)) if (region?.textContent.trim()) heard.push(region.textContent.trim());
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_an_answer_is_heard_once_when_it_is_whole_and_so_is_what_became_of_it(
    server: Server, browser: Browser
) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.evaluate(LISTEN)
    await page.keyboard.type("What is the capital of France?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Try again")).to_be_visible()
    written = await page.locator(".nk-answer .prose").inner_text()
    await until(lambda: _heard(page, "Paris"), "the answer is told")
    assert [text for text in await page.evaluate("heard") if "Paris" in text] == [written.strip()]

    await page.evaluate("heard.length = 0")
    await page.keyboard.type(LONG)
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-answer .prose")).to_have_count(2)
    await expect(page.locator(".nk-answer .prose").last).not_to_be_empty()
    await page.keyboard.press("Escape")
    await until(lambda: _heard(page, "Stopped. What was written is kept."), "that it was stopped is told")
    assert len(await page.evaluate("heard")) < 5        # what it waited for, and the end: no single words

    await expect(page.get_by_label("Stop", exact=True)).to_have_count(0)
    await page.get_by_label("Message", exact=True).fill("word " * 200_000)
    await page.keyboard.press("Enter")
    await until(lambda: _heard(page, "too long"), "what was wrong is told")


async def test_no_step_of_a_conversation_loses_the_focus(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    answer, stop = page.locator(".nk-answer"), page.get_by_label("Stop", exact=True)
    await page.keyboard.type(LONG)
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-answer .prose")).not_to_be_empty()
    await page.keyboard.press("Escape")
    go_on = page.get_by_role("button", name="Continue")
    await _press(page, go_on, "Enter")
    await expect(stop).to_be_visible()
    await _has_focus(page)
    await page.keyboard.press("Escape")
    await expect(stop).to_have_count(0)
    await _has_focus(page)

    more = answer.get_by_label("More")
    await _press(page, more, "Enter")
    await expect(page.get_by_role("menuitem").first).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    await page.keyboard.press("Enter", delay=HELD_MS)
    await expect(answer).to_have_count(0)
    await _has_focus(page)
    await page.keyboard.press("Control+z")      # the toast is far away, its Undo is not
    await expect(answer).to_have_count(1)
    await _press(page, more, "Enter")
    await page.get_by_role("menuitem", name="Delete").press("Enter")
    await _press(page, page.get_by_role("button", name="Undo"), "Enter")
    await expect(answer).to_have_count(1)
    await _has_focus(page)

    await page.keyboard.press("Shift+Escape")
    await page.keyboard.press("ArrowUp")
    await expect(page.locator("textarea[aria-label='Edit your message']")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Edit your message")).to_be_focused()
    for button in ("Hide sidebar", "Show sidebar"):
        await _press(page, page.get_by_role("button", name=button), "Enter")
        await _has_focus(page)
    await expect(page.get_by_role("button", name="Hide sidebar")).to_be_focused()

    picker = page.get_by_role("button", name="Model:")
    await _press(page, picker, "Enter")
    await expect(page.get_by_role("menuitemradio").first).to_be_focused()
    await page.keyboard.press("Enter", delay=HELD_MS)
    await expect(picker).to_be_focused()
    await expect(page.locator(".q-menu")).to_have_count(0)

    settings = page.get_by_role("button", name="Chat settings", exact=True)
    await _press(page, settings, "Enter")
    await expect(page.get_by_role("heading", name="Chat settings")).to_be_focused()
    await page.evaluate("document.documentElement.dir = 'rtl'")
    await page.get_by_role("radio", name="Leave out").press("ArrowLeft")
    await expect(page.get_by_role("radio", name="Sum up")).to_be_checked()
    await expect(page.get_by_role("radio", name="Sum up")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(settings.or_(page.get_by_label("Chat settings, changed"))).to_be_focused()


async def test_no_step_in_the_sidebar_and_the_library_loses_the_focus(server: Server, browser: Browser) -> None:
    name = server.add_user()
    seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    await _press(page, page.get_by_role("link", name="Lease", exact=True), "Delete")
    await expect(page.get_by_role("link", name="Movers", exact=True)).to_be_focused()
    await page.keyboard.press("Control+z")
    await expect(page.get_by_role("link", name="Lease", exact=True)).to_be_visible()
    await _press(page, page.get_by_role("button", name="New folder"), "Enter")
    await expect(page.get_by_label("Name of the folder")).to_be_focused()
    await page.keyboard.type("Moving office")
    await page.keyboard.press("Enter", delay=HELD_MS)
    folder = page.get_by_role("button", name="Moving office", exact=True)
    await expect(folder).to_be_visible()
    await _has_focus(page)
    lease = page.get_by_role("link", name="Lease", exact=True)
    await _press(page, lease, "Shift+F10")
    await page.get_by_role("menuitem", name="Move to").press("Enter", delay=HELD_MS)
    await page.get_by_role("menuitem", name="Moving office").press("Enter", delay=HELD_MS)
    await expect(lease).to_have_count(0)
    await expect(page.get_by_role("link", name="Movers", exact=True)).to_be_focused()
    await page.evaluate("document.documentElement.dir = 'rtl'")
    await _press(page, folder, "ArrowLeft")
    await expect(lease).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await expect(lease).to_have_count(0)

    await page.keyboard.press("Control+Shift+F")
    await page.keyboard.type("question")
    await expect(page.locator(".nk-hit")).to_have_count(len(NAMES))
    await _press(page, page.get_by_role("button", name="Who"), "Enter")
    await page.get_by_role("menuitemcheckbox", name="My messages").press("Enter", delay=HELD_MS)
    await expect(page.get_by_label("Search chats")).to_be_focused()

    await page.goto(f"{server.url}/library")
    await _press(page, page.get_by_role("button", name="New prompt"), "Enter")
    form = page.get_by_role("dialog")
    await expect(form.get_by_label("Name")).to_be_focused()
    await page.keyboard.type("Translate")
    await form.get_by_label("Prompt", exact=True).fill("Into German:")
    await form.get_by_role("button", name="Save").press("Enter", delay=HELD_MS)
    more = page.get_by_label("More for Translate")
    await _press(page, more, "Enter")
    await page.get_by_role("menuitem", name="Duplicate").press("Enter", delay=HELD_MS)
    copy = page.get_by_label("More for Copy of Translate")
    await expect(copy).to_be_visible()
    await expect(more).to_be_focused()          # the row that was made anew
    await _press(page, copy, "Enter")
    await page.get_by_role("menuitem", name="Delete").press("Enter", delay=HELD_MS)
    await expect(copy).to_have_count(0)
    await _has_focus(page)
    await page.keyboard.press("Control+z")
    await expect(copy).to_be_visible()
    await _has_focus(page)


async def _press(page: Page, locator: Locator, key: str) -> None:
    await locator.press(key, delay=HELD_MS)
    await _has_focus(page)


async def _has_focus(page: Page) -> None:
    await expect(page.locator("body :focus")).to_have_count(1)


async def _heard(page: Page, words: str) -> bool:
    return any(words in text for text in await page.evaluate("heard"))
