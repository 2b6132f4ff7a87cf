"""A folder of safetensors, from the command line to an answer in the browser: the starter model, made plain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from app.services.models import find_starter
from tests.e2e.conftest import CLICK, FAULT, Server, sign_in

pytest.importorskip("torch")
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def test_serve_model_folder_chats(fresh_server: Server, browser: Browser, tmp_path: Path) -> None:
    from tests.engine.torch.dequantised import write_dequantised

    starter = find_starter()
    assert starter is not None
    folder = write_dequantised(starter, tmp_path / "SmolLM2-135M-plain")
    fresh_server.add_user(admin=True)
    fresh_server.flags = ("--model", str(folder))
    fresh_server.start()
    page = await sign_in(browser, fresh_server, fresh_server.add_user())
    await page.get_by_label("Message", exact=True).fill("What is the capital of France?")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/c/*")
    await expect(page.locator(".nk-answer .prose")).to_contain_text(re.compile(r"\w+\W+\w+"))
    stop = page.get_by_label("Stop", exact=True)
    await stop.evaluate_all(CLICK)                      # if it still writes: on a busy machine it would take minutes
    await expect(page.get_by_label("Send", exact=True)).to_be_visible()
    await page.screenshot(path=tmp_path / "answer.png")
    [(content, path)] = fresh_server.query(
        "select content, path from message join model on model.id = model_id where role = 'assistant'"
    )
    assert path == str(folder)
    assert str(content).split()[:3] == (await page.locator(".nk-answer .prose").inner_text()).split()[:3]
    assert f"* {folder.name.lower()}" in fresh_server.command("models", "list")
    assert not [line for line in fresh_server.output if FAULT.search(line)]
