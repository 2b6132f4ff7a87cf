"""An admin adds somebody, who signs in elsewhere, and is out the moment that they are disabled; by keyboard, too."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import PASSWORD, PATIENCE_S, PacedServer, Server, new_context, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


async def at_people(browser: Browser, server: Server) -> Page:
    """With all people shown: other tests have left many."""
    page = await sign_in(browser, server, server.add_user(admin=True))
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.goto(f"{server.url}/people")
    await expect(page.get_by_role("heading", name="People", exact=True)).to_be_visible()
    await show_all(page)
    return page


async def show_all(page: Page) -> None:
    await page.locator(".nk-person").first.wait_for()
    if await (button := page.get_by_role("button", name="Show all")).is_visible():
        await button.click()
        await expect(button).to_be_hidden()


async def choose(page: Page, name: str, item: str) -> None:
    await page.get_by_role("button", name=f"More for {name}").click()
    await page.get_by_role("menuitem", name=item, exact=True).click()


def status_with(server: Server, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{server.url}/v1/models", headers=headers, timeout=PATIENCE_S).status_code


async def test_somebody_new_signs_in_and_is_out_when_disabled(server: Server, browser: Browser) -> None:
    page = await at_people(browser, server)
    await page.get_by_role("button", name="Add a person").click()
    await page.get_by_label("Name", exact=True).fill("Nora Sand")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Nora Sand can sign in.")).to_be_visible()
    await expect(page.get_by_role("button", name="Copy")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Copied")).to_be_visible()
    password = await page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"(\w{4}-){3}\w{4}", password)
    await page.get_by_role("button", name="Close", exact=True).click()
    row = page.get_by_role("listitem").filter(has_text="Nora Sand")
    await expect(row).to_contain_text("Not here yet")
    await page.reload()
    await show_all(page)
    await expect(row).to_be_visible()
    await expect(page.get_by_text(password)).to_have_count(0)

    theirs = await (await new_context(browser)).new_page()
    await theirs.goto(f"{server.url}/login")
    await theirs.get_by_label("Name").fill("nora sand")
    await theirs.locator("input[type=password]").fill(password)
    await theirs.keyboard.press("Enter")
    await expect(theirs.get_by_label("Message", exact=True)).to_be_visible()
    key = server.command("keys", "create", "--user", "Nora Sand", "--name", "Laptop").splitlines()[0]
    assert status_with(server, key) == 200
    await page.reload()
    await show_all(page)
    await expect(row).to_contain_text("Last here today")
    await expect(page.get_by_text("of Nora Sand")).to_be_visible()

    await choose(page, "Nora Sand", "Disable")
    await page.get_by_role("alertdialog").get_by_role("button", name="Disable").click()
    await expect(row).to_contain_text("Disabled")
    await expect(theirs).to_have_url(re.compile("/login"))
    await expect(theirs.locator(".nk-gate [role=status]")).to_contain_text("Your account was disabled by an admin.")
    await expect(page.get_by_text("Nora Sand is disabled, and signed out everywhere.")).to_be_visible()
    assert status_with(server, key) == 403
    await theirs.get_by_label("Name").fill("Nora Sand")
    await theirs.locator("input[type=password]").fill(password)
    await theirs.keyboard.press("Enter")
    await expect(theirs.get_by_text("This account is disabled.")).to_be_visible()

    await choose(page, "Nora Sand", "Enable")
    await expect(page.get_by_text("Nora Sand is enabled, and can sign in again.")).to_be_visible()
    assert status_with(server, key) == 200
    await page.get_by_role("button", name="Revoke Laptop of Nora Sand").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("of Nora Sand")).to_have_count(0)
    assert status_with(server, key) == 401


async def test_an_open_page_for_admins_is_gone_with_the_right_to_it(server: Server, browser: Browser) -> None:
    page, name = await at_people(browser, server), server.add_user(admin=True)
    theirs = await sign_in(browser, server, name)
    await theirs.goto(f"{server.url}/models")
    await expect(theirs.get_by_role("heading", name="Models", exact=True)).to_be_visible()
    other = await theirs.context.new_page()
    await other.goto(server.url)
    await other.get_by_label("Message", exact=True).fill("Half a sentence")
    await page.reload()
    await show_all(page)
    await choose(page, name, "Take admin rights away")
    await expect(theirs.get_by_role("heading", name="For admins only")).to_be_visible()
    await expect(other.get_by_label("Message", exact=True)).to_have_value("Half a sentence")
    await expect(other.locator(".nk-who small")).to_have_text("Signed in")
    await expect(page.get_by_text(f"{name} is no longer an admin.")).to_be_visible()
    await choose(page, name, "Make an admin")
    await expect(page.get_by_text(f"{name} is an admin.")).to_be_visible()
    await expect(other.locator(".nk-who small")).to_have_text("Admin")       # without being loaded anew
    await expect(other.get_by_label("Message", exact=True)).to_have_value("Half a sentence")
    await expect(page.get_by_role("listitem").filter(has_text=name)).to_contain_text("Admin")
    await theirs.reload()
    await expect(theirs.get_by_role("heading", name="Models", exact=True)).to_be_visible()


async def test_somebody_is_deleted_by_keyboard(server: Server, browser: Browser) -> None:
    name = server.add_user()
    page = await at_people(browser, server)
    await choose(page, name, "New password")        # by mouse, and thought better of
    await expect(page.get_by_label("Password", exact=True)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name=f"More for {name}").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="New password")).to_be_focused()
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name=f"To be sure, type {name}")
    await expect(field).to_be_focused()
    await page.keyboard.type("somebody else")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("This is not their name.")
    await field.fill(name)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text(f"{name} is deleted.")).to_be_visible()
    await expect(page.get_by_role("listitem").filter(has_text=name)).to_have_count(0)
    await page.wait_for_function("document.activeElement !== document.body")


async def test_what_the_command_line_does_shows_at_once_and_tells_whom_it_concerns(
    server: Server, browser: Browser
) -> None:
    """What they had typed is there when they are let in again."""
    page, name = await at_people(browser, server), server.add_user_by_command()
    row = page.get_by_role("listitem").filter(has_text=name)
    await expect(row).to_be_visible()
    theirs = await sign_in(browser, server, name)
    await theirs.get_by_label("Message", exact=True).fill("Half a sentence")
    server.command("users", "role", name, "admin")
    await expect(row).to_contain_text("Admin")
    server.command("keys", "create", "--user", name, "--name", "Robot")
    await expect(page.get_by_text(f"of {name}")).to_be_visible()
    server.command("users", "disable", name)
    await expect(row).to_contain_text("Disabled")
    await expect(theirs.locator(".nk-gate [role=status]")).to_contain_text("Your account was disabled by an admin.")
    server.command("users", "enable", name)
    await theirs.get_by_label("Name").fill(name)
    await theirs.locator("input[type=password]").fill(PASSWORD)
    await theirs.keyboard.press("Enter")
    await expect(theirs.get_by_label("Message", exact=True)).to_have_value("Half a sentence")
    other = await theirs.context.new_page()
    await other.goto(f"{server.url}/settings")
    await theirs.get_by_role("button", name=name).click()
    await theirs.get_by_role("menuitem", name="Sign out").click()
    await expect(other.locator(".nk-gate [role=status]")).to_have_text("You were signed out.")
    await expect(theirs.get_by_role("heading", name="Welcome back")).to_be_visible()
    await expect(theirs.locator(".nk-gate [role=status]")).to_have_count(0)         # they know
    server.command("users", "delete", name, "--yes")
    await expect(row).to_have_count(0)


async def test_who_is_deleted_in_mid_answer_is_told_so(paced_server: PacedServer, browser: Browser) -> None:
    name = paced_server.add_user()
    theirs = await sign_in(browser, paced_server, name)
    paced_server.pace(0.5)
    await theirs.get_by_label("Message", exact=True).fill("count to 900")
    await theirs.keyboard.press("Enter")
    await expect(theirs.get_by_role("button", name="Stop")).to_be_visible()
    paced_server.command("users", "delete", name, "--yes")
    await expect(theirs.locator(".nk-gate [role=status]")).to_have_text("Your account was deleted by an admin.")


async def test_the_page_fits_the_narrowest_phone(server: Server, browser: Browser) -> None:
    page = await at_people(browser, server)
    await page.set_viewport_size({"width": 360, "height": 640})
    wide = "document.querySelector('.nk-page').scrollWidth <= document.querySelector('.nk-page').clientWidth"
    assert await page.evaluate(wide)
    await page.get_by_role("button", name="Add a person").click()
    button = page.get_by_role("dialog").get_by_role("button", name="Add a person")
    await button.scroll_into_view_if_needed()
    box = await button.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360


async def test_who_makes_a_password_up_can_read_it(server: Server, browser: Browser) -> None:
    page = await at_people(browser, server)
    await page.get_by_role("button", name="Add a person").click()
    field = page.get_by_label("Password", exact=True)
    await field.fill("correct horse")
    await page.get_by_role("button", name="Show password").click()
    await expect(field).to_have_attribute("type", "text")
    await expect(field).to_have_value("correct horse")
    await page.get_by_role("button", name="Hide password").press("Enter")
    await expect(field).to_have_attribute("type", "password")
    await expect(page.get_by_role("dialog")).to_be_visible()        # the form was not sent
