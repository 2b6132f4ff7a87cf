"""The sidebar as people use it: folders, pins, many chats at once, undo, search that leads to a message, thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from playwright.async_api import Browser, Locator, expect
from sqlalchemy import insert
from sqlmodel import select

from store.database import Database
from store.tables import Conversation, Message, MessageRole, TitleSource, User, new_id, now
from tests.e2e.conftest import Server, new_context, sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NAMES = ("Heating", "Lease", "Movers", "Invoices", "Bread", "Photo")


def seed(
    server: Server, name: str, titles: Sequence[str], num_turns: int = 1, answer: str = "Answer {turn}."
) -> list[str]:
    """Chats of a few messages, the first one the newest."""
    database = Database.open(server.data_dir / "inglenook.sqlite3")
    chats, messages = [], []
    try:
        with database.session() as session:
            user_id = session.exec(select(User.id).where(User.name == name)).one()
            for number, title in enumerate(titles):
                at = now() - timedelta(minutes=number)
                chat = Conversation(
                    user_id=user_id, title=title, created_at=at, updated_at=at, title_source=TitleSource.PERSON
                )
                parent_id = None
                for turn in range(num_turns):
                    for role, text in ((MessageRole.USER, "Question {turn}."), (MessageRole.ASSISTANT, answer)):
                        message = Message(
                            conversation_id=chat.id, parent_id=parent_id, role=role, created_at=at,
                            content=text.replace("{turn}", str(turn)),
                        )
                        parent_id = message.id
                        messages.append(message.model_dump())
                chat.current_message_id = parent_id
                chats.append(chat.model_dump())
            session.connection().execute(insert(Conversation), chats)
            session.connection().execute(insert(Message), messages)
    finally:
        database.close()
    return [chat["id"] for chat in chats]


def add_branch(server: Server, chat_id: str, text: str) -> str:
    """An older way that the chat once went, which is not shown now. The id of its last message."""
    database = Database.open(server.data_dir / "inglenook.sqlite3")
    try:
        with database.session() as session:
            question = Message(conversation_id=chat_id, role=MessageRole.USER, content="Asked otherwise.", id=new_id())
            session.add(question)
            session.flush()
            answer = Message(
                conversation_id=chat_id, role=MessageRole.ASSISTANT, content=text, parent_id=question.id, id=new_id()
            )
            session.add(answer)
            return answer.id
    finally:
        database.close()


async def test_chats_are_kept_by_mouse_and_by_keyboard_and_each_step_is_undone(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    seed(server, name, NAMES)
    page = await sign_in(browser, server, name)

    def link(title: str) -> Locator:
        return page.get_by_role("link", name=title, exact=True)

    undo = page.get_by_role("button", name="Undo")
    await expect(link("Photo")).to_be_visible()

    await page.get_by_role("button", name="New folder").click()
    await page.get_by_label("Name of the folder").fill("Moving office")
    await page.keyboard.press("Enter")
    folder = page.get_by_role("button", name="Moving office", exact=True)
    await link("Lease").drag_to(folder)
    await expect(page.get_by_text("Chat moved")).to_be_visible()
    await expect(link("Lease")).to_have_count(0)
    await folder.click()
    await expect(link("Lease")).to_be_visible()

    await link("Bread").hover()
    await page.get_by_role("button", name="Menu of Bread").click()
    await page.get_by_role("menuitem", name="Pin").click()
    await expect(page.get_by_text("Pinned", exact=True)).to_be_visible()
    wanted = ["Bread", "Moving office", "Lease", "Heating", "Movers", "Invoices", "Photo"]
    await expect(page.locator(".nk-side-rows .nk-nav-link")).to_have_text(wanted)
    await undo.click()
    await expect(page.get_by_text("Pinned", exact=True)).to_have_count(0)

    await link("Movers").click(modifiers=["Control"])
    await link("Bread").click(modifiers=["Shift"])
    await expect(page.get_by_role("toolbar", name="3 selected")).to_be_visible()
    await expect(page.get_by_role("row", selected=True)).to_have_count(3)
    await page.get_by_role("button", name="Move to").click()
    await page.get_by_role("menuitem", name="Moving office").click()
    await expect(page.get_by_text("3 chats moved")).to_be_visible()
    await expect(page.get_by_role("toolbar")).to_have_count(0)
    await expect(page.get_by_role("row", name=re.compile("Moving office"))).to_contain_text("4")
    await page.reload()
    await expect(link("Lease")).to_be_visible()              # the folder is still open

    await link("Heating").focus()
    await page.keyboard.press("ArrowDown")
    await expect(link("Photo")).to_be_focused()
    await page.keyboard.press("F2")
    await page.keyboard.type("Kitchen")
    await page.keyboard.press("Enter")
    await expect(link("Kitchen")).to_be_focused()
    await page.keyboard.press("Home")
    await expect(folder).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(link("Lease")).to_have_count(0)
    await page.keyboard.press("End")
    await expect(link("Kitchen")).to_be_focused()
    await page.keyboard.press("Shift+ArrowUp")
    await expect(page.get_by_role("toolbar", name="2 selected")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("toolbar")).to_have_count(0)
    await page.keyboard.press("Delete")
    await expect(link("Heating")).to_have_count(0)
    await undo.click()
    await expect(link("Heating")).to_be_visible()
    await folder.hover()
    await page.get_by_role("button", name="Menu of Moving office").click()
    await page.get_by_role("menuitem", name="Delete folder, keep chats").click()
    await expect(folder).to_have_count(0)
    await expect(link("Lease")).to_be_visible()
    await undo.click()
    await expect(folder).to_be_visible()


async def test_search_marks_what_it_finds_and_leads_to_the_message_on_its_branch(
    server: Server, browser: Browser
) -> None:
    name = server.add_user()
    ids = seed(server, name, NAMES, num_turns=50)
    message_id = add_branch(server, ids[2], "Three quotes came: the cheapest was pearwood brown.")
    page = await sign_in(browser, server, name)
    await page.keyboard.press("Control+Shift+F")
    field = page.get_by_label("Search chats")
    await expect(field).to_be_focused()
    await page.keyboard.type("pearw")
    await expect(page.get_by_text("1 chat says “pearw”")).to_be_visible()
    hit = page.locator(".nk-hit")
    await expect(hit).to_have_count(1)
    await expect(hit.locator("mark")).to_have_text("pearwood")
    await page.keyboard.press("ArrowDown")
    await expect(hit).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{server.url}/c/{ids[2]}?m={message_id}")
    found = page.locator(f'[data-message="{message_id}"]')
    await expect(found).to_be_in_viewport()
    await expect(found).to_contain_text("pearwood")
    await page.reload()
    await expect(found).to_be_in_viewport()
    await expect(page.locator("[data-chat]").first).to_be_visible()     # the search is over

    await page.keyboard.press("Control+Shift+F")
    await expect(field).to_be_focused()
    await page.keyboard.type("question 7 in:nothing")
    await expect(page.get_by_text("No chat says")).to_be_visible()
    await field.fill("question 7")
    await expect(hit).to_have_count(6)
    await page.get_by_role("button", name="Who").click()
    await page.get_by_role("menuitemcheckbox", name="Answers").click()
    await expect(field).to_have_value("question 7 from:model ")
    await expect(hit).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(page.locator("[data-chat]")).to_have_count(6)


async def test_five_thousand_chats_are_a_screenful_of_rows(server: Server, browser: Browser) -> None:
    name = server.add_user()
    seed(server, name, [f"Chat {number}" for number in range(5000)])
    page = await sign_in(browser, server, name)
    assert 0 < await page.locator("[data-key]").count() < 80
    await page.get_by_role("link", name="Chat 0", exact=True).focus()
    await page.keyboard.press("End")
    await expect(page.get_by_role("link", name="Chat 4999", exact=True)).to_be_focused()
    assert await page.locator("[data-key]").count() < 80
    await page.keyboard.press("Shift+Home")
    await expect(page.get_by_role("toolbar", name=re.compile("5,000 selected"))).to_be_visible()
    await page.get_by_role("button", name="Archive").last.click()
    await expect(page.get_by_text("5,000 chats archived")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("link", name="Chat 0", exact=True)).to_be_visible()


async def test_on_a_phone_a_long_press_selects_and_a_tap_goes_on(server: Server, browser: Browser) -> None:
    name = server.add_user()
    seed(server, name, NAMES)
    desk = await sign_in(browser, server, name)
    context = await new_context(browser, viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True)
    await context.add_cookies(await desk.context.cookies())      # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(server.url)
    await page.get_by_label("Open menu").tap()
    lease = page.get_by_role("link", name="Lease", exact=True)
    await lease.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True, "clientX": 20, "clientY": 300})
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()
    await lease.dispatch_event("pointerup", {"pointerType": "touch", "bubbles": True})
    await lease.dispatch_event("click")                          # the finger is lifted: it opens nothing
    await page.get_by_role("link", name="Movers", exact=True).tap()
    await expect(page.get_by_role("toolbar", name="2 selected")).to_be_visible()
    wide = "document.documentElement.scrollWidth > innerWidth"
    assert not await page.evaluate(wide)
    await page.get_by_role("button", name="Delete").tap()
    await expect(lease).to_have_count(0)
    await page.get_by_role("button", name="Undo").tap()
    await expect(lease).to_be_visible()


async def test_the_model_names_a_new_chat(server: Server, browser: Browser) -> None:
    page = await sign_in(browser, server, server.add_user(titles=True))
    await page.get_by_label("Message", exact=True).fill("How do I remove a red wine stain from a carpet?")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-chat]")).to_have_text(re.compile("^Removing a red wine stain", re.IGNORECASE))
    await expect(page).to_have_title(re.compile("^Removing a red wine stain.* · Inglenook", re.IGNORECASE))
