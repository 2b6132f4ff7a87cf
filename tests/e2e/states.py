"""States of the pages that are looked at: how each is reached from its page, and left again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

from playwright.async_api import Page, expect
from sqlmodel import select

from app.services.models import STARTER_ID
from store.database import Database
from store.tables import ApiKey, Conversation, ConversationTag, Folder, Preset, Prompt, Tag, User, now
from tests.app.measured import again, run_of
from tests.e2e.conftest import Server, until
from tests.e2e.states_of_people import key_question, person_deleted, person_form, person_password
from tests.e2e.test_sidebar import NAMES, seed

MARKDOWN = """# A title

Some *words* with a [link](https://example.org) and `code`.

| a | b |
|---|---|
| 1 | 2 |

```python
print("Paris")
```

- [x] done
- [ ] to be done

> Said before.
"""

State = Callable[[Page], Awaitable[None]]


def furnished(server: Server, name: str) -> str:
    """Chats in a folder, with a tag, in the archive; prompts, a preset, measurements. A chat with two answers."""
    ids = seed(server, name, NAMES, num_turns=2, answer=MARKDOWN)
    database = Database.open(server.data_dir / "inglenook.sqlite3")
    try:
        with database.session() as session:
            user_id = session.exec(select(User.id).where(User.name == name)).one()
            folder, tag = Folder(user_id=user_id, name="House"), Tag(user_id=user_id, name="money", name_key="money")
            session.add_all([
                folder, tag,
                Prompt(user_id=user_id, command="minutes", name="Minutes",
                       content="In {{to=German|French}}: {{notes}}."),
                Prompt(user_id=user_id, command="plain", name="Say it plainly", content="Say it plainly: {{subject}}"),
                Preset(user_id=user_id, name="Editor", system_prompt="You mend.", parameters={"temperature": 0.3}),
                ApiKey(user_id=user_id, name="Laptop", key_hash=f"of {name}", hint="sk-ab…xyz"),
            ])
            session.flush()
            theirs = select(Conversation).where(Conversation.user_id == user_id)
            chats = {chat.id: chat for chat in session.exec(theirs)}
            session.add_all(ConversationTag(conversation_id=each, tag_id=tag.id) for each in ids[2:4])
            chats[ids[2]].folder_id, chats[ids[3]].pin_position = folder.id, 0
            row = run_of("parrot")
            for run in (row, again(row, 0.8, days=3, run_id="second"), run_of("other", id="other", run_id="second")):
                session.merge(run)
            for each in ids[4:]:
                chats[each].archived_at = now() - timedelta(days=1)
    finally:
        database.close()
    return ids[0]


async def leave(page: Page, *, blurred: bool = False) -> None:
    """Whatever lies over the page, and its modes, by Escape; `blurred`: with the focus nowhere each time."""
    over = page.locator(
        "dialog[open], .q-dialog, .q-menu, .nk-slash, .nk-drawer.open, .nk-edit, .nk-search, [role=toolbar], "
        ".nk-back, .nk-side.open"
    )

    async def is_gone() -> bool:
        if await over.count():
            if blurred:
                await page.evaluate("document.activeElement.blur()")
            await page.keyboard.press("Escape")
            await page.evaluate("new Promise((done) => setTimeout(done, 100))")
        return not await over.count()

    try:
        await until(is_gone, "Escape closes what lies over the page")
    except AssertionError:
        focus = await page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        left = await over.evaluate_all("all => all.map((each) => each.className)")
        raise AssertionError(f"Escape does not close {left}; the focus is at {focus}") from None


async def has_focus(page: Page, what: str) -> None:
    """Something has: keyboards go on from there."""
    try:
        await until(lambda: page.evaluate("document.activeElement !== document.body"), "the focus is somewhere")
    except AssertionError:
        age_s = await page.evaluate("performance.now() / 1000")
        raise AssertionError(f"{what}: nothing has the focus; the page was loaded {age_s:.0f} s ago") from None


async def stands_still(page: Page) -> None:
    """Whatever moves has come to its end; what turns for ever is left to it."""
    await page.evaluate("""() => Promise.allSettled(document.getAnimations()
      .filter((each) => each.effect.getComputedTiming().iterations !== Infinity).map((each) => each.finished))""")


# --- reached ----------------------------------------------------------------------------------------------------------


async def drawer(page: Page) -> None:
    await chat_settings(page)
    await expect(page.get_by_label("System prompt", exact=True)).to_be_visible()


async def chat_settings(page: Page) -> None:
    """Of a chat, not of one that is about to begin: on a phone the chat's menu leads there."""
    if await page.evaluate("matchMedia('(max-width: 34.9375em)').matches"):
        await head_menu(page)
        await page.get_by_role("menuitem", name="Chat settings").click()
    else:
        await page.get_by_role("button", name="Chat settings", exact=True).click()


async def head_menu(page: Page) -> None:
    await page.get_by_role("button", name="Chat menu").click()
    await expect(page.get_by_role("menuitem", name="Rename")).to_be_visible()


async def edit(page: Page) -> None:
    await page.get_by_role("button", name="Edit your message").last.click()
    await expect(page.locator(".nk-edit")).to_be_visible()


async def message_menu(page: Page) -> None:
    await page.locator(".nk-answer").last.get_by_label("More").click()
    await expect(page.get_by_role("menuitem", name="Copy as text")).to_be_visible()


async def meter(page: Page) -> None:
    await page.get_by_role("button", name="Context:").click()
    await expect(page.get_by_role("menuitemradio", name="Sum up the oldest")).to_be_visible()


async def search(page: Page) -> None:
    await page.keyboard.press("Control+Shift+F")
    await page.get_by_label("Search chats").fill("question")
    await expect(page.locator(".nk-hit").first).to_be_visible()


async def filtered_search(page: Page) -> None:
    """By a tag, and the next filter is being chosen."""
    await search(page)
    await page.get_by_role("button", name="Tag").click()
    await page.get_by_role("menuitemcheckbox", name="money").click()
    await expect(page.locator(".nk-hit")).to_have_count(2)
    await page.get_by_role("button", name="Date").click()
    await expect(page.get_by_role("menuitemcheckbox").first).to_be_visible()


async def search_in_vain(page: Page) -> None:
    await page.keyboard.press("Control+Shift+F")
    await page.get_by_label("Search chats").fill("zebra crossing")
    await expect(page.get_by_text("No chat says")).to_be_visible()


async def chat_menu(page: Page) -> None:
    await sidebar(page)
    await page.get_by_role("link", name=NAMES[1], exact=True).hover()
    await page.get_by_role("button", name=f"Menu of {NAMES[1]}").click()
    await expect(page.get_by_role("menuitem", name="Tags")).to_be_visible()


async def tags(page: Page) -> None:
    await chat_menu(page)
    await page.get_by_role("menuitem", name="Tags").click()
    await expect(page.get_by_role("menuitemcheckbox", name="money")).to_be_visible()


async def archive(page: Page) -> None:
    await sidebar(page)
    await page.get_by_role("button", name="Archive", exact=True).click()
    await expect(page.get_by_role("button", name="Back to chats")).to_be_visible()
    await expect(page.get_by_role("link", name=NAMES[-1], exact=True)).to_be_visible()


async def selection_to_tag(page: Page) -> None:
    """Several chats, and the menu of their tags."""
    await selection(page)
    await page.get_by_role("link", name=NAMES[0], exact=True).press(" ")
    await page.get_by_role("toolbar").get_by_role("button", name="Tags").click()
    await expect(page.get_by_role("menuitemcheckbox", name="money")).to_be_visible()


async def selection(page: Page) -> None:
    await sidebar(page)
    await page.get_by_role("link", name=NAMES[1], exact=True).press(" ")
    await expect(page.get_by_role("toolbar", name="1 selected")).to_be_visible()


async def commands(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option").first).to_be_visible()


async def commands_found(page: Page) -> None:
    await commands(page)
    await page.keyboard.type("question")
    await expect(page.get_by_role("option").locator("mark").first).to_be_visible()


async def shortcuts(page: Page) -> None:
    await page.keyboard.press("Control+/")
    await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()


async def models_menu(page: Page) -> None:
    await page.get_by_role("button", name="Model:").click()
    await expect(page.get_by_role("menuitem", name="All models")).to_be_visible()


async def folder_form(page: Page) -> None:
    await sidebar(page)
    await page.get_by_role("button", name="New folder").click()
    await expect(page.get_by_label("Name of the folder")).to_be_visible()


async def person_menu(page: Page) -> None:
    await sidebar(page)
    await page.get_by_role("button", name="Admin").click()
    await expect(page.get_by_role("menuitem", name="Sign out")).to_be_visible()


async def temporary(page: Page) -> None:
    await page.get_by_role("button", name="Temporary chat").click()
    await expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()


async def file_form(page: Page) -> None:
    await page.get_by_role("button", name="Add a file").click()
    await expect(page.get_by_label("Where it is")).to_be_visible()


async def prompts(page: Page) -> None:
    composer = page.get_by_label("Message", exact=True)
    await composer.fill("")
    await composer.press_sequentially("/")
    await expect(page.get_by_role("option", name="Minutes")).to_be_visible()


async def variables(page: Page) -> None:
    """What a prompt asks for."""
    await prompts(page)
    await page.get_by_role("option", name="Minutes").click()
    await expect(page.get_by_role("dialog", name="Minutes")).to_be_visible()


async def model_menu(page: Page) -> None:
    await page.get_by_role("button", name="More for").first.click()
    await expect(page.get_by_role("menuitem").first).to_be_visible()


async def prompt_form(page: Page) -> None:
    """With something wrong in it."""
    await page.get_by_role("button", name="New prompt").click()
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert").first).to_be_visible()


async def preset_form(page: Page) -> None:
    await page.get_by_role("button", name="New preset").click()
    await expect(page.get_by_role("dialog").get_by_label("System prompt", exact=True)).to_be_visible()


async def sidebar(page: Page) -> None:
    opener = page.get_by_role("button", name="Open menu")
    if await opener.is_visible():
        await opener.click()


IN_CHAT: tuple[State, ...] = (
    drawer, edit, message_menu, meter, search, filtered_search, search_in_vain, selection, selection_to_tag, chat_menu,
    head_menu, tags, archive,
)
IN_NEW_CHAT: tuple[State, ...] = (
    commands, commands_found, shortcuts, models_menu, folder_form, person_menu, temporary, prompts, variables,
)


def pages(chat_id: str) -> list[tuple[str, tuple[State, ...]]]:
    """All that one who is signed in can see, with what may lie over each."""
    return [
        (f"/c/{chat_id}", IN_CHAT), ("/", IN_NEW_CHAT), ("/settings", ()), ("/models", (file_form, model_menu)),
        ("/models/find", ()), ("/models/bench", (bench_typed,)),
        (f"/models/installed/{STARTER_ID}", ()), ("/library", (prompt_form, preset_form)),
        ("/people", (person_form, person_password, person_deleted, key_question)),
    ]


async def bench_typed(page: Page) -> None:
    """Questions are typed, and what was asked for cannot be."""
    await page.get_by_role("button", name="Typed").click()
    await page.get_by_label("At once").fill("many")
    await page.get_by_role("button", name="Measure").click()
    await expect(page.get_by_role("alert")).to_be_visible()


async def found_none(page: Page) -> None:
    await expect(page.get_by_role("link", name="Choose a file")).to_have_count(2)
    await page.get_by_label("Search models").fill("nobody made this one")
    await expect(page.get_by_text("Nothing found")).to_be_visible()


async def found_several(page: Page) -> None:
    await page.get_by_label("Search models").fill("")
    await expect(page.get_by_role("link", name="Choose a file")).to_have_count(2)


async def fetching(page: Page) -> None:
    """A download that stands still in the middle; see `Hub.hold`."""
    usual = page.locator(".nk-hub", has_text="Usual choice")
    await expect(page.locator(".nk-card-text")).to_be_visible()
    await usual.get_by_role("button", name="Get").click()
    await expect(usual.locator(".nk-getting")).to_contain_text("%")


async def paused(page: Page) -> None:
    row = page.locator(".nk-dl")
    await expect(row.get_by_role("progressbar")).to_be_visible()
    await row.get_by_role("button", name="Pause").click()
    await expect(row.get_by_role("button", name="Resume")).to_be_focused()


def pages_with_a_hub(repo: str) -> list[tuple[str, tuple[State, ...]]]:
    return [
        ("/models/find", (found_none, found_several)), (f"/models/find/{repo}", (fetching,)), ("/models", (paused,)),
    ]
