"""Pictures of every page, at three widths and in both themes, into docs/screenshots: `make screenshots`.

A real server with the starter model and a real Chromium. They are to be looked at, one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page

from tests.e2e.conftest import PASSWORD, Server, chromium, free_port
from tests.screenshots.chats import exported
from tests.screenshots.scenes import SCENES, Scene

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
THEMES = ("light", "dark")
WEBP_QUALITY = 82


@dataclass(frozen=True)
class Studio:
    browser: Browser
    server: Server
    setup_link: str
    folder: Path

    async def shoot(self, scene: Scene, size: str, theme: str) -> None:
        width, height = WIDTHS[size]
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, has_touch=size == "phone",  # type: ignore[arg-type]
            is_mobile=size == "phone", reduced_motion="reduce",
        )
        context.set_default_timeout(20_000)
        page = await context.new_page()
        if scene.signed_in:
            await self._sign_in(page)
        await page.goto(self.setup_link if scene.path == "/setup" else self.server.url + scene.path)
        await page.wait_for_load_state("networkidle")
        if scene.prepare is not None:
            await scene.prepare(page)
        await page.evaluate("document.fonts.ready")
        session = await context.new_cdp_session(page)
        shot = await session.send("Page.captureScreenshot", {"format": "webp", "quality": WEBP_QUALITY})
        (self.folder / f"{scene.name}-{size}-{theme}.webp").write_bytes(base64.b64decode(shot["data"]))
        await context.close()

    async def _sign_in(self, page: Page) -> None:
        await page.goto(f"{self.server.url}/login")
        await page.get_by_label("Name").fill("Mira Kern")
        await page.locator("input[type=password]").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_label("Message", exact=True).wait_for()


async def main(only: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as data:
        server = Server(Path(data), free_port())
        server.start()
        setup_link = server.setup_link()
        try:
            async with chromium() as browser:
                studio = Studio(browser, server, setup_link, folder)
                await _shoot_all(studio, [scene for scene in SCENES if only in scene.name and scene.path == "/setup"])
                server.command("users", "add", "Mira Kern", "--admin", "--password-stdin", stdin=PASSWORD)
                chats = Path(data) / "chats.json"
                chats.write_text(json.dumps(exported()), encoding="utf-8")
                server.command("import", str(chats), "--user", "Mira Kern")
                await _shoot_all(studio, [scene for scene in SCENES if only in scene.name and scene.path != "/setup"])
        finally:
            server.stop()


async def _shoot_all(studio: Studio, scenes: list[Scene]) -> None:
    for scene in scenes:
        for size in WIDTHS:
            for theme in THEMES:
                if size in scene.sizes:
                    await studio.shoot(scene, size, theme)
        print(scene.name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="scenes with this in their name")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "screenshots")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(arguments.only, arguments.folder))
