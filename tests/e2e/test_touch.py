"""On a phone, whatever is tapped is 44 px wide and high: each button, link and field, whatever lies over the page.

What counts is where a finger meets it, not how large it looks: the point is asked what lies there.
"""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.app.hub import Hub
from tests.e2e.conftest import Server, new_context, sign_in
from tests.e2e.states import chat_menu, furnished, leave, pages, pages_with_a_hub, stands_still
from tests.e2e.stocked_hub import FILE, REPO

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Links within a sentence are as high as its line, as WCAG 2.5.8 has it.
SMALL = """() => {
  const CONTROL = "a[href], button, input, select, textarea, summary, [role=option], [role=menuitem], [role=switch]";
  const IN_TEXT = ".prose a, p a, .nk-hint a, input:disabled";
  const LEAST = 44, FAR = 60, ROUNDING = 0.6;
  const isSeen = (each) => {
    const { width, height } = each.getBoundingClientRect();
    const isHidden = each.closest("[inert], .nk-sr") || each.type === "hidden" || each.type === "file";
    return width > 0 && height > 0 && !isHidden && each.checkVisibility({ visibilityProperty: true });
  };
  const [menu] = [...document.querySelectorAll(".q-menu")].slice(-1);     // what it covers is looked at without it
  const all = [...(menu ?? document).querySelectorAll(CONTROL)];
  const small = [];
  for (const each of all.filter((each) => isSeen(each) && !each.matches(IN_TEXT))) {
    each.scrollIntoView({ block: "center", inline: "center" });
    const parts = [each, ...(each.labels ?? []), ...(each.matches("input") ? [each.closest(".nk-input, .nk-q")] : [])];
    const { left, top, width, height } = each.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const isHit = (x, y) => {
      const there = document.elementFromPoint(x, y);
      return there !== null && parts.some((part) => part?.contains(there));
    };
    if (!isHit(x, y)) continue;     // something lies over it: it is looked at where it can be tapped
    const reach = (dx, dy) => {
      let far = 0;
      while (far < FAR && isHit(x + dx * (far + 0.5), y + dy * (far + 0.5))) far += 0.5;
      return far;
    };
    const [wide, high] = [reach(-1, 0) + reach(1, 0), reach(0, -1) + reach(0, 1)];
    if (wide < LEAST - ROUNDING || high < LEAST - ROUNDING) {
      const name = (each.ariaLabel || each.textContent).trim().slice(0, 30);
      small.push(`${wide} x ${high}: ${name} ${each.outerHTML.slice(0, 90)}`);
    }
  }
  return small;
}"""


async def test_whatever_is_tapped_is_44_px_wide_and_high(server: Server, browser: Browser) -> None:
    name = server.add_user(admin=True)
    states = pages(furnished(server, name))
    desk = await sign_in(browser, server, name)
    context = await new_context(browser, **PHONE)
    await context.add_cookies(await desk.context.cookies())      # type: ignore[arg-type]
    page = await context.new_page()
    await page.emulate_media(reduced_motion="reduce")
    found: dict[str, list[str]] = {}
    for path, reached in states:
        await page.goto(server.url + path)
        await expect(page.get_by_role("main")).to_have_count(1)
        await page.wait_for_load_state("networkidle")
        found[path] = await small(page)
        for reach in reached:
            await reach(page)
            found[f"{path} {reach.__name__}"] = await small(page)
            await leave(page)
    assert not any(found.values()), "\n".join(f"{what}: {each}" for what, all_ in found.items() for each in all_)


async def test_in_a_short_window_all_of_a_menu_is_reached_by_scrolling_it(server: Server, browser: Browser) -> None:
    name = server.add_user()
    chat_id = furnished(server, name)
    desk = await sign_in(browser, server, name)
    context = await new_context(browser, viewport={"width": 360, "height": 520}, has_touch=True, is_mobile=True)
    await context.add_cookies(await desk.context.cookies())      # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(f"{server.url}/c/{chat_id}")
    await chat_menu(page)
    menu, delete = page.locator(".q-menu"), page.get_by_role("menuitem", name="Delete")
    await expect(delete).not_to_be_in_viewport()
    await menu.evaluate("menu => menu.scrollTo(0, menu.scrollHeight)")
    await expect(delete).to_be_in_viewport(ratio=1)
    await leave(page)

    await page.get_by_label("Open menu").click()
    await stands_still(page)
    middles = await page.locator(".nk-group:has(button)").evaluate("""group => {
      const boxes = ["[role=rowheader]", "svg"].map((each) => group.querySelector(each).getBoundingClientRect());
      return boxes.map(({ top, height }) => top + height / 2);
    }""")
    assert abs(middles[0] - middles[1]) <= 2        # what folders are called, and what makes another


async def test_so_it_is_where_models_are_found_and_fetched(fresh_server: Server, hub: Hub, browser: Browser) -> None:
    fresh_server.extra["HF_ENDPOINT"] = hub.url
    name = fresh_server.add_user(admin=True)
    desk = await sign_in(browser, fresh_server.start(), name)
    context = await new_context(browser, **PHONE)
    await context.add_cookies(await desk.context.cookies())      # type: ignore[arg-type]
    page = await context.new_page()
    hub.hold(FILE, 20_000_000)
    found: dict[str, list[str]] = {}
    for path, reached in pages_with_a_hub(REPO):
        await page.goto(fresh_server.url + path)
        for reach in reached:
            await reach(page)
            found[f"{path} {reach.__name__}"] = await small(page)
    hub.release()
    assert not any(found.values()), "\n".join(f"{what}: {each}" for what, all_ in found.items() for each in all_)


async def test_so_it_is_before_anybody_is_signed_in(fresh_server: Server, browser: Browser) -> None:
    page = await (await new_context(browser, **PHONE)).new_page()
    link = fresh_server.start().setup_link()
    fresh_server.add_user(admin=True)
    found = {}
    for address in (link, f"{fresh_server.url}/login", f"{fresh_server.url}/away"):
        await page.goto(address)
        found[address] = await small(page)
    assert not any(found.values()), "\n".join(f"{what}: {each}" for what, all_ in found.items() for each in all_)


async def small(page: Page) -> list[str]:
    await stands_still(page)
    return list(await page.evaluate(SMALL))


async def test_what_wraps_on_the_page_of_models_keeps_its_distance(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(admin=True))
    await page.set_viewport_size({"width": 360, "height": 780})
    await page.goto(f"{server.url}/models")
    await expect(page.locator(".nk-mrow .nk-sub").first).to_be_visible()

    async def gap(above: str, below: str) -> float:
        first, second = page.locator(above).first, page.locator(below).first
        end = await first.evaluate("(each) => each.getBoundingClientRect().bottom")
        return float(await second.evaluate("(each, end) => each.getBoundingClientRect().top - end", end))

    assert await gap(".nk-title-models .nk-end > .nk-btn", ".nk-title-models .nk-seg") >= 12
    assert await gap(".nk-mrow .nk-name", ".nk-mrow .nk-sub") >= 5.5
