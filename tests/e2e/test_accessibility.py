"""axe-core finds nothing on any page, whatever lies over it, in both themes, on a desk and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from tests.app.hub import Hub
from tests.e2e.conftest import PASSWORD, PacedServer, Server, new_context, sign_in
from tests.e2e.states import furnished, has_focus, leave, pages, pages_with_a_hub, stands_still
from tests.e2e.stocked_hub import FILE, REPO

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

AXE = Axe().axe_script
SIZES = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
# Two controls beside each other that a screen reader could not tell apart.
ALIKE = """() => {
  const ROW = "form, header, nav, figure, [role=menu], [role=row], [role=group], .nk-meta, .nk-set, .nk-param, " +
    ".nk-lib-row, .nk-mrow";
  const CONTROL = "a[href], button, input, select, textarea, [role=option]";
  const labels = (each) => [...(each.ariaLabelledByElements ?? each.labels ?? [])];
  const label = (each) => labels(each).map((label) => label.textContent).join(" ");
  const name = (each) => each.ariaLabel || label(each) || each.textContent.trim();
  const isThere = (each) => each.checkVisibility() && !each.closest("[inert]");
  const seen = new Map();
  return [...document.querySelectorAll(CONTROL)].filter(isThere).filter((each) => {
    const row = each.parentElement.closest(ROW);
    if (!row) return false;
    const names = seen.get(row) ?? new Set();
    const isAlike = names.has(name(each));
    seen.set(row, names.add(name(each)));
    return isAlike;
  }).map((each) => `alike: ${each.outerHTML.slice(0, 160)}`);
}"""


@pytest.mark.parametrize("size_name", SIZES)
async def test_axe_finds_nothing_on_any_page_in_any_state(server: Server, browser: Browser, size_name: str) -> None:
    name = server.add_user(admin=True)
    states = pages(furnished(server, name))
    page = await sign_in(browser, server, name)
    found: dict[str, list[str]] = {}
    await page.set_viewport_size(SIZES[size_name])     # type: ignore[arg-type]
    for path, reached in states:
        await page.goto(server.url + path)
        await expect(page.get_by_role("main")).to_have_count(1)
        found[path] = await _problems_of_both_themes(page)
        for reach in reached:
            what = f"{path} {reach.__name__}"
            await reach(page)
            await has_focus(page, what)
            found[what] = await _problems_of_both_themes(page)
            await leave(page)
            await has_focus(page, f"{what}, left")
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        await page.goto(f"{server.url}/nowhere")        # once it is there, it is as it is
        found[f"/nowhere {theme}"] = await _problems(page)
    assert {what: problems for what, problems in found.items() if problems} == {}


async def test_axe_finds_nothing_while_an_answer_is_written(paced_server: PacedServer, browser: Browser) -> None:
    """With more to be said than can be sent now; and once it was stopped."""
    page = await sign_in(browser, paced_server, paced_server.add_user())
    paced_server.pace(0.2)
    message, found = page.get_by_label("Message", exact=True), {}
    await message.fill("count to 2000")
    await message.press("Enter")
    await expect(page.get_by_role("img", name="Writing an answer")).to_be_visible()
    await message.fill("and on")
    await message.press("Enter")
    await expect(page.get_by_text("Not sent yet")).to_be_visible()
    found["being written"] = await _problems_of_both_themes(page)
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    found["stopped"] = await _problems_of_both_themes(page)
    assert {what: problems for what, problems in found.items() if problems} == {}


async def test_axe_finds_nothing_where_models_are_found_and_fetched(
    fresh_server: Server, hub: Hub, browser: Browser
) -> None:
    fresh_server.extra["HF_ENDPOINT"] = hub.url
    name = fresh_server.add_user(admin=True)
    page = await sign_in(browser, fresh_server.start(), name)
    hub.hold(FILE, 20_000_000)
    found: dict[str, list[str]] = {}
    for path, reached in pages_with_a_hub(REPO):
        await page.goto(fresh_server.url + path)
        for reach in reached:
            await reach(page)
            await has_focus(page, f"{path} {reach.__name__}")
            for size_name, size in SIZES.items():
                await page.set_viewport_size(size)     # type: ignore[arg-type]
                found[f"{path} {reach.__name__} {size_name}"] = await _problems_of_both_themes(page)
    hub.faults.wants_token = True
    await page.goto(f"{fresh_server.url}/models/find/{REPO}")
    await expect(page.get_by_role("heading", name="Its makers want to know who uses it")).to_be_visible()
    found["a model that wants a token"] = await _problems_of_both_themes(page)
    hub.release()
    assert {what: problems for what, problems in found.items() if problems} == {}


async def test_axe_finds_nothing_serious_before_anybody_is_signed_in(fresh_server: Server, browser: Browser) -> None:
    page = await (await new_context(browser)).new_page()
    link = fresh_server.start().setup_link()
    found: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        for size_name, size in SIZES.items():
            await page.set_viewport_size(size)     # type: ignore[arg-type]
            for address in (link, f"{fresh_server.url}/setup", f"{fresh_server.url}/setup?token=wrong"):
                await page.goto(address)
                if problems := await _problems(page):
                    found[f"{address} {size_name} {theme}"] = problems
    await page.goto(link)
    await page.locator("input[name=name]").fill("Ada")
    await page.locator("input[type=password]").fill("short")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("at least 8 characters")
    await expect(page.locator("input[type=password]")).to_have_value("short")       # nothing was sent: it is kept
    found["set-up with a problem"] = await _problems(page)
    await page.locator("input[type=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    await page.context.clear_cookies()
    await page.goto(f"{fresh_server.url}/login")
    found["sign-in"] = await _problems(page)
    assert {what: problems for what, problems in found.items() if problems} == {}


async def _problems_of_both_themes(page: Page) -> list[str]:
    """In the dark only the colours are others."""
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    problems = await _problems(page)
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    await expect(page.locator("body.body--dark")).to_have_count(1)
    return problems + await _problems(page, runOnly=["color-contrast"])


async def _problems(page: Page, **options: Any) -> list[str]:
    """All but trifles, as axe tells them. Once nothing moves: a colour that fades in has no contrast yet.

    Menus stand outside of all landmarks, as menus do.
    """
    await stands_still(page)
    if "runOnly" not in options:
        options["rules"] = {"region": {"enabled": False}}
    if not await page.evaluate("'axe' in window"):      # half a megabyte, once a page
        await page.evaluate(AXE)
    violations: list[dict[str, Any]] = await page.evaluate(
        "async (options) => (await axe.run(document, options)).violations", {"resultTypes": ["violations"], **options}
    )
    alike: list[str] = await page.evaluate(ALIKE)
    return alike + [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for each in violations if each["impact"] != "minor"
        for node in each["nodes"]
    ]
