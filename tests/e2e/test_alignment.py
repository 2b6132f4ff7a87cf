"""What stands below each other stands in one line, and nothing stands alone or in an empty band."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, FloatRect, Locator, expect

from tests.e2e.conftest import Server, sign_in
from tests.e2e.test_composer import ask

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PARTS = ".nk-card :is(.nk-set, .nk-form, .nk-settings, .nk-person, .nk-people-none, .nk-mrow)"       # of cards


async def box(found: Locator) -> FloatRect:
    place = await found.bounding_box()
    assert place is not None
    return place


async def test_names_of_models_stand_in_line_with_the_rest_of_their_menu(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    await page.get_by_role("button", name="Model:").click()
    name = page.get_by_role("menuitemradio").locator(".nk-grow > span").first
    rest = page.get_by_role("menuitem", name="All models").locator("span")
    await expect(rest).to_be_visible()
    assert abs((await box(name))["x"] - (await box(rest))["x"]) < 1


async def test_no_filter_of_the_search_stands_alone(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await ask(page)
    await page.get_by_role("button", name="Search").click()
    chips = page.get_by_role("group", name="Narrow the search").get_by_role("button")
    await expect(chips).to_have_text(["Date", "Who", "Model", "Pinned", "Archive"])
    tops = [(await box(chips.nth(number)))["y"] for number in range(5)]
    assert min(tops.count(top) for top in tops) > 1


async def test_a_new_prompts_form_has_no_empty_band_and_its_grip_in_the_corner(
    server: Server, browser: Browser
) -> None:
    page = await sign_in(browser, server, server.add_user())
    await page.goto(f"{server.url}/library")
    await page.get_by_role("button", name="New prompt").click()
    form = page.get_by_role("dialog")
    await form.get_by_role("button", name="Save").click(trial=True)     # it has come to rest
    content = form.get_by_label("Prompt", exact=True)
    words, footer = await box(form.get_by_text("Two braces ask")), await box(form.locator(".nk-acts"))
    assert footer["y"] - words["y"] - words["height"] < 30
    inner, outer = await box(content), await box(form.locator(".q-textarea .q-field__control"))
    assert abs(inner["x"] + inner["width"] - outer["x"] - outer["width"]) < 1
    assert abs(inner["y"] + inner["height"] - outer["y"] - outer["height"]) < 1
    await content.fill("In {{language}}")
    await expect(form.locator(".nk-asked")).to_contain_text("language")


async def test_cards_on_a_phone_have_one_padding(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    await page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/settings", "/people", "/models", "/library"):
        await page.goto(server.url + path)
        parts = page.locator(PARTS).filter(visible=True)
        await expect(parts.first).to_be_visible()
        starts = await parts.evaluate_all("parts => parts.map((each) => getComputedStyle(each).paddingInlineStart)")
        assert set(starts) == {"16px"}, path
