"""Writing: drafts, input methods, Esc, /commands with their variables, a chat's settings, presets, temporary chats."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from app.services.models import STARTER_ID
from tests.e2e.conftest import Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTION = "What is the capital of France?"
LONG_STORY = "Write a very long story about a lighthouse."


def field(page: Page) -> Locator:
    return page.get_by_label("Message", exact=True)


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def ask(page: Page, text: str = QUESTION) -> None:
    await field(page).fill(text)
    await press(page, "Enter")
    await expect(page.get_by_label("Try again").last).to_be_visible()


async def save_prompt(page: Page, name: str, content: str) -> None:
    await page.get_by_role("button", name="New prompt").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill(name)
    await form.get_by_label("Prompt", exact=True).fill(content)
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)


async def test_a_draft_outlives_the_tab_and_goes_with_its_writer(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await field(page).fill("half a thought")
    await page.reload()
    await expect(field(page)).to_have_value("half a thought")
    later = await page.context.new_page()       # as after a restart: a tab that has nothing of its own
    await page.close()
    await later.goto(server.url)
    await expect(field(later)).to_have_value("half a thought")
    await later.get_by_role("button", name="reader-").click()
    await later.get_by_role("menuitem", name="Sign out").click()
    await later.wait_for_url("**/login")
    kept = await later.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "half a thought" not in kept


async def test_a_suggestion_begins_a_message_and_takes_nothing_away(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.get_by_role("button", name="Write a letter").click()
    await expect(field(page)).to_have_value("Write a letter to ")
    await page.get_by_role("button", name="Sum up a text").click()      # another one instead
    await expect(field(page)).to_have_value("Sum up this text in five points:\n\n")
    await expect(field(page)).to_be_focused()
    await page.keyboard.type("It rained.")
    await expect(field(page)).to_have_value("Sum up this text in five points:\n\nIt rained.")
    await field(page).fill("def f(): pass")
    await page.get_by_role("button", name="Explain code").click()
    await expect(field(page)).to_have_value("Explain step by step what this code does:\n\ndef f(): pass")
    await page.keyboard.type("quickly ")
    await expect(field(page)).to_have_value("Explain step by step what this code does:\n\nquickly def f(): pass")


async def test_enter_ends_a_composition_and_does_not_send(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await field(page).focus()
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    key = {"key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}     # what browsers send meanwhile
    await devtools.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    await devtools.send("Input.insertText", {"text": "日本"})
    await field(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    await expect(field(page)).to_have_value("日本")
    await expect(page).to_have_url(f"{server.url}/")
    await press(page, "Shift+Enter")
    await page.keyboard.type("?")
    await expect(field(page)).to_have_value("日本\n?")
    await press(page, "Enter")
    await page.wait_for_url("**/c/*")


async def test_esc_stops_and_a_long_text_tells_its_length(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await field(page).fill(LONG_STORY)
    await press(page, "Enter")
    await page.get_by_label("Stop").wait_for()
    await expect(page.locator(".nk-answer .prose")).not_to_be_empty()
    await press(page, "Escape")
    await expect(page.get_by_label("Stop")).to_have_count(0)
    await expect(page.locator(".nk-answer")).to_have_attribute("data-status", "stopped")
    await expect(field(page)).to_be_focused()

    text = "word " * 40_000
    took_ms = await page.evaluate(
        """async (text) => {
            const box = document.querySelector("[data-nk-composer]"), start = performance.now();
            box.focus();
            document.execCommand("insertText", false, text);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            return performance.now() - start;
        }""", text,
    )
    assert took_ms < 4000       # not a figure: only that nothing goes through the text again and again
    await expect(page.get_by_text("200,000 characters, about 50,000 tokens")).to_be_visible()


async def test_a_command_calls_up_a_prompt_that_asks_for_its_variables(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.get_by_role("button", name="reader-").click()
    await page.get_by_role("menuitem", name="Library").click()
    await page.wait_for_url("**/library")
    await save_prompt(page, "Translate", "Into {{language=German|Polish}}: {{selection}} {{note}}")
    await save_prompt(page, "Today", "Today is {{date}}.")
    await save_prompt(page, "Odd", "{{__proto__=a}}{{constructor=b}}{{hasOwnProperty=c}}")
    await save_prompt(page, "Todo", "My list:")

    await page.get_by_role("link", name="Back to chats").click()
    await ask(page)
    await field(page).click()
    await page.keyboard.type("Please /to")
    options = page.get_by_role("option")
    await expect(options).to_have_text(["/todayToday", "/todoTodo"])
    await expect(page.get_by_role("combobox", name="Message")).to_have_attribute("aria-expanded", "true")
    active = await page.get_by_role("combobox").get_attribute("aria-activedescendant")
    await expect(page.locator(f"[id='{active}']")).to_have_attribute("aria-selected", "true")
    await press(page, "ArrowDown", "ArrowDown", "ArrowUp")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await press(page, "Tab")
    await expect(field(page)).to_have_value("Please My list:")
    await expect(field(page)).to_be_focused()

    await field(page).fill("")
    await page.keyboard.type("/todayx")
    await expect(options).to_have_count(0)
    await press(page, "Backspace")
    await expect(options).to_have_count(1)
    await press(page, "Escape", "Backspace")
    await expect(options).to_have_count(0)      # closed until another command is begun
    await field(page).fill("")
    await page.keyboard.type("/today")
    await options.first.click()
    await expect(field(page)).to_have_value(re.compile(r"Today is \w+ \d+, \d{4}\.$"))

    await field(page).fill("")
    await page.keyboard.type("/odd")
    await options.first.click()
    await page.get_by_role("dialog", name="Odd").get_by_role("button", name="Insert").click()
    await expect(field(page)).to_have_value("abc")      # names that JavaScript's own objects know are names like any

    await page.locator(".nk-bubble").first.select_text()
    await field(page).fill("")
    await field(page).focus()
    await page.keyboard.type("/tra")
    await options.first.wait_for()
    await press(page, "Enter")
    form = page.get_by_role("dialog", name="Translate")
    await expect(form.get_by_label("Language")).to_be_focused()
    await expect(form.get_by_label("Marked in the chat")).to_have_value(QUESTION)
    await form.get_by_label("Language").select_option("Polish")
    await form.get_by_label("Note").press_sequentially("please")
    await press(page, "Control+Enter")
    await expect(field(page)).to_have_value(f"Into Polish: {QUESTION} please")
    await expect(field(page)).to_be_focused()
    await field(page).fill("/tra")
    await options.first.wait_for()
    await press(page, "Enter")
    await expect(form.get_by_label("Language")).to_be_focused()
    await press(page, "Escape")
    await expect(form).to_have_count(0)
    await expect(field(page)).to_have_value("/tra")
    await expect(field(page)).to_be_focused()


async def test_a_chat_has_settings_of_its_own(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    settings = page.get_by_role("button", name="Chat settings")
    drawer = page.get_by_role("complementary", name="Chat settings")
    await settings.click()
    await drawer.get_by_label("System prompt").fill("Answer in one word.")
    await drawer.get_by_label("Longest answer").fill("0")
    await press(page, "Enter")
    await expect(drawer.get_by_role("alert")).to_have_text("Give a whole number from 1 to 1,000,000.")
    await drawer.get_by_label("Longest answer").fill("3")
    await press(page, "Enter")
    await expect(drawer.get_by_role("alert")).to_have_count(0)
    await press(page, "Escape")
    await expect(drawer).to_have_count(0)
    await expect(settings).to_be_focused()
    await ask(page)
    chat = page.url.rpartition("/")[2]

    def kept() -> tuple[object, ...]:
        sql = "SELECT system_prompt, parameters FROM conversation WHERE id = ?"
        (system_prompt, parameters), = server.query(sql, chat)
        return system_prompt, json.loads(str(parameters))

    assert kept() == ("Answer in one word.", {"max_tokens": 3})
    await page.get_by_label("Try again").click()
    await expect(page.get_by_text("2/2")).to_be_visible()
    await expect(page.locator(".nk-answer").last).to_have_attribute("data-status", "complete")
    lengths = "SELECT completion_tokens FROM message WHERE conversation_id = ? AND role = 'assistant'"
    assert server.query(lengths, chat) == [(3,), (3,)]

    await page.reload()
    await page.get_by_role("button", name="Chat settings, changed").click()
    await expect(drawer.get_by_label("Longest answer", exact=True)).to_have_value("3")
    await drawer.get_by_label("Longest answer: back to 1024").click()
    await expect(drawer.get_by_label("Longest answer", exact=True)).to_have_value("")
    await drawer.get_by_role("button", name="Reset all").click()
    await expect(drawer.get_by_label("System prompt", exact=True)).to_have_value("")
    assert kept() == ("", {})


async def test_a_preset_sets_up_new_chats_and_comes_back_when_deleted(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.goto(f"{server.url}/library")
    await page.get_by_role("button", name="New preset").click()
    form = page.get_by_role("dialog")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_have_text("Give the preset a name.")
    await form.get_by_label("Name").fill("Poet")
    await form.get_by_label("System prompt").fill("You write in rhymes.")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_label("More for Poet").click()
    await page.get_by_role("menuitem", name="Begin new chats with it").click()
    await expect(page.get_by_text("Default for new chats")).to_be_visible()
    await page.get_by_label("More for Poet").click()
    await page.get_by_role("menuitem", name="Duplicate").click()
    await page.get_by_label("More for Copy of Poet").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await expect(page.get_by_text("Copy of Poet")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Copy of Poet")).to_be_visible()

    await page.goto(server.url)
    picker = page.get_by_role("button", name="Model:")
    await expect(picker).to_contain_text("Poet")
    await ask(page)
    chat = page.url.rpartition("/")[2]
    setup = "SELECT system_prompt FROM conversation WHERE id = ?"
    assert server.query(setup, chat) == [("You write in rhymes.",)]
    await picker.click()
    await page.get_by_role("menuitemradio", name="No preset").click()
    await expect(picker).not_to_contain_text("Poet")
    await page.get_by_role("button", name="Chat settings", exact=True).wait_for()
    assert server.query(setup, chat) == [("",)]


async def test_a_temporary_chat_leaves_no_byte_behind(fresh_server: Server, browser: Browser) -> None:
    name = fresh_server.add_user(admin=True)
    fresh_server.command("models", "set", STARTER_ID, "--context", "256")      # answers as short as the window
    page = await sign_in(browser, fresh_server.start(), name)
    await ask(page, "Please remember the kept word quillonite. " * 8)
    await page.get_by_role("link", name="New chat").first.click()
    await page.get_by_role("button", name="Temporary chat").click()
    await expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()
    await ask(page, "Please remember the secret word zephyrine. " * 8)
    await expect(page).to_have_url(f"{fresh_server.url}/")
    await expect(page.get_by_text("gone when you leave this page")).to_be_visible()
    await page.get_by_label("Try again").click()
    await expect(page.get_by_text("2/2")).to_be_visible()
    await expect(page.locator(".nk-answer").last).to_have_attribute("data-status", "complete")
    await field(page).fill("And what of zephyrine?")
    await press(page, "Enter")
    await expect(page.locator(".nk-bubble")).to_have_count(2)
    await expect(page.locator(".nk-answer").last).to_have_attribute("data-status", "complete")
    await field(page).fill("half a word on zephyrine")
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "zephyrine" not in kept
    await page.reload()
    await expect(page.get_by_role("heading", name="Temporary chat")).to_have_count(0)
    await expect(page.get_by_text("zephyrine")).to_have_count(0)
    await page.close()
    assert fresh_server.stop() == 0
    assert await asyncio.to_thread(holders, fresh_server.data_dir, "quillonite")     # the search finds what is there
    assert await asyncio.to_thread(holders, fresh_server.data_dir, "zephyrine") == []
    assert not any("zephyrine" in line for line in fresh_server.output)
    num_stored = len(list((fresh_server.data_dir / "cache" / "kv").rglob("*")))
    assert num_stored > 0       # of the chat that is kept


def holders(folder: Path, text: str) -> list[Path]:
    """The files that hold the text, in either of the ways in which it might be written."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    spellings = (text.encode(), text.encode("utf-16-le"))
    return [path for path in files if any(each in path.read_bytes() for each in spellings)]
