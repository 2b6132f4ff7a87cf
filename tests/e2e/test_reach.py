"""Every screen and every reader: narrow windows, large text, lines from right to left, and no server at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from installers.steps import BROWSERS
from tests.e2e.conftest import CHROMIUM_FLAGS, PASSWORD, Server, sign_in, until
from tests.e2e.states import (
    drawer,
    edit,
    file_form,
    filtered_search,
    furnished,
    leave,
    preset_form,
    prompt_form,
    selection,
    stands_still,
    tags,
    variables,
)
from tests.e2e.states_of_people import person_deleted, person_form, person_password

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATHS = ("/", "/settings", "/models", "/models/bench", "/library", "/people")
OUTSIDE = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const { left, right, width, height } = each.getBoundingClientRect();
  if (!width || !height || (left >= -1 && right <= innerWidth + 1)) return false;
  const isMeant = each.closest(".q-loading-bar, .nk-hearth, .nk-sr, .nk-arch, .nk-side:not(.open), pre, .nk-table, "
    + ".nk-bench-table, .nk-drawer:not(.open)");
  return !isMeant && each.checkVisibility({ visibilityProperty: true });
}).map((each) => each.outerHTML.slice(0, 120))"""


async def test_nothing_sticks_out_at_360_px_whichever_way_lines_run(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    chat = await _chat(page)
    for width in (360, 1024):
        await page.set_viewport_size({"width": width, "height": 740})
        for path in (*PATHS, chat.removeprefix(server.url)):
            await page.goto(server.url + path)
            await expect(page.get_by_role("main")).to_have_count(1)
            for direction in ("ltr", "rtl"):
                await page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
                await _fits(page, f"{path} at {width} {direction}")
        await drawer(page)
        await _fits(page, f"drawer at {width}")
        await page.keyboard.press("Escape")
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.get_by_label("Open menu").click()    # still from right to left: it comes in from there
    await expect(page.locator(".nk-side.open")).to_be_visible()
    await page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished))")
    box = await page.locator(".nk-side").bounding_box()
    assert box is not None and round(box["x"] + box["width"]) == 360


async def test_every_message_of_ones_own_points_the_same_way(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await sign_in(browser, server, name)
    for number, text in enumerate(("Where is it?", "أين هو؟"), start=1):
        await page.get_by_label("Message", exact=True).fill(text)
        await page.keyboard.press("Enter")
        await expect(page.locator(".nk-bubble")).to_have_count(number)
        await expect(page.get_by_label("Stop", exact=True)).to_have_count(0)
    style = "(all, name) => all.map((each) => getComputedStyle(each)[name])"
    corners = await page.locator(".nk-bubble").evaluate_all(style, "borderRadius")
    assert len(set(corners)) == 1, corners
    assert await page.locator(".nk-bubble > *").evaluate_all(style, "direction") == ["ltr", "rtl"]


async def test_a_conversation_and_its_composer_share_their_edges_at_every_width(
    server: Server, browser: Browser
) -> None:
    page = await sign_in(browser, server, server.add_user())
    chat = await _chat(page)
    for width in (1440, 1180, 1024, 900, 800):
        await page.set_viewport_size({"width": width, "height": 768})
        await page.goto(server.url)
        at_first = await _edges(page, ".nk-composer")
        await page.goto(chat)
        edges = [await _edges(page, selector) for selector in (".nk-answer .prose", ".nk-composer")]
        assert edges == [at_first, at_first], f"{width} px"
        middles = await page.evaluate("""() => [...document.querySelectorAll(".nk-head button, .nk-head a")]
          .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect())
          .filter(({ height }) => height).map(({ top, height }) => Math.round(top + height / 2))""")
        assert len(middles) > 2 and len(set(middles)) == 1, f"{width} px: {middles}"


async def test_text_of_twice_the_size_can_be_read_and_used(server: Server, tmp_path: Path) -> None:
    """As set in the browser, not by zooming."""
    folder = tmp_path / "profile" / "Default"
    folder.mkdir(parents=True)
    (folder / "Preferences").write_text(json.dumps({"webkit": {"webprefs": {"default_font_size": 32}}}))
    name = server.add_user(admin=True)
    chat = furnished(server, name)
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path / "profile", args=CHROMIUM_FLAGS, viewport={"width": 1280, "height": 900},
            executable_path=_chromium(),
        )
        page = context.pages[0]
        await page.goto(f"{server.url}/login")
        await expect(page.locator("html")).to_have_css("font-size", "32px")
        await page.get_by_label("Name").fill(name)
        await page.locator("input[type=password]").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_label("Message", exact=True).wait_for()
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 844})
            await page.goto(f"{server.url}/c/{chat}")
            await page.wait_for_function("document.querySelector('.nk-picker .nk-ell .nk-ell')?.clientWidth > 64")
            for path in PATHS:
                await page.goto(server.url + path)
                await expect(page.get_by_role("main")).to_have_count(1)
                await _fits(page, f"{path} at {width}, 200 %")
            await page.keyboard.press("Control+k")
            await expect(page.get_by_role("option").first).to_be_visible()
            await _fits(page, f"list of commands at {width}, 200 %")
            await page.keyboard.press("Escape")
            await _forms_fit(page, server.url, chat, f"at {width}, 200 %")
        await context.close()


async def test_without_the_server_a_calm_page_waits_and_goes_on_by_itself(
    fresh_server: Server, browser: Browser
) -> None:
    name = fresh_server.add_user(admin=True)
    page = await sign_in(browser, fresh_server.start(), name)
    chat = await _chat(page)
    await page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    kept = await page.evaluate("""async () => {
      const cache = await caches.open((await caches.keys()).find((name) => name.startsWith("inglenook-")));
      return (await cache.keys()).map((request) => new URL(request.url).pathname);
    }""")
    assert kept and all(path == "/away" or path.startswith("/assets/") for path in kept)
    fresh_server.stop()
    await page.goto(chat)
    await expect(page.get_by_role("heading", name="Inglenook is away")).to_be_visible()
    assert await page.evaluate("getComputedStyle(document.querySelector('.nk-arch')).borderTopLeftRadius") == "220px"
    assert "Paris" not in await page.content()
    fresh_server.start()
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Paris")
    assert page.url == chat


async def _chat(page: Page) -> str:
    await page.get_by_label("Message", exact=True).fill("What is the capital of France?")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    await expect(page.get_by_label("Try again")).to_be_visible()
    return page.url


async def test_forms_and_menus_fit_at_360_px(server: Server, browser: Browser) -> None:
    name = server.add_user(admin=True)
    chat = furnished(server, name)
    page = await sign_in(browser, server, name)
    await page.set_viewport_size({"width": 360, "height": 740})
    await _forms_fit(page, server.url, chat, "at 360 px")


async def _forms_fit(page: Page, url: str, chat: str, where: str) -> None:
    for path, forms in (
        (f"/c/{chat}", (drawer, edit, tags, selection, filtered_search)), ("/", (variables,)),
        ("/library", (prompt_form, preset_form)), ("/models", (file_form,)),
        ("/people", (person_form, person_password, person_deleted)),
    ):
        await page.goto(url + path)
        await expect(page.get_by_role("main")).to_have_count(1)
        for form in forms:
            await form(page)
            await stands_still(page)
            await _fits(page, f"{form.__name__} {where}")
            await leave(page)


async def _edges(page: Page, selector: str) -> tuple[int, int]:
    await expect(page.locator(selector)).to_be_visible()
    box = await page.locator(selector).bounding_box()
    assert box is not None
    return round(box["x"]), round(box["x"] + box["width"])


async def _fits(page: Page, what: str) -> None:
    async def fits() -> bool:
        found: list[str] = await page.evaluate(OUTSIDE)
        return found == []

    try:
        await until(fits, what)
    except AssertionError as error:
        raise AssertionError(f"{what}: {await page.evaluate(OUTSIDE)}") from error
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), what


def _chromium() -> str:
    return next(path for path in map(shutil.which, BROWSERS) if path)
