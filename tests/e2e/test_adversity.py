"""What goes wrong around a chat: servers that end, models and presets that go, tabs in each other's way."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
from contextlib import closing

import pytest
from playwright.async_api import Browser, Page, expect

from tests.app.elsewhere import chatgpt_conversation
from tests.e2e.conftest import PacedServer, Server, sign_in, until
from tests.e2e.line import line_to
from tests.e2e.test_sidebar import NAMES, seed

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SECRET = "Zephyrine"


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message", exact=True).fill(text)
    await page.keyboard.press("Enter")


async def begin_temporary(page: Page, text: str) -> None:
    await page.get_by_role("button", name="Temporary chat").click()
    await say(page, text)
    await expect(page.locator(".nk-answer .prose")).to_contain_text("1 2 3")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_temporary_chat_that_its_server_took_along_is_told_to_be_gone(
    paced_server: PacedServer, browser: Browser, how: signal.Signals
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    paced_server.pace(0.02)
    await begin_temporary(page, f"{SECRET} count to 1000")
    paced_server.stop(how)
    paced_server.start()
    gone = page.get_by_text("The temporary chat is gone: it was kept nowhere.")
    await expect(gone).to_be_visible()
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert SECRET not in kept
    await page.keyboard.type("Anything")
    await expect(gone).to_have_count(0)
    await page.reload()
    await expect(page.get_by_label("Message", exact=True)).to_have_value("Anything")
    await expect(gone).to_have_count(0)
    await begin_temporary(page, f"{SECRET} count to 5")
    await page.get_by_role("link", name="New chat").first.click()       # left by its reader, who knows
    await page.get_by_role("heading", name="reader-").wait_for()
    await page.reload()
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    await expect(gone).to_have_count(0)
    paced_server.stop()
    files = [path for path in paced_server.data_dir.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert errors == []


async def test_an_import_that_a_killed_server_cut_is_told_and_gone_on_with(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    file = paced_server.data_dir.parent / "chats.json"
    file.write_text(json.dumps([chatgpt_conversation(f"c{number}") for number in range(400)]))

    def num_chats() -> int:
        [(number,)] = paced_server.query("select count(*) from conversation")
        return int(str(number))

    await page.goto(f"{paced_server.url}/settings")
    await page.locator("input[type=file]").set_input_files(file)
    await until(lambda: num_chats() >= 20, "some chats")
    paced_server.stop(signal.SIGKILL)
    num_left = num_chats()
    assert num_left < 400
    paced_server.start()
    await expect(page.get_by_text("Inglenook was stopped while it read your file.")).to_be_visible()
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_text(f"{400 - num_left} chats added. {num_left} chats were here already.")).to_be_visible()
    assert num_chats() == 400
    assert not list(paced_server.data_dir.glob("imports/*"))


async def test_what_is_shown_is_what_is_asked_where_a_model_is_gone(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await page.goto(f"{paced_server.url}/?model=ghost")
    await expect(page.locator(".nk-absent")).to_contain_text("ghost is not here, or no longer.")
    await page.get_by_role("button", name="Use Counter").click()
    await expect(page.locator(".nk-head")).to_contain_text("Counter")
    await say(page, "count to 4")
    await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4")

    await page.goto(f"{paced_server.url}/library")
    await page.get_by_role("button", name="New preset").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill("Mine")
    await form.get_by_label("Model").select_option("Other")
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    with closing(sqlite3.connect(paced_server.data_dir / "inglenook.sqlite3")) as connection, connection:
        connection.execute("update preset set model_id = 'ghost', is_default = true")
    await page.reload()
    await page.locator(".nk-lib-open").click()
    await expect(form.get_by_label("Model")).to_have_value("ghost")
    await form.get_by_label("Name").fill("Mine still")
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    assert paced_server.query("select name, model_id from preset") == [("Mine still", "ghost")]
    await page.goto(paced_server.url)       # the default preset, whose model is gone: another is a person's to choose
    await page.get_by_role("button", name="Use Counter").click()
    await say(page, "count to 5")
    await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4 5")


async def test_sliders_move_by_keys_and_by_mouse_while_an_answer_is_written(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    paced_server.pace(0.05)
    await say(page, "count to 100")
    await page.wait_for_url("**/c/*")
    chat_id = page.url.rpartition("/")[2]
    kept = "select json_extract(parameters, '$.temperature') from conversation where id = ?"
    await page.get_by_role("button", name="Chat settings").click()
    slider = page.get_by_role("slider", name="Temperature")
    number = page.get_by_role("spinbutton", name="Temperature")
    await slider.focus()
    for _ in range(12):
        await page.keyboard.press("ArrowRight")
    await expect(slider).to_have_value("1.3")
    await expect(number).to_have_value("1.3")
    await until(lambda: paced_server.query(kept, chat_id) == [(1.3,)], "what was set by keys")
    place = await slider.bounding_box()
    assert place is not None
    await page.mouse.move(place["x"] + place["width"] * 0.65, place["y"] + place["height"] / 2)
    await page.mouse.down()
    await page.mouse.move(place["x"] + place["width"] * 0.25, place["y"] + place["height"] / 2, steps=8)
    await page.mouse.up()
    moved = float(await slider.input_value())
    assert 0.4 <= moved <= 0.6
    await until(lambda: paced_server.query(kept, chat_id) == [(moved,)], "what was set by the mouse")
    await number.fill("0.9")
    await page.keyboard.press("Tab")
    await expect(slider).to_have_value("0.9")
    await expect(page.locator(".nk-answer .prose")).to_contain_text("99 100")


async def test_of_several_chats_that_are_deleted_only_those_that_were_still_there_are_told(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    seed(server, name, NAMES)
    page = await sign_in(browser, server, name)
    other = await page.context.new_page()
    await other.goto(server.url)
    for title in ("Lease", "Bread", "Photo"):
        await page.get_by_role("link", name=title, exact=True).click(modifiers=["Control"])
    await other.get_by_role("link", name="Bread", exact=True).focus()
    await other.keyboard.press("Delete")
    await expect(page.get_by_role("link", name="Bread", exact=True)).to_have_count(0)
    await page.get_by_role("link", name="Lease", exact=True).focus()
    await page.keyboard.press("Delete")
    await expect(page.get_by_text(re.compile(r"^2 chats deleted"))).to_be_visible()
    for tab in (page, other):
        await tab.get_by_role("button", name="Undo").click()
    for tab in (page, other):
        await expect(tab.locator(".nk-side-rows .nk-nav-link")).to_have_text([*NAMES])


async def test_what_was_said_into_a_dying_line_arrives_once_and_what_was_written_on_stays(
    paced_server: PacedServer, browser: Browser
) -> None:
    name = paced_server.add_user()
    said = "select content from message where role = 'user' order by created_at"
    async with line_to(paced_server.port) as line:
        page = await sign_in(browser, paced_server, name, line.url)
        field = page.get_by_label("Message", exact=True)
        line.hold()
        await say(page, "count to 4")
        await page.keyboard.type(" and then")
        line.cut()
        await page.wait_for_url("**/c/*")
        await expect(page.locator(".nk-answer .prose")).to_have_text("1 2 3 4")
        await expect(field).to_have_value("and then")

        await field.fill("count to 5")
        await expect(page.get_by_label("Send", exact=True)).to_be_enabled()
        line.hold()
        await page.keyboard.press("Enter")
        line.cut()
        await expect(page.locator(".nk-answer .prose").last).to_have_text("1 2 3 4 5")
        await expect(field).to_have_value("")
        assert paced_server.query(said) == [("count to 4",), ("count to 5",)]

        await page.locator(".nk-said").last.get_by_label("Edit your message").click()
        await page.locator(".nk-said textarea").fill("count to 6")
        line.hold()
        await page.keyboard.press("Control+Enter")
        line.cut()
        await expect(page.locator(".nk-answer .prose").last).to_have_text("1 2 3 4 5 6")
        assert paced_server.query(said) == [("count to 4",), ("count to 5",), ("count to 6",)]


async def test_marks_without_end_on_one_letter_do_not_hold_the_page(server: Server, browser: Browser) -> None:
    name = server.add_user()
    absurd = "Zalgo a" + "\u0301" * 100_000
    (chat_id,) = seed(server, name, ["Zalgo"], answer=absurd)
    with closing(sqlite3.connect(server.data_dir / "inglenook.sqlite3")) as connection, connection:
        of_user = "update message set content = ? where conversation_id = ? and role = 'user'"
        connection.execute(of_user, (absurd, chat_id))
    page = await sign_in(browser, server, name)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"{server.url}/c/{chat_id}")
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Zalgo")
    laid_out = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    async with asyncio.timeout(10):         # it took half a minute for each
        await page.evaluate(laid_out)
    for message in (page.locator(".nk-said"), page.locator(".nk-answer")):
        await message.hover()
        await message.get_by_label("Copy", exact=True).click()
        is_whole = f"navigator.clipboard.readText().then((text) => text.length === {len(absurd)})"
        await until(lambda is_whole=is_whole: page.evaluate(is_whole), "the text as it is")
