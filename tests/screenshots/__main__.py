"""Pictures of every page and state, at three widths and in both themes, into docs/screenshots: `make screenshots`.

A real server with the starter model and a real Chromium. They are to be looked at, one by one. What is kept of them:
the main pages in every size and theme, the others on a desk in light and on a phone in dark; --all makes all.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, Error, Page

from tests.e2e.conftest import CLICK, PASSWORD, Server, chromium, free_port
from tests.screenshots.chats import exported
from tests.screenshots.scenes import LENE, MIRA, SCENES, Scene
from tests.screenshots.seed import forget_new_chats, furnish, set_up_environment

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"desk": (1440, 900), "tablet": (1024, 768), "phone": (390, 844)}
KEPT = (("desk", "light"), ("phone", "dark"))
EVERY = tuple((size, theme) for size in WIDTHS for theme in ("light", "dark"))
WEBP_QUALITY = 78


@dataclass
class Studio:
    browser: Browser
    server: Server
    setup_link: str
    folder: Path
    failures: list[str] = field(default_factory=list)
    _signed_in: dict[str, Any] = field(default_factory=dict)        # what the browser keeps, by who is signed in

    async def shoot(self, scene: Scene, size: str, theme: str) -> None:
        context = await self._context(scene, size, theme)
        page = await context.new_page()
        await page.goto(self.setup_link if scene.path == "/setup" else self.server.url + scene.path)
        await page.wait_for_load_state("networkidle")
        if scene.prepare is not None:
            await scene.prepare(page)
        await page.evaluate("document.fonts.ready")
        await page.evaluate("Promise.allSettled(document.getAnimations().filter(a => a.playState === 'running' && "
                            "a.effect.getTiming().iterations === 1).map(a => a.finished.catch(() => null)))")
        session = await context.new_cdp_session(page)
        shot = await session.send("Page.captureScreenshot", {"format": "webp", "quality": WEBP_QUALITY})
        (self.folder / f"{scene.name}-{size}-{theme}.webp").write_bytes(base64.b64decode(shot["data"]))
        if scene.also and (size, theme) == ("desk", "light"):
            await page.set_viewport_size({"width": 1280, "height": 800})
            await page.screenshot(path=ROOT / scene.also)
        if scene.after is not None:
            await scene.after(page)
        if scene.writes:
            for each in context.pages:
                await self._stop_writing(each)
        if scene.reader:
            forget_new_chats(self.server.data_dir / "inglenook.sqlite3", scene.reader)
        await context.close()

    async def _context(self, scene: Scene, size: str, theme: str) -> BrowserContext:
        width, height = WIDTHS[size]
        if scene.reader and scene.reader not in self._signed_in:
            self._signed_in[scene.reader] = await self._sign_in(scene.reader)
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, has_touch=size == "phone",     # type: ignore[arg-type]
            is_mobile=size == "phone", reduced_motion="reduce", locale=scene.language,
            storage_state=self._signed_in[scene.reader] if scene.reader else None,
        )
        context.set_default_timeout(20_000)
        return context

    async def _sign_in(self, name: str) -> Any:
        context = await self.browser.new_context(locale="en-GB")
        page = await context.new_page()
        await page.goto(f"{self.server.url}/login")
        await page.get_by_label("Name").fill(name)
        await page.locator("input[type=password]").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_label("Message", exact=True).wait_for()
        state = await context.storage_state()
        await context.close()
        return state

    async def _stop_writing(self, page: Page) -> None:
        stop = page.locator(".nk-send.stop")
        await stop.evaluate_all(CLICK)
        await stop.wait_for(state="detached")


async def main(only: str, folder: Path, *, everything: bool, views: tuple[tuple[str, str], ...]) -> None:
    set_up_environment()
    wanted = [scene for scene in SCENES if re.search(only, scene.name)]
    with tempfile.TemporaryDirectory() as home:
        data_dir = Path(home, ".local", "share", "inglenook")
        server = Server(data_dir, free_port(), extra={"HOME": home})        # so that no picture names this machine's
        server.start()
        setup_link = server.setup_link()
        try:
            async with chromium() as browser:
                studio = Studio(browser, server, setup_link, folder)
                await _shoot_all(studio, [scene for scene in wanted if scene.path == "/setup"], everything, views)
                _move_in(server)
                await _shoot_all(studio, [scene for scene in wanted if scene.path != "/setup"], everything, views)
        finally:
            server.stop()
    if studio.failures:
        raise SystemExit("\n".join(["No picture of:", *studio.failures]))


def _move_in(server: Server) -> None:
    for name in (MIRA, LENE):
        server.command("users", "add", name, "--admin", "--password-stdin", stdin=PASSWORD)
    chats = server.data_dir / "chats.json"
    chats.write_text(json.dumps(exported()), encoding="utf-8")
    server.command("import", str(chats), "--user", MIRA)
    furnish(server.data_dir / "inglenook.sqlite3", MIRA)


async def _shoot_all(
    studio: Studio, scenes: list[Scene], everything: bool, views: tuple[tuple[str, str], ...]
) -> None:
    for scene in scenes:
        wanted = EVERY if everything or scene.is_main else KEPT
        for size, theme in wanted:
            if size in scene.sizes and (size, theme) in views:
                try:
                    await studio.shoot(scene, size, theme)
                except Error as error:
                    studio.failures.append(f"{scene.name}, {size}, {theme}: {error.message.splitlines()[0]}")
        print(scene.name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="scenes whose name matches this expression")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--all", action="store_true", help="every scene in every size and theme")
    parser.add_argument("--view", choices=[f"{size}-{theme}" for size, theme in EVERY], help="one size and theme")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = EVERY if arguments.view is None else (tuple(arguments.view.split("-")),)
    asyncio.run(main(arguments.only, arguments.folder, everything=arguments.all, views=chosen))
