"""The page of people, built for real and used without a browser: what it shows, and what is not shown to whom."""

from __future__ import annotations

import pytest
from nicegui import Client
from nicegui.element import Element
from nicegui.testing import User

from app.services.models import STARTER_ID
from store.tables import UserRole
from tests.app.house import PASSWORD
from tests.ui.conftest import Home, Person
from tests.ui.using import click, elements, one, press, told, trigger, until
from ui.components.commands import Commands
from ui.components.toast import Toast


def texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if element.visible and (text := getattr(element, "text", None))]


def row_of(tab: User, name: str) -> Element:
    (row,) = [
        each for each in elements(tab, Element)
        if "nk-person" in each.classes and name in [getattr(inner, "text", None) for inner in each.descendants()]
    ]
    return row


def choose(tab: User, name: str, item: str) -> None:
    """From the menu of that person, which opens by itself from the second time on."""
    press(tab, f"More for {name}")
    (word,) = [each for each in row_of(tab, name).descendants() if getattr(each, "text", None) == item]
    (button,) = [each for each in word.ancestors() if each.tag == "button" and each.props.get("role") == "menuitem"]
    trigger(button, "click")


def offered(tab: User, name: str) -> list[str]:
    """In that menu."""
    press(tab, f"More for {name}")
    return [text for each in row_of(tab, name).descendants() if (text := getattr(each, "text", None))]


def fill(tab: User, label: str, value: str) -> None:
    (name,) = [each for each in elements(tab, Element) if each.tag == "label" and getattr(each, "text", None) == label]
    (box,) = [each for each in elements(tab, Element) if each.props.get("id") == name.props["for"]]
    trigger(box, "change", value)


def submit(tab: User) -> None:
    (form,) = [each for each in elements(tab, Element) if each.tag == "form" and "nk-stack" in each.classes]
    trigger(form, "submit")


async def test_who_is_no_admin_is_told_for_whom_it_is_and_finds_no_way_there(
    home: Home, ada: Person, ben: Person
) -> None:
    async with ben.http() as browser:
        theirs = await browser.get("/people")
        assert theirs.status_code == 403
        assert "your account is not one of theirs, or no longer" in theirs.text
        none, one_there = [await browser.get(f"/models/installed/{name}") for name in ("none", STARTER_ID)]
        assert none.status_code == one_there.status_code == 403 and none.text == one_there.text
        for path in ("/", "/settings"):
            page = (await browser.get(path)).text
            assert "/people" not in page
    async with home.http() as browser:
        assert (await browser.get("/people")).headers["location"].startswith("/login")
    async with ada.http() as browser:
        assert (await browser.get("/people")).status_code == 200
        assert (await browser.get("/settings")).text.count("/people") >= 2       # the list of pages, the menu, commands


async def test_who_comes_for_the_first_time_is_seen_on_an_open_page(home: Home, ada: Person, ben: Person) -> None:
    tab = await ada.at("/people")

    def words() -> list[str | None]:
        return [getattr(each, "text", None) for each in row_of(tab, "Ben").descendants()]

    assert "Not here yet" in words()
    await ben.at("/")
    await until(lambda: "Not here yet" not in words())


async def test_somebody_is_added_with_a_password_that_is_shown_once(home: Home, ada: Person, ben: Person) -> None:
    tab, other = await ada.at("/people"), await ada.at("/people")
    await tab.should_see("2 people")
    click(tab, "Add a person")
    await tab.should_see("The name they sign in with.")
    fill(tab, "Name", "ben")
    submit(tab)
    await until(lambda: "This name is taken. Choose another." in texts(tab))
    fill(tab, "Name", "Carla")
    fill(tab, "Password", "short")
    submit(tab)
    await until(lambda: "Choose a password of at least 8 characters." in texts(tab))
    fill(tab, "Password", "")
    click(tab, "Admin")
    submit(tab)
    await until(lambda: "Carla can sign in." in texts(tab))
    (shown,) = [each for each in elements(tab, Element) if "nk-secret" in each.classes]
    carla, _ = await home.services.accounts.sign_in("Carla", str(getattr(shown, "text", "")))
    assert carla.role is UserRole.ADMIN
    await until(lambda: {"3 people", "Carla"} <= set(texts(other)))        # the other page follows
    assert not [each for each in elements(other, Element) if "nk-secret" in each.classes]


async def test_a_new_password_signs_them_out(home: Home, ada: Person, ben: Person) -> None:
    tab = await ada.at("/people")
    choose(tab, "Ben", "New password")
    await tab.should_see("Ben is signed out everywhere.")
    fill(tab, "Password", "battery staple")
    submit(tab)
    await until(lambda: told(tab, "Ben has a new password."))
    assert await home.services.accounts.user_of_session(ben.session) is None
    await home.services.accounts.sign_in("Ben", "battery staple")


async def test_who_is_made_an_admin_can_be_unmade_at_once(home: Home, ada: Person, ben: Person) -> None:
    tab = await ada.at("/people")
    choose(tab, "Ben", "Make an admin")
    await until(lambda: told(tab, "Ben is an admin."))
    await until(lambda: "Take admin rights away" in offered(tab, "Ben"))
    theirs = await ben.at("/people")            # open when it ends
    await theirs.should_see("2 people")
    assert theirs.client is not None
    trigger(one(tab, Toast), "act", f"user {ben.id}")
    await until(lambda: theirs.client and theirs.client.id not in Client.instances)
    async with ben.http() as browser:
        assert (await browser.get("/people")).status_code == 403
    trigger(one(tab, Toast), "act", "emperor " + ben.id)        # as no page of ours says
    await until(lambda: "Make an admin" in offered(tab, "Ben"))


async def test_an_open_page_of_who_is_made_an_admin_shows_it(home: Home, ada: Person, ben: Person) -> None:
    """Without being loaded anew: what they are, and the ways to what they may do now."""
    tabs = [await ben.at(path) for path in ("/", "/library")]
    assert not any({"Admin", "People"} & set(texts(tab)) for tab in tabs)
    await home.services.people.set_role(ada.id, ben.id, UserRole.ADMIN)
    await until(lambda: all("Admin" in texts(tab) for tab in tabs))
    for tab, num_ways in zip(tabs, (1, 2), strict=True):        # in the menu, and in the list of pages
        assert sum(each.props.get("href") == "/people" for each in elements(tab, Element)) == num_ways
        assert any(command["href"] == "/people" for command in one(tab, Commands).props["commands"])
    await home.services.people.set_role(ada.id, ben.id, UserRole.USER)
    assert all(tab.client and tab.client.id not in Client.instances for tab in tabs)


async def test_whatever_admins_have_comes_to_who_is_made_one(home: Home, ada: Person, ben: Person) -> None:
    """On pages that are open: the rules for all models, how much may be imported, and the ways to the models."""
    settings, chat = await ben.at("/settings"), await ben.at("/")
    click(chat, "Model: ")

    def found() -> list[bool]:
        in_settings, in_chat = texts(settings), texts(chat)
        return [
            "Memory for all models together, in GiB" in in_settings,
            any("import_max_bytes" in each for each in in_settings),
            "Add a larger one" in in_chat,
            "All models" in in_chat,
        ]

    assert found() == [False] * 4
    await home.services.people.set_role(ada.id, ben.id, UserRole.ADMIN)
    await until(lambda: all(found()))
    await home.services.people.set_role(ada.id, ben.id, UserRole.USER)
    assert all(tab.client and tab.client.id not in Client.instances for tab in (settings, chat))
    assert "Memory for all models together, in GiB" not in texts(await ben.at("/settings"))


async def test_pages_of_others_stay_when_an_admin_is_unmade(home: Home, ada: Person, ben: Person) -> None:
    carla = await home.person("Carla", UserRole.ADMIN)
    theirs, others, mine = await carla.at("/models"), await ben.at("/"), await ada.at("/people")
    await home.services.people.set_role(ada.id, carla.id, UserRole.USER)
    assert theirs.client and others.client and mine.client
    assert theirs.client.id not in Client.instances
    assert {others.client.id, mine.client.id} <= Client.instances.keys()


async def test_who_is_disabled_is_let_in_again(home: Home, ada: Person, ben: Person) -> None:
    tab = await ada.at("/people")
    choose(tab, "Ben", "Disable")
    await tab.should_see("Disable Ben?")
    (_, yes) = [each for each in elements(tab, Element) if getattr(each, "text", None) == "Disable"]
    (button,) = [each for each in yes.ancestors() if each.tag == "button"]
    trigger(button, "click")
    await until(lambda: "Disabled" in texts(tab))
    assert await home.services.accounts.user_of_session(ben.session) is None
    (said,) = told(tab, "Ben is disabled, and signed out everywhere.")
    assert "Undo" not in said       # what has ended does not come back
    choose(tab, "Ben", "Enable")
    await until(lambda: told(tab, "Ben is enabled, and can sign in again."))
    assert "Undo" in told(tab, "Ben is enabled, and can sign in again.")[0]
    await home.services.accounts.sign_in("Ben", PASSWORD)
    trigger(one(tab, Toast), "act", f"disabled {ben.id}")
    await until(lambda: "Enable" in offered(tab, "Ben"))


async def test_before_somebody_is_deleted_it_is_told_what_goes(home: Home, ada: Person, ben: Person) -> None:
    await home.services.chat.send(ben.id, None, "What is the capital of France?")
    await home.services.accounts.create_key(ben.id, "Laptop")
    tab = await ada.at("/people")
    choose(tab, "Ben", "Delete")
    await tab.should_see("1 chat with 2 messages")
    await tab.should_see("1 API key")
    fill(tab, "To be sure, type Ben", "Bert")
    submit(tab)
    await until(lambda: "This is not their name. Type Ben." in texts(tab))
    fill(tab, "To be sure, type Ben", "Ben")
    submit(tab)
    await until(lambda: told(tab, "Ben is deleted."))
    await tab.should_see("1 person")
    await tab.should_see("No program has a key.")
    assert [user.name for user in await home.services.accounts.list_users()] == ["Ada Lovelace"]


async def test_one_s_own_row_has_no_menu_but_a_way_to_the_settings(ada: Person) -> None:
    tab = await ada.at("/people")
    row = row_of(tab, "Ada Lovelace")
    assert not [each for each in row.descendants() if each.props.get("role") == "menuitem"]
    assert [each.props["href"] for each in row.descendants() if each.tag == "a"] == ["/settings"]
    await tab.should_see("You")


async def test_keys_of_everybody_are_seen_and_revoked_and_their_owner_s_page_follows(
    home: Home, ada: Person, ben: Person
) -> None:
    _, key = await home.services.accounts.create_key(ben.id, "Laptop")
    tab, theirs = await ada.at("/people"), await ben.at("/settings")
    await tab.should_see("of Ben")
    assert any(text.endswith("not used yet") for text in texts(tab))
    await theirs.should_see("Laptop")
    click(tab, "Revoke")
    (_, yes) = [each for each in elements(tab, Element) if getattr(each, "text", None) == "Revoke"]
    (button,) = [each for each in yes.ancestors() if each.tag == "button"]
    trigger(button, "click")
    await tab.should_see("No program has a key.")
    await until(lambda: told(tab, "The key Laptop is revoked."))
    await until(lambda: "Laptop" not in texts(theirs))
    assert await home.services.accounts.user_of_key(key) is None


async def test_a_long_list_is_shown_in_part_until_all_is_asked_for(
    home: Home, ada: Person, ben: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.pages.people.NUM_SHOWN", 1)
    tab = await ada.at("/people")
    await tab.should_see("Ada Lovelace")
    await tab.should_not_see("Ben")
    await home.services.people.add(ada.id, "Cleo", "correct horse battery", UserRole.USER)
    await tab.should_see("Cleo")            # who comes meanwhile
    await tab.should_not_see("Ben")
    click(tab, "Show all 3")
    await tab.should_see("Ben")


async def test_what_was_done_elsewhere_meanwhile_is_told(home: Home, ada: Person, ben: Person) -> None:
    tab = await ada.at("/people")
    choose(tab, "Ben", "New password")
    await home.services.people.remove(ada.id, ben.id, "Ben")
    submit(tab)
    await until(lambda: "There is no such user." in texts(tab))


async def test_the_page_speaks_german(ada: Person, ben: Person) -> None:
    await ada.home.services.accounts.set_setting(ada.id, "language", "de")
    tab = await ada.at("/people")
    await tab.should_see("Person hinzufügen")
    await tab.should_see("Noch nicht da gewesen")
