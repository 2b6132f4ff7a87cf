"""Long names of models and long reasons, on a phone: nothing is cut within a word, squeezed, or grown by them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from playwright.async_api import Browser, FloatRect, Page, expect

from tests.e2e.conftest import PacedServer, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NAME = "Meta-Llama-3.1-Nemotron-Ultra-253B-Instruct-Distilled"
REASON = "The model ran out of memory while it read the question: it needs 4.9 GiB, of which 3.1 GiB are free. " * 2
CUT = """() => [...document.querySelectorAll(".nk-stats > span")].filter((each) => {
    const box = each.getBoundingClientRect();
    const line = each.parentElement.getBoundingClientRect();
    const isWhole = box.right <= line.right + 1 && each.scrollWidth <= each.clientWidth + 1;
    return box.width > 0 && !each.matches(".nk-sr, .nk-ell") && !isWhole;
}).map((each) => each.textContent)"""


def write(server: PacedServer, sql: str, *values: str) -> None:
    with closing(sqlite3.connect(server.data_dir / "inglenook.sqlite3")) as connection, connection:
        connection.execute(sql, values)


async def box(page: Page, selector: str) -> FloatRect:
    found = await page.locator(selector).bounding_box()
    assert found is not None
    return found


async def test_a_long_name_and_a_long_reason_leave_a_phones_page_in_order(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.get_by_label("Message", exact=True).fill("count to 12")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-answer")).to_have_attribute("data-status", "complete")
    empty = await box(page, ".nk-composer textarea")
    write(paced_server, "UPDATE model SET name = ?", NAME)
    write(paced_server, "UPDATE message SET status = 'failed', error = ? WHERE role = 'assistant'", REASON)
    await page.reload()
    name = page.locator(".nk-stats .nk-ell")
    await expect(name).to_contain_text(NAME)
    assert await name.evaluate("(each) => each.scrollWidth > each.clientWidth")     # an ellipsis
    assert await page.evaluate(CUT) == []
    assert (await box(page, ".nk-composer textarea"))["height"] == empty["height"]
    field = page.locator(".nk-composer textarea")
    assert await field.evaluate("(each) => each.scrollHeight <= each.clientHeight")
    text, again = await box(page, ".nk-notice .nk-grow"), await box(page, ".nk-notice .nk-btn")
    assert again["y"] >= text["y"] + text["height"] and text["width"] > 250
