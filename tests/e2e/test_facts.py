"""What is told of a model stands within its row on screens of all widths, and what the colours mean is told on each."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from app.services.models import STARTER_ID
from tests.e2e.conftest import Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

WIDTHS = (320, 390, 820, 1024, 1280, 1440)
LONG = "llama.cpp 0.3.36-12-g0f9d3ab1c2_with_CUDA_12.8_of_November"
# Facts whose words are wider than their place, or than what lies over it.
OUT = """() => [...document.querySelectorAll(".nk-mrow :is(b, .nk-cell > span, dd > span), dl.nk-facts dd > *")]
  .filter((each) => each.textContent && each.checkVisibility()).filter((each) => {
    const words = document.createRange();
    words.selectNodeContents(each);
    const { left, right } = words.getBoundingClientRect();
    const place = each.closest(".nk-cell, dd").getBoundingClientRect();
    const row = each.closest(".nk-mrow, dl"), style = getComputedStyle(row), whole = row.getBoundingClientRect();
    const end = whole.right - parseFloat(style.paddingRight), start = whole.left + parseFloat(style.paddingLeft);
    return right > Math.min(place.right, end) + 0.5 || left < Math.max(place.left, start) - 0.5;
  }).map((each) => each.textContent)"""
LENGTHEN = """(long) => {
  for (const each of document.querySelectorAll(".nk-speed b, dl.nk-facts b")) each.textContent = long;
}"""


async def outside(page: Page, width: int) -> list[str]:
    await page.set_viewport_size({"width": width, "height": 900})
    out: list[str] = await page.evaluate(OUT)
    return [f"{width}: {each}" for each in out]


async def test_facts_of_a_model_stay_in_their_row(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    for path in ("/models", f"/models/installed/{STARTER_ID}"):
        await page.goto(server.url + path)
        await expect(page.locator(".nk-mrow .nk-speed b").first).to_contain_text("llama.cpp")      # it is loaded
        assert [each for width in WIDTHS for each in await outside(page, width)] == []
        await page.evaluate(LENGTHEN, LONG)
        assert [each for width in WIDTHS for each in await outside(page, width)] == []


async def test_what_is_faded_in_the_memorys_bar_is_told_on_every_screen(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    await page.goto(f"{server.url}/models")
    await expect(page.locator(".nk-mem .nk-ctx").first).to_be_visible()
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        await expect(page.get_by_text("Faded: room for conversations")).to_be_visible()
