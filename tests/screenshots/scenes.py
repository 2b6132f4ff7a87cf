"""What is photographed: a page, and what is done on it first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import Page

Prepare = Callable[[Page], Awaitable[None]]
ALL = ("desk", "tablet", "phone")


@dataclass(frozen=True)
class Scene:
    name: str
    path: str
    prepare: Prepare | None = None
    signed_in: bool = True
    sizes: tuple[str, ...] = ALL


def opened(title: str) -> Prepare:
    """A chat, from the sidebar's list."""

    async def prepare(page: Page) -> None:
        link = page.locator("#menu a", has_text=title).first
        href = await link.get_attribute("href")
        await page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + str(href))
        await page.locator(".nk-answer .prose").last.wait_for()
        await page.wait_for_load_state("networkidle")

    return prepare


SCENES = (
    Scene("setup", "/setup", signed_in=False),
    Scene("sign-in", "/login", signed_in=False),
    Scene("new-chat", "/"),
    Scene("chat", "/", opened("Why the tide turns")),
    Scene("code", "/", opened("Counting words")),
    Scene("models", "/models"),
    Scene("settings", "/settings"),
)
