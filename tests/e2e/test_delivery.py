"""What is fetched late, or drawn late, is there when it is wanted. In a real browser."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, Page, expect

from tests.app.elsewhere import node, said
from tests.e2e.conftest import Server, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NUM_MESSAGES = 120
NUM_SHOWN_ANSWERS = 30          # of the sixty messages that a long chat opens with
PROSE = "\n\n".join(f"Paragraph {number} of **some** length. " + "Words follow words. " * 12 for number in range(4))
DRAWN = "document.querySelectorAll('.nk-answer .prose > :first-child').length"
MOUNT = """() => {
    const place = Object.assign(document.createElement("div"), { id: "slider" });
    document.querySelector("main").prepend(place);
    const app = Vue.createApp({ template: '<q-slider :model-value="5" aria-label="Late" />' });
    app.use(Quasar).mount(place);
}"""


async def _import(page: Page, server: Server) -> None:
    nodes = [
        node(f"m{at}", f"m{at - 1}" if at else None, [],
             *(("assistant", said(f"{PROSE}\n\nAnswer {at}")) if at % 2 else ("user", said(f"Question {at}"))))
        for at in range(NUM_MESSAGES)
    ]
    chat = {"id": "long", "title": "A long chat", "create_time": 1_740_000_100,
            "mapping": {each["id"]: each for each in nodes}, "current_node": f"m{NUM_MESSAGES - 1}"}
    await page.goto(f"{server.url}/settings")
    data = json.dumps([chat]).encode()
    await page.locator("input[type=file]").set_input_files({"name": "long.json", "mimeType": "", "buffer": data})
    await expect(page.get_by_text("1 chat added")).to_be_visible()


async def test_a_long_chat_opens_at_its_end_and_is_drawn_whole(browser: Browser, server: Server) -> None:
    page = await sign_in(browser, server, server.add_user())
    await _import(page, server)
    await page.goto(server.url)
    await page.get_by_role("link", name="A long chat").click()
    await expect(page.get_by_text(f"Answer {NUM_MESSAGES - 1}")).to_be_in_viewport()
    await page.wait_for_function(f"{DRAWN} === {NUM_SHOWN_ANSWERS}")
    await expect(page.get_by_text(f"Answer {NUM_MESSAGES - 1}")).to_be_in_viewport()

    first = NUM_MESSAGES - 2 * NUM_SHOWN_ANSWERS
    await page.get_by_text(f"Question {first}", exact=True).scroll_into_view_if_needed()
    await expect(page.get_by_text(f"Answer {first + 1}")).to_be_attached()
    pane = page.locator(".nk-chat")
    await pane.evaluate("(pane) => pane.scrollTo(0, 0)")
    await page.get_by_role("button", name="Show earlier messages").click()
    await page.wait_for_function(f"{DRAWN} === {2 * NUM_SHOWN_ANSWERS}")
    await expect(page.get_by_text(f"Question {first}", exact=True)).to_be_in_viewport()      # what one was reading
    await page.get_by_role("button", name="Go to the end").click()
    await expect(page.get_by_text(f"Answer {NUM_MESSAGES - 1}")).to_be_in_viewport()


async def test_a_component_that_our_part_of_quasar_lacks_is_fetched_when_it_is_used(
    browser: Browser, server: Server
) -> None:
    page = await sign_in(browser, server, server.add_user())
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    before = await page.evaluate("Quasar.version")
    await page.evaluate(MOUNT)
    slider = page.get_by_role("slider", name="Late")
    await expect(slider).to_be_visible()
    await expect(page.locator("#slider .q-slider__track-container")).to_have_css("cursor", "grab")      # its styles too
    assert sum("quasar.umd.prod.js" in url for url in fetched) == 1
    assert await page.evaluate("Quasar.version") == before
    await page.get_by_role("button", name="Choose a model").or_(page.locator(".nk-who")).first.click()
    await expect(page.locator(".q-menu")).to_be_visible()       # ours goes on as before
