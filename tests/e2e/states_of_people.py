"""What may lie over the page of people. See states.py."""

from __future__ import annotations

from playwright.async_api import Page, expect


async def person_form(page: Page) -> None:
    """With something wrong in it."""
    await page.get_by_role("button", name="Add a person").click()
    form = page.get_by_role("dialog")
    await form.get_by_role("button", name="Add a person").click()
    await expect(form.get_by_role("alert")).to_be_visible()


async def person_password(page: Page) -> None:
    """One that was made up, to be copied."""
    await _person_menu_item(page, "New password")
    await page.get_by_role("button", name="Set password").click()
    await expect(page.get_by_role("button", name="Copy", exact=True)).to_be_visible()


async def person_deleted(page: Page) -> None:
    """Asked for, with a wrong name."""
    await _person_menu_item(page, "Delete")
    await page.get_by_role("textbox", name="To be sure").fill("Nobody")
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_role("alert")).to_be_visible()


async def key_question(page: Page) -> None:
    await page.get_by_role("button", name="Revoke Laptop of").first.click()
    await expect(page.get_by_role("alertdialog")).to_be_visible()


async def _person_menu_item(page: Page, name: str) -> None:
    await page.get_by_role("button", name="More for").first.click()
    await page.get_by_role("menuitem", name=name, exact=True).click()
