"""A model is measured in a real browser: seen in two tabs, stopped, drawn, paid for, on a desk and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PacedServer, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OVERFLOWING = """() => [...document.querySelectorAll(".nk-page *")].filter((each) =>
  each.checkVisibility() && !each.closest(".nk-bench-table thead, .nk-sr") &&
  each.getBoundingClientRect().right > innerWidth + 1).map((each) => each.outerHTML.slice(0, 120))"""


async def test_a_model_is_measured_seen_in_two_tabs_and_paid_for(paced_server: PacedServer, browser: Browser) -> None:
    name = paced_server.add_user(admin=True)
    page = await sign_in(browser, paced_server, name)
    await page.goto(f"{paced_server.url}/models")
    await page.get_by_role("link", name="Measure").click()
    second = await page.context.new_page()
    await second.goto(f"{paced_server.url}/models/bench")

    paced_server.pace(0.3)
    await _measures(page)
    running = second.locator(".nk-bench-run")
    await expect(running).to_contain_text("Measuring Counter and Other")
    await expect(running).to_contain_text(re.compile("Counter1 at once, 1 of 2.* left"))    # from the first round on
    await running.get_by_role("button", name="Stop").click()
    await expect(running).to_be_hidden()
    assert paced_server.query("SELECT count(*) FROM benchmark") == [(0,)]

    paced_server.pace(0.01)
    await _measures(page)
    for tab in (page, second):
        await expect(tab.locator(".nk-curve")).to_have_count(2)
        await expect(tab.get_by_role("img", name="Tokens a second. Counter: 1: ")).to_be_visible()
        await expect(tab.get_by_role("table")).to_have_count(3)
    await expect(page.locator(".nk-bench-run")).to_be_hidden()
    speeds = [float(each) for each in await _column(page, "Counter", "Tok/s")]
    assert 10 < speeds[0] < 100 and speeds[0] < speeds[1] < 400      # a step takes 10 ms, for however many

    await _reckons(page)
    await second.set_viewport_size({"width": 360, "height": 780})
    await expect(second.get_by_text("million tokens a month").first).to_be_visible()
    assert await second.evaluate(OVERFLOWING) == []
    table = second.get_by_role("region", name="Side by side")       # its rows stand below each other: all is in sight
    assert await table.evaluate("each => each.scrollWidth <= each.clientWidth")
    await expect(table.get_by_role("row")).to_have_count(3)
    shown = await table.get_by_role("cell").first.evaluate("each => getComputedStyle(each, '::before').content")
    assert shown == '"Tok/s"'

    await page.reload()
    past = page.locator(".nk-bench-past")
    await expect(past).to_have_count(2)
    await expect(past.first).to_contain_text("Inglenook")


async def _measures(page: Page) -> None:
    await page.get_by_role("combobox", name="Model", exact=True).select_option("counter")
    await page.get_by_role("combobox", name="Beside it").select_option("other")
    await page.get_by_role("button", name="Typed").click()
    await page.get_by_label("Your questions").fill("count to 200\ncount to 300")
    await page.get_by_label("At once").fill("1, 4")
    await page.get_by_label("Tokens an answer").fill("16")
    await page.get_by_label("Repetitions").fill("2")
    await page.get_by_label("Repetitions").press("Enter")
    await expect(page.locator(".nk-bench-run")).to_contain_text("Measuring Counter and Other")


async def _reckons(page: Page) -> None:
    for label, amount in (("Watts", "65"), ("A kilowatt hour", "0.32"), ("Each month", "5")):
        await page.get_by_label(label, exact=True).fill(amount)
    await page.get_by_label("API", exact=True).fill("2")
    await page.get_by_label("API", exact=True).press("Enter")
    await expect(page.get_by_text(re.compile(r"Above [\d.]+ million tokens a month")).first).to_be_visible()
    await expect(page.get_by_role("columnheader", name="A million tokens")).to_have_count(2)


async def _column(page: Page, model: str, title: str) -> list[str]:
    table = page.get_by_role("region", name=model, exact=True).get_by_role("table")
    titles = await table.get_by_role("columnheader").all_inner_texts()
    cells = table.locator(f"tbody tr > :nth-child({titles.index(title) + 1}) b")
    return await cells.all_inner_texts()
