"""A page some of whose files do not come is never blank: it leads to the sign-in page, waits, or says what is amiss."""

from __future__ import annotations

import re
import signal

import pytest
from playwright.async_api import Browser, Page, Request, Route, expect

from tests.e2e.conftest import PacedServer, Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

# Any one of them missing left a blank page, or one without form or words.
FILES = (
    "/assets/page.js", "/assets/page.css", "/assets/page.mjs", "/assets/vue.mjs", "/assets/words/", "/esm/",
    "dompurify",
)


async def fresh(page: Page) -> None:
    """As in a browser that has kept nothing of it."""
    session = await page.context.new_cdp_session(page)
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})


@pytest.mark.parametrize("file", FILES)
async def test_a_session_that_ends_before_the_scripts_leads_to_the_sign_in_page(
    server: Server, browser: Browser, file: str
) -> None:
    page = await sign_in(browser, server, server.add_user())
    await fresh(page)

    async def ended(route: Route) -> None:
        await page.context.clear_cookies()
        await route.fulfill(status=401, json={"error": {"message": "Sign in first."}})

    await page.route(re.compile(re.escape(file)), ended)
    await page.goto(f"{server.url}/library")
    await expect(page).to_have_url(re.compile(r"/login\?ended&next=%2Flibrary"))
    await expect(page.get_by_label("Name")).to_be_visible()


@pytest.mark.parametrize("file", FILES)
async def test_a_file_that_is_lost_once_is_asked_for_again_and_twice_is_told(
    server: Server, browser: Browser, file: str
) -> None:
    page = await sign_in(browser, server, server.add_user())
    await fresh(page)
    lost = re.compile(re.escape(file))
    num_pages = 0

    def count(request: Request) -> None:
        nonlocal num_pages
        num_pages += request.is_navigation_request()

    async def lose(route: Route) -> None:
        await (route.abort() if num_pages <= num_lost else route.continue_())

    page.on("request", count)
    await page.route(lost, lose)
    num_lost = 1
    await page.goto(f"{server.url}/library")
    await expect(page.get_by_role("heading", name="Library")).to_be_visible()
    assert num_pages == 2
    num_lost = 99
    await page.goto(f"{server.url}/library")
    await expect(page.get_by_role("heading", name="Something is missing")).to_be_visible()
    await page.unroute(lost)
    await page.get_by_role("button", name="Load again").click()
    await expect(page.get_by_role("heading", name="Library")).to_be_visible()


@pytest.mark.parametrize("answers", ["not at all", "with a fault"])
async def test_where_the_server_is_up_but_cannot_say_who_is_here_it_is_told_without_going_round_in_circles(
    server: Server, browser: Browser, answers: str
) -> None:
    page = await sign_in(browser, server, server.add_user())
    await fresh(page)
    await page.add_init_script("AbortSignal.timeout = () => AbortSignal.abort()" if answers == "not at all" else "")
    num_pages = 0

    def count(request: Request) -> None:
        nonlocal num_pages
        num_pages += request.is_navigation_request()

    async def fault(route: Route) -> None:
        await route.fulfill(status=500)

    page.on("request", count)
    await page.route(re.compile("/assets/page.js|/login$"), fault)
    await page.goto(f"{server.url}/library")
    if answers == "not at all":
        await expect(page.get_by_role("heading", name="Inglenook is away")).to_be_visible()
    else:
        await expect(page.get_by_role("heading", name="Something is missing")).to_be_visible()
        assert num_pages == 2


async def test_a_browser_that_keeps_nothing_is_told_too(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user())
    await fresh(page)
    await page.add_init_script(
        "Object.defineProperty(window, 'sessionStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )
    await page.route(re.compile("/assets/page.js"), lambda route: route.abort())
    await page.goto(f"{server.url}/library")
    await expect(page.get_by_role("heading", name="Something is missing")).to_be_visible()


async def test_a_server_that_dies_before_the_scripts_is_waited_for(
    paced_server: PacedServer, browser: Browser
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await fresh(page)

    async def killed(route: Route) -> None:
        paced_server.stop(signal.SIGKILL)
        await route.abort()

    await page.route(re.compile("/assets/page"), killed, times=1)
    await page.goto(f"{paced_server.url}/library", wait_until="commit")
    await expect(page.get_by_role("heading", name="Inglenook is away")).to_be_visible()
    paced_server.start()
    await expect(page.get_by_role("heading", name="Library")).to_be_visible()
