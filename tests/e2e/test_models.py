"""A model on its way from the hub to an answer: found, judged, fetched, seen in two tabs, set up, loaded, asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.app.hub import TOKEN, Hub
from tests.app.other_apps import put_in_ollama
from tests.app.shop import tiny_part
from tests.e2e.conftest import Server, sign_in
from tests.e2e.stocked_hub import FILE, REPO
from tests.engine.tiny_gguf import write_tiny_gguf

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

async def test_a_model_is_found_judged_fetched_set_up_and_asked(
    fresh_server: Server, hub: Hub, browser: Browser, tmp_path: Path
) -> None:
    blob = put_in_ollama(tmp_path / "ollama")
    fresh_server.extra |= {
        "HF_ENDPOINT": hub.url, "OLLAMA_MODELS": str(tmp_path / "ollama"), "HF_HUB_CACHE": str(tmp_path / "cache"),
    }
    name = fresh_server.add_user(admin=True)
    fresh_server.start()
    page = await sign_in(browser, fresh_server, name)
    second = await page.context.new_page()
    asked_elsewhere = _elsewhere(page, fresh_server.url)
    await second.goto(f"{fresh_server.url}/models")

    await _finds(page, fresh_server.url)
    await _fetches(page, second, hub)
    await _sets_up(page)
    await _asks(page, fresh_server.url)
    await _brings(page, fresh_server.url, tmp_path, blob)
    await _asks_for_a_token(page, fresh_server.url, hub)
    await page.goto("about:blank")      # a page that finds its server again loads itself anew, which may cut a goto
    fresh_server.stop()
    fresh_server.extra["HF_HUB_OFFLINE"] = "1"
    fresh_server.start()
    await page.goto(f"{fresh_server.url}/models/find")
    await expect(page.get_by_role("alert")).to_contain_text("switched off here")
    await expect(page.get_by_text("Good to begin with")).to_be_visible()
    assert asked_elsewhere == []


async def _finds(page: Page, url: str) -> None:
    """As it is typed, and each result is judged before its size."""
    await page.goto(f"{url}/models")
    await page.get_by_role("link", name="Find more").click()
    await expect(page.get_by_text("Good to begin with")).to_be_visible()
    results = page.locator(".nk-hub", has=page.get_by_role("link", name="Choose a file"))
    await expect(results).to_have_count(2)
    await page.get_by_label("Search models").press_sequentially("parrot")
    await expect(results).to_have_count(1)
    await expect(results).to_contain_text("Too big: needs")
    await expect(page).to_have_url(re.compile("text=parrot$"))
    await page.get_by_label("Search models").fill("smol")
    await expect(results).to_contain_text("SmolLM2 135M Instruct")
    await expect(results).to_contain_text("Fits: about 8k context")
    await page.get_by_label("Licence").select_option("mit")
    await expect(page.get_by_text("Nothing found")).to_be_visible()
    await page.get_by_label("Licence").select_option("apache-2.0")
    await results.get_by_role("link", name="Choose a file").click()


async def _fetches(page: Page, second: Page, hub: Hub) -> None:
    """Its progress stands in both tabs; one pauses it, the other goes on with it."""
    usual = page.locator(".nk-hub", has_text="Usual choice")
    await expect(usual).to_contain_text("Fits: 8k context")
    card = page.locator(".nk-card-text")
    await expect(card.get_by_role("heading", name="SmolLM2")).to_be_visible()
    await expect(card.locator("img")).to_have_count(0)
    await expect(card.get_by_role("link", name="the licence")).to_have_attribute("href", f"{hub.url}/{REPO}/blob/"
                                                                                 f"{hub.repos[REPO].commit}/LICENSE")
    assert await page.evaluate("window.harmed") is None

    hub.hold(FILE, 20_000_000)
    await usual.get_by_role("button", name="Get").click()
    await expect(usual.locator(".nk-getting")).to_contain_text("%")
    row = second.locator(".nk-dl")
    await expect(row).to_contain_text("SmolLM2 135M Instruct")
    await expect(row.locator(".nk-bot")).to_contain_text("0.02 of 0.09 GiB")
    await expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", re.compile(r"[12]\d"))
    await row.get_by_role("button", name="Pause").click()
    await expect(row).to_contain_text("Paused")
    await expect(row.get_by_role("button", name="Resume")).to_be_focused()
    await expect(usual.locator(".nk-getting")).to_contain_text("Paused")
    hub.release()
    await second.keyboard.press("Enter")
    await expect(row).to_have_count(0)
    await expect(usual.get_by_role("link", name="Installed")).to_be_visible()
    await expect(second.locator(".nk-mrow", has_text="Q4_1")).to_have_count(2)


async def _sets_up(page: Page) -> None:
    """What is no number is told in words; what is one applies at the next load."""
    await page.locator(".nk-hub", has_text="Usual choice").get_by_role("link", name="Installed").click()
    await expect(page.get_by_text("at the next load").first).to_be_visible()
    await expect(page.get_by_text("It has no place for tools")).to_be_visible()
    await expect(page.get_by_role("link", name=REPO)).to_be_visible()
    await page.get_by_role("button", name="Load", exact=True).click()
    await expect(page.get_by_role("button", name="Unload")).to_be_focused()
    context = page.get_by_label("Context")
    await context.fill("lots")
    await context.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("give a whole number")
    await context.fill("2k")
    await page.get_by_label("Users at once").fill("2")
    await page.get_by_label("Other names").fill("small-one")
    await page.get_by_role("switch", name="Keep in memory").click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Applies at the next load")).to_be_visible()
    await expect(page.locator(".nk-mrow")).to_contain_text("Stays in memory")
    await page.get_by_role("button", name="Load again now").click()
    await expect(page.locator(".nk-mrow")).to_contain_text("2k for 2 chats")


async def _asks(page: Page, url: str) -> None:
    model_id = page.url.rpartition("/")[2]
    await page.goto(f"{url}/?model={model_id}")
    await page.get_by_label("Message", exact=True).fill("What is the capital of France? One sentence.")
    await page.keyboard.press("Enter")
    answer = page.locator(".nk-answer")
    await expect(answer.locator(".prose")).not_to_be_empty()
    await page.keyboard.press("Escape")         # now and then it repeats itself until its context is full
    await expect(answer).to_have_attribute("data-status", re.compile("complete|stopped"))


async def _brings(page: Page, url: str, folder: Path, blob: Path) -> None:
    await page.goto(f"{url}/models")
    await page.get_by_role("button", name="Add a file").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("tiny:latest")
    await dialog.get_by_role("button", name="Use").click()
    await expect(dialog).to_contain_text("Here already")
    assert await asyncio.to_thread(blob.exists)
    await dialog.locator("input[type=file]").set_input_files(write_tiny_gguf(folder / "brought.gguf", seed=5))
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("link", name="Tiny")).to_have_count(2)
    rows = page.locator(".nk-mrow")
    await expect(rows).to_have_count(4)
    last = rows.last
    await last.get_by_role("button", name="More for").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await expect(page.get_by_role("alertdialog")).to_contain_text("brought.gguf")
    await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(rows).to_have_count(3)


async def _asks_for_a_token(page: Page, url: str, hub: Hub) -> None:
    hub.faults.wants_token = True
    await page.goto(f"{url}/models/find/{REPO}")
    await expect(page.get_by_role("heading", name="Its makers want to know who uses it")).to_be_visible()
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Keep").click()
    await expect(page.get_by_text("Kept.")).to_be_visible()


async def test_a_file_dropped_onto_the_page_is_uploaded_with_progress(
    fresh_server: Server, browser: Browser, tmp_path: Path
) -> None:
    """As a person drags it from a folder: over the page, which then says where; let go beside that, it comes too."""
    name = fresh_server.add_user(admin=True)
    fresh_server.start()
    page = await sign_in(browser, fresh_server, name)
    dropped, beside = tmp_path / "dropped.gguf", tmp_path / "beside.gguf"
    for seed, path in enumerate((dropped, beside)):
        write_tiny_gguf(path, seed=seed)
        with path.open("ab") as file:
            file.write(bytes(8 << 20))      # so that it takes a while
    await page.goto(f"{fresh_server.url}/models")
    await page.wait_for_load_state("networkidle")
    hand = await page.context.new_cdp_session(page)
    await hand.send("Network.enable")
    await hand.send("Network.emulateNetworkConditions", {
        "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 4 << 20,
    })

    async def drag(kind: str, path: Path, x: float, y: float) -> None:
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        await hand.send("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data})

    area = await page.locator(".nk-page-in").bounding_box()
    assert area is not None
    await drag("dragEnter", dropped, area["x"] + 50, area["y"] + 50)
    await drag("dragOver", dropped, area["x"] + 50, area["y"] + 50)
    field = page.get_by_role("dialog").locator(".nk-drop")
    await expect(field).to_contain_text("Drop it here")
    await _let_go(page, field, drag, dropped)
    told = page.get_by_role("dialog").get_by_role("status")
    await expect(told).to_have_text(re.compile(r"Sending [1-9]\d? %"))
    first = int(re.sub(r"\D", "", await told.inner_text()))
    await expect(told).not_to_have_text(f"Sending {first} %")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("link", name="Tiny 0")).to_be_visible()
    uploads = fresh_server.data_dir / "models" / "uploads"
    assert (uploads / "dropped.gguf").read_bytes() == dropped.read_bytes()

    await page.get_by_role("button", name="Add a file").click()
    await expect(field).to_be_visible()
    await drag("dragEnter", beside, 5, 5)
    await drag("dragOver", beside, 5, 5)
    await drag("drop", beside, 5, 5)
    await expect(told).to_contain_text("Sending")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_role("link", name="Tiny 1")).to_be_visible()
    assert page.url == f"{fresh_server.url}/models"


async def test_a_model_in_several_files_is_sent_at_once_or_bit_by_bit(
    fresh_server: Server, browser: Browser, tmp_path: Path
) -> None:
    name = fresh_server.add_user(admin=True)
    fresh_server.start()
    page = await sign_in(browser, fresh_server, name)
    files = [tmp_path / f"split-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for number, file in enumerate(files):
        file.write_bytes(tiny_part(number, 3))
    await page.goto(f"{fresh_server.url}/models")
    await page.get_by_role("button", name="Add a file").click()
    dialog = page.get_by_role("dialog")
    field = dialog.locator("input[type=file]")
    await field.set_input_files(files[1:])
    await expect(dialog.get_by_text(f"{files[0].name} is still missing: send it, too.")).to_be_visible()
    broken = tmp_path / "broken" / files[0].name
    broken.parent.mkdir()
    broken.write_bytes(files[2].read_bytes())
    await field.set_input_files(broken)
    await expect(dialog.get_by_role("alert")).to_contain_text("is not the part that its name says")
    await field.set_input_files(files[0])
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("link", name="Tiny 0")).to_be_visible()


async def _let_go(page: Page, field: Locator, drag: Callable[..., Awaitable[None]], path: Path) -> None:
    """A hand that holds a file still moves: each move says again where it is, while the dialog comes to rest."""
    async with asyncio.timeout(60):
        while "Let go" not in await field.inner_text():
            box = await field.bounding_box()
            assert box is not None
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            await drag("dragOver", path, x, y)
            await page.evaluate("() => new Promise(requestAnimationFrame)")
    await drag("drop", path, x, y)


def _elsewhere(page: Page, url: str) -> list[str]:
    """Addresses that the page asks beside its own server's."""
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.startswith((url, "data:", "blob:")) else
            asked.append(request.url))
    return asked
