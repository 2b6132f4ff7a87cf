"""axe-core finds nothing on any page, whatever lies over it, in both themes, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from app.services.models import STARTER_ID
from tests.e2e.conftest import PASSWORD, Server, new_context, sign_in
from tests.e2e.test_sidebar import NAMES, seed

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


async def test_axe_finds_nothing_on_any_page_in_any_state(server: Server, browser: Browser) -> None:
    name = server.add_user(admin=True)
    [chat, *_] = seed(server, name, NAMES, num_turns=2, answer=MARKDOWN)
    page = await sign_in(browser, server, name)
    states: list[tuple[str, list[State]]] = [
        (f"/c/{chat}", [_drawer, _edit, _message_menu, _meter, _search, _selection]),
        ("/", [_commands, _shortcuts, _models_menu, _folder_form, _person_menu, _temporary]),
        ("/settings", []), ("/models", [_file_form]),
        ("/models/find", []), (f"/models/installed/{STARTER_ID}", []), ("/library", [_prompt_form, _preset_form]),
    ]
    found: dict[str, list[str]] = {}
    for size_name, size in SIZES.items():
        await page.set_viewport_size(size)     # type: ignore[arg-type]
        for path, reached in states:
            await page.goto(server.url + path)
            await expect(page.get_by_role("main")).to_have_count(1)
            found[f"{path} {size_name}"] = await _problems_of_both_themes(page)
            for reach in reached:
                await reach(page)
                found[f"{path} {reach.__name__} {size_name}"] = await _problems_of_both_themes(page)
                await _leave(page)
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)    # type: ignore[arg-type]
        await page.goto(f"{server.url}/nowhere")        # once it is there, it is as it is
        found[f"/nowhere {theme}"] = await _problems(page)
    assert {what: problems for what, problems in found.items() if problems} == {}


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
    await page.evaluate("Promise.allSettled(document.getAnimations().map((each) => each.finished.catch(() => {})))")
    if "runOnly" not in options:
        options["rules"] = {"region": {"enabled": False}}
    results = await Axe().run(page, options={"resultTypes": ["violations"], **options})
    violations: list[dict[str, Any]] = results.response["violations"]
    alike: list[str] = await page.evaluate(ALIKE)
    return alike + [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for each in violations if each["impact"] != "minor"
        for node in each["nodes"]
    ]


# --- what lies over a page, and is left by Esc ------------------------------------------------------------------------


async def _leave(page: Page) -> None:
    """Whatever it is; the phone's sidebar after what was in it."""
    over = page.locator(
        "dialog[open], .q-dialog, .q-menu, .nk-drawer.open, .nk-edit, .nk-search, [role=toolbar], .nk-side.open"
    )
    while await over.count():
        await page.keyboard.press("Escape")
        await page.evaluate("new Promise((done) => setTimeout(done, 100))")


async def _drawer(page: Page) -> None:
    await page.get_by_role("button", name="Chat settings", exact=True).click()
    await expect(page.get_by_label("System prompt", exact=True)).to_be_visible()


async def _edit(page: Page) -> None:
    await page.get_by_role("button", name="Edit your message").last.click()
    await expect(page.locator(".nk-edit")).to_be_visible()


async def _message_menu(page: Page) -> None:
    await page.locator(".nk-answer").last.get_by_label("More").click()
    await expect(page.get_by_role("menuitem", name="Copy as text")).to_be_visible()


async def _meter(page: Page) -> None:
    await page.get_by_role("button", name="Context:").click()
    await expect(page.get_by_role("menuitemradio", name="Sum up the oldest")).to_be_visible()


async def _search(page: Page) -> None:
    await page.keyboard.press("Control+Shift+F")
    await page.get_by_label("Search chats").fill("question")
    await expect(page.locator(".nk-hit").first).to_be_visible()


async def _selection(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("link", name=NAMES[1], exact=True).press(" ")
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()


async def _commands(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option").first).to_be_visible()


async def _shortcuts(page: Page) -> None:
    await page.keyboard.press("Control+/")
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()


async def _models_menu(page: Page) -> None:
    await page.get_by_role("button", name="Model:").click()
    await expect(page.get_by_role("menuitem", name="All models")).to_be_visible()


async def _folder_form(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("button", name="New folder").click()
    await expect(page.get_by_label("Name of the folder")).to_be_visible()


async def _person_menu(page: Page) -> None:
    await _sidebar(page)
    await page.get_by_role("button", name="Admin").click()
    await expect(page.get_by_role("menuitem", name="Sign out")).to_be_visible()


async def _temporary(page: Page) -> None:
    await page.get_by_role("button", name="Temporary chat").click()
    await expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()


async def _file_form(page: Page) -> None:
    await page.get_by_role("button", name="Add a file").click()
    await expect(page.get_by_label("Where it is")).to_be_visible()


async def _prompt_form(page: Page) -> None:
    """With something wrong in it."""
    await page.get_by_role("button", name="New prompt").click()
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert").first).to_be_visible()


async def _preset_form(page: Page) -> None:
    await page.get_by_role("button", name="New preset").click()
    await expect(page.get_by_role("dialog").get_by_label("System prompt", exact=True)).to_be_visible()


async def _sidebar(page: Page) -> None:
    opener = page.get_by_role("button", name="Open menu")
    if await opener.is_visible():
        await opener.click()
