"""What is photographed: a page, by whom it is looked at, and what is done on it first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import Page, expect

Prepare = Callable[[Page], Awaitable[None]]
ALL = ("desk", "tablet", "phone")
MIRA, LENE = "Mira Kern", "Lene Vogt"       # she has an empty home
LONG = "Tell me about the history of Rome."


@dataclass(frozen=True)
class Scene:
    name: str
    path: str = "/"
    prepare: Prepare | None = None
    reader: str | None = MIRA
    sizes: tuple[str, ...] = ALL
    is_main: bool = False           # kept in every size and theme, the others in two
    language: str = "en-GB"
    writes: bool = False            # a chat, which is stopped and forgotten afterwards
    after: Prepare | None = None    # the picture: puts back what it showed, for the next
    also: str = ""                  # a PNG of it, 1280 px wide, in the repository: the README's, with nothing staged


def in_turn(*steps: Prepare) -> Prepare:
    async def prepare(page: Page) -> None:
        for step in steps:
            await step(page)

    return prepare


def opened(title: str, ready: str = ".nk-answer .prose") -> Prepare:
    """A chat, by its title: wherever the sidebar keeps it."""

    async def prepare(page: Page) -> None:
        found = await page.evaluate(
            "async q => (await (await fetch('/ui/chats/search?' + new URLSearchParams({ q }))).json()).hits[0].id",
            title,
        )
        await page.goto("/".join(page.url.split("/")[:3]) + f"/c/{found}")
        await page.locator(ready).last.wait_for()
        await page.wait_for_load_state("networkidle")

    return prepare


def clicked(selector: str, *, last: bool = False, hover: bool = False) -> Prepare:
    async def prepare(page: Page) -> None:
        found = page.locator(selector)
        one = found.last if last else found.first
        if hover:
            await one.hover()
        await one.click()

    return prepare


def seen(selector: str) -> Prepare:
    async def prepare(page: Page) -> None:
        await page.locator(selector).first.wait_for()

    return prepare


def typed(selector: str, text: str, then: str = "") -> Prepare:
    async def prepare(page: Page) -> None:
        await page.locator(selector).first.click()
        await page.keyboard.type(text)
        if then:
            await page.locator(then).first.wait_for()

    return prepare


def pressed(keys: str, then: str) -> Prepare:
    async def prepare(page: Page) -> None:
        await page.keyboard.press(keys)
        await page.locator(then).first.wait_for()

    return prepare


async def sidebar(page: Page) -> None:
    """On a phone it slides over the page."""
    menu = page.locator("[data-nk-open-menu]")
    if await menu.is_visible():
        await menu.click()
        await page.locator(".nk-side.open").wait_for()


async def folder_open(page: Page) -> None:
    await page.locator(".nk-side .nk-folder", has_text="House").click()
    await page.locator(".nk-side .nk-nav-link", has_text="Soup for twelve").wait_for()


def menu_of(title: str) -> Prepare:
    async def prepare(page: Page) -> None:
        row = page.locator(".nk-side-rows .nk-nav", has_text=title).first
        await row.hover()
        await row.locator(".nk-more").click()
        await page.locator(".q-menu").wait_for()

    return prepare


async def chosen(page: Page) -> None:
    rows = page.locator(".nk-side-rows .nk-nav-link")
    for title in ("Names for a small bakery", "What the contract"):
        await rows.filter(has_text=title).first.click(modifiers=["Control"])
    await page.get_by_role("toolbar").wait_for()


async def writing(page: Page) -> None:
    await page.locator("[data-nk-composer]").fill(LONG)
    await page.keyboard.press("Enter")
    await page.locator(".nk-answer .prose", has_text="Rome").wait_for()


async def answered(page: Page) -> None:
    """By the starter model itself, with the figures that it got."""
    for number, question in enumerate(("What is the capital of France?", "Name three things to see there, as a list.")):
        await page.locator("[data-nk-composer]").fill(question)
        await page.keyboard.press("Enter")
        await expect(page.locator(".nk-answer")).to_have_count(number + 1, timeout=60_000)
        await expect(page.locator(".nk-answer").last).to_have_attribute("data-status", "complete", timeout=60_000)
    await page.locator(".nk-stats").last.wait_for()


async def waiting(page: Page) -> None:
    """Another tab is being answered; this one is next."""
    other = await page.context.new_page()
    await other.goto(page.url)
    await other.locator("[data-nk-composer]").wait_for()
    await writing(other)
    await page.bring_to_front()
    await page.locator("[data-nk-composer]").fill("And of Naples, in three sentences?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-wait b")).to_contain_text("line")


async def deleted(page: Page) -> None:
    bubble = page.locator(".nk-said").last
    await bubble.hover()
    await bubble.locator("[aria-haspopup=menu]").click()
    await page.locator(".q-menu .danger").click()
    await page.locator(".nk-toast").wait_for()
    await bubble.wait_for(state="detached")


async def brought_back(page: Page) -> None:
    await page.locator(".nk-toast button").click()
    await page.locator(".nk-said").last.wait_for()


async def on_paper(page: Page) -> None:
    await page.emulate_media(media="print", color_scheme="light")


async def at_foot(page: Page) -> None:
    await page.locator(".nk-page").evaluate("page => page.scrollTo(0, page.scrollHeight)")


async def temporary(page: Page) -> None:
    await page.locator(".nk-temporary").click()
    await page.locator(".is-temporary").wait_for()


TIDE, CODE, NOTICE, ALPS = "Why the tide turns", "Counting words", "What the contract says", "Packing list"
BAKERY = "Names for a small bakery"
CHAT_MENU = in_turn(clicked("[data-nk-chat-menu]"), seen(".q-menu"))


async def settings(page: Page) -> None:
    """On a phone the chat's menu leads there."""
    if await page.locator("[data-nk-drawer]").is_visible():
        await page.locator("[data-nk-drawer]").click()
    else:
        await CHAT_MENU(page)
        await page.get_by_role("menuitem").first.click()


DRAWER = in_turn(settings, seen(".nk-drawer .nk-param"))

SCENES = (
    Scene("setup", "/setup", reader=None, is_main=True),
    Scene("setup-refused", "/setup", in_turn(
        typed("input[name=name]", "Mira"), typed("input[type=password]", "short"), clicked("button[type=submit]"),
        seen("[role=alert], .nk-hint.bad, .nk-notice")), reader=None),
    Scene("sign-in", "/login", reader=None, is_main=True),
    Scene("sign-in-refused", "/login", in_turn(
        typed("input[name=name]", "Mira"), typed("input[type=password]", "wrong horse"), clicked("button[type=submit]"),
        seen("[role=alert], .nk-hint.bad, .nk-notice")), reader=None),
    Scene("away", "/away", reader=None),
    Scene("lost", "/c/nothing-is-here"),
    Scene("new-chat", "/", is_main=True),
    Scene("new-chat-empty", "/", reader=LENE),
    Scene("temporary", "/", temporary),
    Scene("chat", "/", opened(TIDE), is_main=True),
    Scene("code", "/", opened(CODE)),
    Scene("branches", "/", opened(BAKERY)),
    Scene("answered", "/", answered, writes=True, also="docs/chat.png"),
    Scene("streaming", "/", writing, writes=True),
    Scene("waiting", "/", waiting, writes=True),
    Scene("edit", "/", in_turn(opened(CODE), clicked("[data-nk-edit-mine]", last=True, hover=True), seen(".nk-edit"))),
    Scene("message-menu", "/", in_turn(
        opened(BAKERY), clicked(".nk-answer .nk-meta > [aria-haspopup=menu]", last=True, hover=True), seen(".q-menu"))),
    Scene("figures", "/", in_turn(opened(TIDE), clicked(".nk-stats", last=True), seen(".nk-figures dl"))),
    Scene("meter", "/", in_turn(opened(CODE), clicked(".nk-ctxm"), seen(".nk-ctx-menu"))),
    Scene("left-out", "/", opened(CODE, ".nk-limit")),
    Scene("thought-folded", "/", opened(NOTICE)),
    Scene("thought", "/", in_turn(opened(NOTICE), clicked(".nk-think"))),
    Scene("interrupted", "/", opened(ALPS, ".nk-notice")),
    Scene("undo", "/", in_turn(opened(BAKERY), deleted), after=brought_back),
    Scene("chat-menu", "/", in_turn(opened(TIDE), CHAT_MENU)),
    Scene("picker", "/", in_turn(opened(TIDE), clicked(".nk-picker"), seen(".q-menu"))),
    Scene("prompts", "/", typed("[data-nk-composer]", "/", ".nk-slash")),
    Scene("sidebar", "/", in_turn(sidebar, folder_open)),
    Scene("sidebar-menu", "/", in_turn(sidebar, menu_of("What the contract"))),
    Scene("search", "/", in_turn(sidebar, clicked("[data-nk-search]"), typed(".nk-search input", "the", ".nk-hit"))),
    Scene("search-nothing", "/", in_turn(
        sidebar, clicked("[data-nk-search]"), typed(".nk-search input", "zebra crossing", ".nk-found"))),
    Scene("chosen", "/", in_turn(sidebar, chosen)),
    Scene("archive", "/", in_turn(sidebar, clicked(".nk-side >> text=Archive"), seen(".nk-back"))),
    Scene("person", "/", in_turn(sidebar, clicked(".nk-who"), seen(".q-menu"))),
    Scene("drawer", "/", in_turn(opened(TIDE), DRAWER)),
    Scene("palette", "/", pressed("Control+k", ".nk-palette[open]")),
    Scene("palette-found", "/", in_turn(
        pressed("Control+k", ".nk-palette[open]"), typed(".nk-palette input", "tide", ".nk-palette mark"))),
    Scene("shortcuts", "/", pressed("Control+/", ".nk-sheet[open]")),
    Scene("library", "/library"),
    Scene("library-empty", "/library", reader=LENE),
    Scene("library-editor", "/library", in_turn(clicked(".nk-lib-open"), seen(".nk-editor"))),
    Scene("library-preset", "/library", in_turn(clicked(".nk-lib-open", last=True), seen(".nk-editor"))),
    Scene("models", "/models", is_main=True),
    Scene("measure", "/models/bench", is_main=True),
    Scene("elsewhere", "/models", in_turn(clicked("text=Add a connection"), seen(".nk-connection"))),
    Scene("people", "/people", is_main=True),
    Scene("people-menu", "/people", in_turn(clicked("[aria-label='More for Tomas Brandt']"), seen(".q-menu"))),
    Scene("people-add", "/people", in_turn(clicked(".nk-title .nk-btn"), seen(".nk-account"))),
    Scene("people-password", "/people", in_turn(
        clicked("[aria-label='More for Tomas Brandt']"), clicked(".q-menu .nk-nav"),
        clicked(".nk-account [type=submit]"), seen(".nk-secret"))),
    Scene("people-delete", "/people", in_turn(
        clicked("[aria-label='More for Tomas Brandt']"), clicked(".q-menu .danger"), seen(".nk-account"))),
    Scene("people-foot", "/people", at_foot),
    Scene("settings", "/settings", is_main=True),
    Scene("settings-foot", "/settings", at_foot),
    Scene("paper", "/", in_turn(opened(TIDE), on_paper), sizes=("desk",)),
    Scene("german-new", "/", language="de-DE"),
    Scene("german-sidebar", "/", in_turn(sidebar, folder_open), language="de-DE"),
    Scene("german-chat", "/", in_turn(opened(ALPS, ".nk-notice"), DRAWER), language="de-DE"),
    Scene("german-meter", "/", in_turn(opened(CODE), clicked(".nk-ctxm"), seen(".nk-ctx-menu")), language="de-DE"),
    Scene("german-library", "/library", language="de-DE"),
    Scene("german-models", "/models", language="de-DE"),
    Scene("german-people", "/people", language="de-DE"),
    Scene("german-settings", "/settings", language="de-DE"),
    Scene("german-sign-in", "/login", reader=None, language="de-DE"),
)
