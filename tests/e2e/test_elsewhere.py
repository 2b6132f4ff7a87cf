"""A second Inglenook, added on the page and asked in a chat, which says before and after that words leave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PacedServer, free_port, sign_in, until
from tests.e2e.states import stands_still
from tests.e2e.test_accessibility import SIZES, _problems_of_both_themes
from tests.e2e.test_reach import OUTSIDE
from tests.e2e.test_touch import SMALL

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[PacedServer]:
    server = PacedServer(tmp_path / "upstream", free_port())
    server.add_user(admin=True)
    server.pace(0.01)
    server.start()
    yield server
    server.stop()


async def connect(page: Page, server: PacedServer, upstream: PacedServer, key: str) -> None:
    """Switched on, entered, and asked."""
    await page.goto(f"{server.url}/models")
    section = page.get_by_role("region", name="Elsewhere")
    await expect(section.get_by_role("button", name="Add a connection")).to_be_hidden()
    await section.get_by_role("switch").click()
    await section.get_by_role("button", name="Add a connection").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Cellar")
    await dialog.get_by_label("Address").fill("http://127.0.0.1:9")
    await dialog.get_by_role("button", name="Test and save").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("cannot be reached")
    await dialog.get_by_label("Address").fill(upstream.url)
    await dialog.get_by_label("Key", exact=True).fill(key)
    await dialog.get_by_role("button", name="Test and save").click()
    await expect(dialog).to_be_hidden()
    await expect(section.get_by_text("Answers", exact=True)).to_be_visible()
    await expect(section.get_by_text("counter-elsewhere")).to_be_visible()


async def test_a_model_elsewhere_is_added_chosen_and_asked(
    paced_server: PacedServer, upstream: PacedServer, browser: Browser
) -> None:
    owner = upstream.add_user()
    key = upstream.command("keys", "create", "--user", owner).split()[0]
    page = await sign_in(browser, paced_server, paced_server.add_user(admin=True))
    await expect(page.get_by_text("Nothing you write leaves this computer.")).to_be_visible()
    await connect(page, paced_server, upstream, key)
    section = page.get_by_role("region", name="Elsewhere")

    await page.goto(paced_server.url)
    await page.get_by_role("button", name="Model:").click()
    await page.get_by_role("menuitemradio", name=re.compile("counter.*Elsewhere, over Cellar")).click()
    await expect(page.get_by_text("What you write goes to Cellar and leaves this computer.")).to_be_visible()
    await page.get_by_label("Message", exact=True).fill("count to 30")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-answer")).to_contain_text("29 30")
    await expect(page.get_by_text("From elsewhere, over Cellar")).to_be_visible()
    await expect(page.get_by_text("What you write goes to Cellar and leaves this computer.")).to_be_visible()
    [(connection, version)] = paced_server.query(
        "SELECT connection, model_version FROM message WHERE role = 'assistant'"
    )
    assert (connection, version) == ("Cellar", "Cellar/counter")
    assert key not in "".join(paced_server.output)
    raw = b"".join(each.read_bytes() for each in paced_server.data_dir.glob("inglenook.sqlite3*"))
    assert key.encode() not in raw

    second = await page.context.new_page()
    await second.goto(f"{paced_server.url}/models")
    await second.get_by_role("region", name="Elsewhere").get_by_role("switch").click()
    await expect(page.get_by_text("Answers above came over Cellar.")).to_be_visible()
    await expect(page.get_by_text("From elsewhere, over Cellar")).to_be_visible()        # that stays true
    await until(lambda: not paced_server.log, "a quiet log")
    assert await section.count() == 0


async def test_what_is_shown_of_it_can_be_read_by_everybody_and_tapped(
    paced_server: PacedServer, upstream: PacedServer, browser: Browser
) -> None:
    key = upstream.command("keys", "create", "--user", upstream.add_user()).split()[0]
    page = await sign_in(browser, paced_server, paced_server.add_user(admin=True))
    await connect(page, paced_server, upstream, key)
    section = page.get_by_role("region", name="Elsewhere")
    found: dict[str, list[str]] = {}

    async def look(what: str, *, is_tapped: bool = True) -> None:
        await page.mouse.move(1, 1)         # what opens under it would lie over the rest
        for name, size in SIZES.items():
            await page.set_viewport_size(size)     # type: ignore[arg-type]
            found[f"{what}, {name}"] = [*await _problems_of_both_themes(page), *await page.evaluate(OUTSIDE)]
        await stands_still(page)
        found[f"{what}, small"] = await page.evaluate(SMALL) if is_tapped else []

    await look("a connection")
    await section.get_by_role("button", name="Add a connection").click()
    await page.locator(".nk-connection summary").click()
    await look("its form")
    await page.keyboard.press("Escape")
    await section.get_by_role("button", name="More for Cellar").click()
    await look("its menu")
    await page.goto(paced_server.url)
    await page.get_by_role("button", name="Model:").click()
    await look("the picker")
    await page.get_by_role("menuitemradio", name=re.compile("counter.*Elsewhere, over Cellar")).click()
    await look("a new chat")
    await page.get_by_label("Message", exact=True).fill("count to 30")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("From elsewhere, over Cellar")).to_be_visible()
    await look("an answer", is_tapped=False)        # test_touch measures answers, on a phone
    paced_server.command("connections", "off")      # by another process: the page learns it when something is sent
    message = page.get_by_label("Message", exact=True)
    await message.fill("count to 7")
    await message.press("Enter")
    absent = page.locator(".nk-absent")
    await expect(absent).to_contain_text("counter-elsewhere is not reachable: models elsewhere were switched off")
    await expect(message).to_have_value("count to 7")
    assert paced_server.query("SELECT count(*) FROM message") == [(2,)]
    await look("a chat without its model", is_tapped=False)
    await page.get_by_role("button", name="Other models").click()
    await expect(page.get_by_role("menuitemradio", name=re.compile("Other Loads"))).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Use Counter").click()
    await expect(absent).to_be_hidden()
    await message.press("Enter")
    await expect(page.locator(".nk-answer").last).to_contain_text("6 7")
    for what, problems in found.items():
        assert problems == [], what
