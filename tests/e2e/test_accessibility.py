"""axe-core finds nothing serious on any page, in both themes, on a desk and on a phone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from app.services.models import STARTER_ID
from tests.e2e.conftest import PASSWORD, Server, new_context, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SIZES = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
MARKDOWN = """# A title

Some *words* with a [link](https://example.org) and `code`.

| a | b |
|---|---|
| 1 | 2 |

```python
print("Paris")
```

- [x] done
- [ ] to be done

> Said before.
"""

State = Callable[[Page], Awaitable[None]]


async def test_axe_finds_nothing_serious_on_any_page(server: Server, browser: Browser) -> None:
    name = server.add_user(admin=True)
    page = await sign_in(browser, server, name)
    chat = await _chat_with_markdown(page)
    states: list[tuple[str, State | None]] = [
        (chat, None), ("/", None), ("/", _open_list), ("/", _open_sheet), ("/settings", None), ("/models", None),
        ("/models/find", None), (f"/models/installed/{STARTER_ID}", None),
        ("/models", _open_dialog), ("/settings", _open_menu), ("/nowhere", None),
    ]
    found: dict[str, list[str]] = {}
    for size_name, size in SIZES.items():
        await page.set_viewport_size(size)     # type: ignore[arg-type]
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme=theme, reduced_motion="reduce")    # type: ignore[arg-type]
            for path, reach in states:
                await page.goto(path if path.startswith("http") else server.url + path)
                await expect(page.get_by_role("main")).to_have_count(1)
                if reach is not None:
                    await reach(page)
                what = f"{path if path != chat else 'a chat'} {reach.__name__ if reach else ''} {size_name} {theme}"
                if problems := await _problems(page):
                    found[what] = problems
    assert found == {}


async def test_axe_finds_nothing_serious_before_anybody_is_signed_in(fresh_server: Server, browser: Browser) -> None:
    page = await (await new_context(browser)).new_page()
    link = fresh_server.start().setup_link()
    found: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)    # type: ignore[arg-type]
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
    await expect(page.get_by_role("alert")).to_be_visible()
    found["set-up with a problem"] = await _problems(page)
    await page.locator("input[type=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Message", exact=True)).to_be_visible()
    await page.context.clear_cookies()
    await page.goto(f"{fresh_server.url}/login")
    found["sign-in"] = await _problems(page)
    assert {what: problems for what, problems in found.items() if problems} == {}


async def _problems(page: Page) -> list[str]:
    """Serious or critical ones, as axe tells them. Once nothing moves: a colour that fades in has no contrast yet."""
    await page.evaluate("Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {})))")
    results = await Axe().run(page, options={"resultTypes": ["violations"]})
    violations: list[dict[str, Any]] = results.response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for each in violations if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


async def _chat_with_markdown(page: Page) -> str:
    """Its address; what the model writes is replaced, in the browser, by an answer that has everything in it."""
    state = {"status": "complete", "finish": "stop", "error": None, "reasoning": "Hm.", "stats": ["SmolLM2", "9 tok/s"]}
    body = f"data: {json.dumps([0, MARKDOWN])}\n\nevent: done\ndata: {json.dumps(state)}\n\n"
    await page.route("**/ui/stream/*", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    await page.get_by_label("Message", exact=True).fill("Show me everything.")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    await expect(page.locator(".prose table")).to_be_visible()
    return page.url


async def _open_list(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option").first).to_be_visible()


async def _open_sheet(page: Page) -> None:
    await page.keyboard.press("Control+/")
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()


async def _open_dialog(page: Page) -> None:
    await page.get_by_role("button", name="Add a file").click()
    await expect(page.get_by_label("Where it is")).to_be_visible()


async def _open_menu(page: Page) -> None:
    opener = page.get_by_role("button", name="Open menu")
    if await opener.is_visible():
        await opener.click()
    await page.get_by_role("button", name="Admin").click()
    await expect(page.get_by_role("menuitem", name="Sign out")).to_be_visible()
