"""An open chat follows its model: it comes by the command line, is removed elsewhere, or switched off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.conftest import PacedServer, sign_in
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.engine.upstream import Upstream

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(owner="somebody")
    yield server
    server.close()


async def test_a_model_that_comes_and_goes_while_its_chat_is_open(
    paced_server: PacedServer, browser: Browser, tmp_path: Path
) -> None:
    page = await sign_in(browser, paced_server, paced_server.add_user(admin=True))
    await page.goto(f"{paced_server.url}/?model=tiny-first")
    picker = page.get_by_role("button", name="Model:")
    await expect(picker).to_contain_text("tiny-first")
    await expect(picker).to_contain_text("Not here")
    path = write_tiny_gguf(tmp_path / "tiny-first.gguf")
    paced_server.command("models", "add", str(path), "--name", "Tiny First")
    await expect(picker).to_contain_text("Tiny First")
    await expect(picker).not_to_contain_text("Not here")
    models = await page.context.new_page()
    await models.goto(f"{paced_server.url}/models/installed/tiny-first")
    await models.get_by_role("button", name="More for").click()
    await models.get_by_role("menuitem", name="Remove").click()
    await models.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(picker).to_contain_text("Removed")
    await expect(picker).to_contain_text("Tiny First")
    await expect(page.get_by_text("Tiny First was removed from this machine.")).to_be_visible()
    await page.screenshot(path=str(tmp_path / "removed.png"))


async def test_the_command_line_switches_models_elsewhere_off_and_on(
    paced_server: PacedServer, browser: Browser, upstream: Upstream, tmp_path: Path
) -> None:
    paced_server.command("connections", "on")
    paced_server.command("connections", "add", upstream.url)
    page = await sign_in(browser, paced_server, paced_server.add_user())
    await page.goto(f"{paced_server.url}/?model=big")
    picker = page.get_by_role("button", name="Model:")
    await expect(picker).to_contain_text(upstream.root.removeprefix("http://"))
    await page.get_by_label("Message", exact=True).fill("Hello")
    await page.keyboard.press("Enter")
    await expect(page.locator(".nk-answer")).to_contain_text("The answer from elsewhere.")
    await page.get_by_label("Message", exact=True).fill("Are you there?")
    paced_server.command("connections", "off")
    await page.keyboard.press("Enter")
    reason = page.get_by_text("big is not reachable: models elsewhere were switched off by an admin.")
    await expect(page.get_by_text("Nothing was sent. Choose another model first.")).to_be_visible()
    await expect(reason).to_have_count(1)
    await page.screenshot(path=str(tmp_path / "off.png"))
    paced_server.command("connections", "on")
    await expect(reason).to_have_count(0)
    await expect(page.get_by_text("Nothing was sent.")).to_have_count(0)
    assert len(upstream.chats()) == 1
