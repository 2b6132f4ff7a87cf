"""What a newcomer does and sees: the link, an account, a question, its answer, and that all of it stays."""

from __future__ import annotations

import asyncio
import re
import signal

import httpx
import pytest
from playwright.async_api import Browser, Page, Request, expect

from tests.e2e.conftest import PASSWORD, Server, new_context, until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

QUESTION = "What is the capital of France?"


async def test_setup_leads_to_an_answered_question_that_survives_reload_and_restart(
    fresh_server: Server, browser: Browser
) -> None:
    fresh_server.start()
    context = await new_context(browser)
    elsewhere: list[str] = []
    context.on("request", lambda request: _note_foreign(request, fresh_server, elsewhere))
    page = await context.new_page()

    await page.goto(fresh_server.setup_link())
    await page.get_by_label("Your name").fill("Mira Kovač")
    await page.locator("input[type=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    message = page.get_by_label("Message", exact=True)
    await message.wait_for()
    await expect(page.get_by_text("small starter model")).to_be_visible()

    await message.fill(QUESTION)
    await page.keyboard.press("Enter")
    await _shows_the_answer(page)
    await page.reload()
    await _shows_the_answer(page)
    assert fresh_server.stop() == 0

    fresh_server.start()
    assert not any("token=" in line for line in fresh_server.output)          # set up once and for all
    page = await _another_tab(page, fresh_server.url)
    await page.locator("[data-chat]").click()
    await _shows_the_answer(page)
    assert elsewhere == []


async def test_a_used_setup_link_says_what_to_do(fresh_server: Server, browser: Browser) -> None:
    fresh_server.start()
    link = fresh_server.setup_link()
    fresh_server.add_user(admin=True)
    page = await (await new_context(browser)).new_page()
    await page.goto(link)
    await expect(page.get_by_role("link", name=re.compile("Sign in", re.IGNORECASE))).to_be_visible()


async def test_two_people_with_the_link_make_one_admin(fresh_server: Server) -> None:
    fresh_server.start()
    token = fresh_server.setup_link().partition("token=")[2]
    async with httpx.AsyncClient(base_url=fresh_server.url) as client:
        forms = [{"token": token, "name": name, "password": PASSWORD} for name in ("first", "second")]
        answers = await asyncio.gather(*(client.post("/setup", data=form) for form in forms))
    [(name, role)] = fresh_server.query("select name, role from user")
    assert (role, sum("set-cookie" in answer.headers for answer in answers)) == ("admin", 1)
    assert name in ("first", "second")


async def test_kill_in_mid_answer_keeps_the_text_and_offers_to_continue(fresh_server: Server, browser: Browser) -> None:
    fresh_server.start()
    page = await (await new_context(browser)).new_page()
    await page.goto(fresh_server.setup_link())
    await page.get_by_label("Your name").fill("Tomas")
    await page.locator("input[type=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.get_by_label("Message", exact=True).fill("Write a short poem about the sea.")
    await page.keyboard.press("Enter")
    answer = page.locator(".nk-answer .prose")
    await until(lambda: _is_longer_than(page, 300), "a good part of the answer")
    await until(lambda: fresh_server.query("select 1 from message where length(content) > 100"), "the first save")
    shown = await answer.inner_text()
    fresh_server.stop(signal.SIGKILL)

    fresh_server.start()
    [(status, content)] = fresh_server.query("select status, content from message where role = 'assistant'")
    assert status == "interrupted"
    assert isinstance(content, str)
    assert len(content) > 100
    assert shown.split()[:10] == content.split()[:10]
    assert fresh_server.query("pragma integrity_check") == [("ok",)]
    page = await _another_tab(page, fresh_server.url)
    await page.locator("[data-chat]").click()
    await expect(page.get_by_role("button", name="Continue")).to_be_visible()
    await page.get_by_role("button", name="Continue").click()
    await until(
        lambda: fresh_server.query("select 1 from message where length(content) > ?", len(content)), "more text"
    )
    [(longer,)] = fresh_server.query("select content from message where role = 'assistant'")
    assert str(longer).startswith(content)


def test_a_second_start_names_the_first_and_leaves_it_alone(fresh_server: Server) -> None:
    fresh_server.start()
    assert f"running already: {fresh_server.url}" in fresh_server.command()
    refused = fresh_server.command("serve", "--port", str(fresh_server.port), "--no-browser", exit_code=1)
    assert f"{fresh_server.url})" in refused
    assert fresh_server.answers()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_and_frees_the_port(fresh_server: Server, how: signal.Signals) -> None:
    fresh_server.start()
    assert fresh_server.stop(how) == 0
    fresh_server.start()
    assert fresh_server.answers()


async def _another_tab(page: Page, url: str) -> Page:
    """In place of `page`, which loads itself anew once its server is back: two loads at once abort one another."""
    other = await page.context.new_page()
    await page.close()
    await other.goto(url)
    return other


async def _shows_the_answer(page: Page) -> None:
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Paris")
    await expect(page.locator(".nk-bubble")).to_have_text(QUESTION)
    await expect(page.locator("[data-chat]")).to_be_visible()        # by now it may have a better title


async def _is_longer_than(page: Page, num_characters: int) -> bool:
    answer = page.locator(".nk-answer .prose")
    return await answer.count() > 0 and len(await answer.inner_text()) > num_characters


def _note_foreign(request: Request, server: Server, elsewhere: list[str]) -> None:
    if not request.url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:")):
        elsewhere.append(request.url)
