"""A browser that keeps nothing, or has no room left, shows every page: only what would be remembered is not."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.conftest import PASSWORD, Server, new_context

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KINDS = {
    "forbidden": """
        for (const name of ["localStorage", "sessionStorage"]) {
          Object.defineProperty(window, name, {get() { throw new DOMException("Access is denied", "SecurityError"); }});
        }
        window.SharedWorker = class { constructor() { throw new DOMException("Access is denied", "SecurityError"); } };
    """,
    "missing": """
        for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {get: () => null});
    """,
    "full": """
        for (const storage of [localStorage, sessionStorage]) {
          for (let size = 2 ** 23; size >= 1; ) {
            try { storage.setItem(`full-${size}-${storage.length}`, "x".repeat(size)); } catch { size = size >> 1; }
          }
        }
    """,
}


def complaints(page: Page) -> list[str]:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


@pytest.mark.parametrize("kind", KINDS)
async def test_every_page_works_where_nothing_is_kept(server: Server, browser: Browser, kind: str) -> None:
    context = await new_context(browser)
    await context.add_init_script(KINDS[kind])
    page = await context.new_page()
    said = complaints(page)

    await page.goto(f"{server.url}/login")
    await page.get_by_role("button", name="Show password").click()
    await page.get_by_label("Name").fill(server.add_user(admin=True))
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.keyboard.press("Enter")

    field = page.get_by_label("Message", exact=True)
    await field.fill("What is the capital of France?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Try again")).to_be_visible()
    await page.reload()
    await expect(page.locator(".nk-answer .prose")).to_contain_text("Paris")
    await page.get_by_role("button", name="Hide sidebar").click()
    await page.get_by_role("button", name="Show sidebar").click()
    await page.get_by_role("button", name="Edit your message").click()
    await page.get_by_role("textbox", name="Edit your message").fill("What is the capital of Italy?")
    await page.keyboard.press("Escape")

    for path in ("/library", "/models", "/models/find", "/models/bench", "/people"):
        await page.goto(server.url + path)
        await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await page.goto(f"{server.url}/settings")
    await page.get_by_role("main").get_by_role("button", name="Dark").click()
    await expect(page.locator("body.body--dark")).to_be_visible()
    await page.reload()
    await expect(page.locator("body.body--dark")).to_be_visible()
    await page.get_by_role("button", name="reader-").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await page.wait_for_url("**/login")
    assert said == []


async def test_what_has_no_room_is_there_until_the_page_is_left(server: Server, browser: Browser) -> None:
    page = await (await new_context(browser)).new_page()
    await page.add_init_script(f"sessionStorage.kept ??= 'here'; window.real = sessionStorage; {KINDS['full']}")
    await page.goto(f"{server.url}/login")
    await page.evaluate("sessionStorage.late = 'only here'")
    assert await page.evaluate("[sessionStorage.late, sessionStorage.getItem('kept'), 'late' in sessionStorage]") == [
        "only here", "here", True,
    ]
    assert "late" in await page.evaluate("Object.keys(sessionStorage)")
    assert await page.evaluate("[real.getItem('late'), nkForgets('sessionStorage', 'late')]") == [None, True]
    await page.evaluate("delete sessionStorage.late")
    assert await page.evaluate("[sessionStorage.getItem('late'), sessionStorage.late]") == [None, None]
    await page.evaluate("real.clear(); sessionStorage.setItem('late', 'kept')")
    await page.reload()
    assert await page.evaluate("[sessionStorage.late, nkForgets('sessionStorage', 'late')]") == ["kept", False]


async def test_a_file_comes_though_the_service_worker_has_no_room_for_it(server: Server, browser: Browser) -> None:
    """Whose cache refuses every write, as where the disk is full."""
    context = await new_context(browser)
    page = await context.new_page()

    async def full(route: Route) -> None:
        answer = await route.fetch()
        no_room = "Cache.prototype.put = () => Promise.reject(new DOMException('full', 'QuotaExceededError'));\n"
        await route.fulfill(response=answer, body=no_room + await answer.text())

    await context.route(re.compile(r"/sw\.js"), full)
    await page.goto(f"{server.url}/login")
    await page.evaluate("navigator.serviceWorker.register('/sw.js').then(() => null)")
    await page.wait_for_function("navigator.serviceWorker.controller")
    said = complaints(page)
    await page.reload()
    await expect(page.get_by_label("Name")).to_be_visible()
    assert await page.evaluate("fetch('/assets/scripts/gate.js?v=new').then((answer) => answer.status)") == 200
    assert said == []
