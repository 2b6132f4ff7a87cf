"""A person's own settings: each is kept, and what is wrong stands under its field."""

from __future__ import annotations

from typing import Any

import pytest
from nicegui import ui
from nicegui.element import Element
from nicegui.testing import User

from app.security import TERMINAL_KEY_NAME
from app.services.accounts import AccountService
from app.services.download_rules import DownloadRules
from tests.app.house import PASSWORD
from tests.ui.conftest import Home, Person
from tests.ui.using import click, elements, told, trigger, until


def _texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if element.visible and (text := getattr(element, "text", None))]


def _submit(tab: User, button: str) -> None:
    """Press the button of a form."""
    (label,) = [element for element in elements(tab, Element) if getattr(element, "text", None) == button]
    (form,) = [element for element in label.ancestors() if element.tag == "form"]
    trigger(form, "submit")


def _inputs(tab: User) -> list[Any]:
    return elements(tab, ui.input)


async def test_the_theme_is_kept_for_every_device_and_set_before_the_first_paint(ada: Person, ben: Person) -> None:
    async with ada.http() as browser:
        assert 'const theme = "system"' in (await browser.get("/")).text
        tab = await ada.at("/settings")
        (dark, *_) = [element for element in elements(tab, Element) if getattr(element, "text", None) == "Dark"]
        trigger(dark, "click")
        await until(lambda: told(tab, "inglenook.theme"))
        for path in ("/", "/models", "/settings"):
            assert 'const theme = "dark"' in (await browser.get(path)).text
    async with ben.http() as browser:
        assert 'const theme = "system"' in (await browser.get("/")).text


async def test_a_new_password_needs_the_present_one(home: Home, ada: Person) -> None:
    tab = await ada.at("/settings")
    old, new = _inputs(tab)[:2]
    old.value, new.value = "not this one", "another good one"
    _submit(tab, "Change password")
    await until(lambda: "This is not your current password." in _texts(tab))
    old.value, new.value = PASSWORD, "short"
    _submit(tab, "Change password")
    await until(lambda: any("at least 8 characters" in text for text in _texts(tab)))
    new.value = "another good one"
    _submit(tab, "Change password")
    await until(lambda: "Changed. Other devices are signed out." in _texts(tab))
    assert (old.value, new.value) == ("", "")
    user, _ = await home.services.accounts.sign_in("Ada Lovelace", "another good one")
    assert user.id == ada.id
    assert await home.services.accounts.user_of_session(ada.session) is not None     # this device stays signed in


async def test_a_key_is_shown_once_and_can_be_revoked(home: Home, ada: Person) -> None:
    accounts: AccountService = home.services.accounts
    tab = await ada.at("/settings")
    _submit(tab, "Make a key")
    await until(lambda: "Choose a name." in _texts(tab))
    _inputs(tab)[2].value = "Laptop"
    _submit(tab, "Make a key")
    await until(lambda: any(text.startswith("sk-") and "…" not in text for text in _texts(tab)))
    (secret,) = [text for text in _texts(tab) if text.startswith("sk-") and "…" not in text]
    user = await accounts.user_of_key(secret)
    assert user is not None and user.id == ada.id
    again = await ada.at("/settings")
    assert secret not in _texts(again) and "Laptop" in _texts(again)
    click(again, "Revoke")
    await until(lambda: "Revoke Laptop?" in _texts(again))
    (_, yes) = [element for element in elements(again, Element) if getattr(element, "text", None) == "Revoke"]
    (button,) = [element for element in yes.ancestors() if element.tag == "button"]
    trigger(button, "click")
    await until(lambda: "Laptop" not in _texts(again))
    assert await accounts.user_of_key(secret) is None


async def test_a_key_that_the_command_line_named_is_told_in_the_reader_s_language(home: Home, ada: Person) -> None:
    await home.services.accounts.create_key(ada.id, TERMINAL_KEY_NAME)
    assert "command line" in _texts(await ada.at("/settings"))
    await home.services.accounts.set_setting(ada.id, "language", "de")
    german = _texts(await ada.at("/settings"))
    assert "Kommandozeile" in german and "command line" not in german


async def test_the_language_is_chosen_for_every_device(home: Home, ada: Person) -> None:
    tab = await ada.at("/settings")
    click(tab, "Deutsch")
    await until(lambda: told(tab, "location.reload"))
    again = await ada.at("/settings")
    assert {"Einstellungen", "Farbschema", "Schriftgröße", "Die Eingabetaste"} <= set(_texts(again))
    async with ada.http() as browser:
        html = (await browser.get("/models", headers={"Accept-Language": "en"})).text
    assert '<html lang="de"' in html and "<title>Modelle · Inglenook</title>" in html
    click(again, "English")
    await until(lambda: told(again, "location.reload"))
    assert "Text size" in _texts(await ada.at("/settings"))


async def test_the_size_of_text_and_the_enter_key_are_kept_and_there_before_the_first_paint(ada: Person) -> None:
    async with ada.http() as browser:
        html = (await browser.get("/")).text
        assert 'style.fontSize = "100%"' in html and 'nkEnter = "send"' in html
        tab = await ada.at("/settings")
        click(tab, "125 %")
        await until(lambda: told(tab, 'fontSize = "125%"'))
        click(tab, "New line")
        await until(lambda: told(tab, 'nkEnter = "newline"'))
        html = (await browser.get("/")).text
        assert 'style.fontSize = "125%"' in html and 'nkEnter = "newline"' in html


async def test_a_setting_that_nobody_knows_counts_as_unset(home: Home, ada: Person) -> None:
    for key, value in (("theme", "sepia"), ("text_percent", 3000), ("enter", ["?"]), ("language", {"tlh": 1})):
        await home.services.accounts.set_setting(ada.id, key, value)
    async with ada.http() as browser:
        html = (await browser.get("/")).text
    assert 'style.fontSize = "100%"' in html and 'nkEnter = "send"' in html and 'const theme = "system"' in html


async def test_what_is_wrong_is_said_in_the_reader_s_language(home: Home, ada: Person) -> None:
    await home.services.accounts.set_setting(ada.id, "language", "de")
    tab = await ada.at("/settings")
    _submit(tab, "Schlüssel anlegen")
    await until(lambda: "Bitte einen Namen wählen." in _texts(tab))


def _native(tab: User, label: str) -> Element:
    """The input under this label."""
    name = next(
        each.props["for"] for each in elements(tab, Element)
        if each.tag == "label" and getattr(each, "text", None) == label
    )
    return next(each for each in elements(tab, Element) if each.props.get("id") == name)


async def test_an_admin_says_what_holds_for_all_models(home: Home, ada: Person) -> None:
    tab = await ada.at("/settings")
    form = next(each for each in elements(tab, Element) if each.tag == "form" and "nk-settings" in each.classes)
    trigger(_native(tab, "Memory for all models together, in GiB"), "change", "lots")
    trigger(form, "submit")
    await until(lambda: any(each.startswith("The memory budget is a number of GiB") for each in _texts(tab)))
    trigger(_native(tab, "Memory for all models together, in GiB"), "change", "12.5")
    trigger(_native(tab, "Downloads at most, in MiB a second"), "change", "fast")
    trigger(form, "submit")
    await until(lambda: "Give a number of MiB above 0, or leave it empty." in _texts(tab))
    trigger(_native(tab, "Downloads at most, in MiB a second"), "change", "2.5")
    trigger(_native(tab, "Download hours"), "change", "at night")
    trigger(form, "submit")
    await until(lambda: any(each.startswith("Write hours as 22:00-06:00") for each in _texts(tab)))
    trigger(_native(tab, "Download hours"), "change", "22 – 6")
    click(tab, "Shared cache")
    trigger(next(each for each in form.descendants() if each.props.get("role") == "switch"), "click")
    trigger(form, "submit")
    await until(lambda: "Saved." in _texts(tab))
    assert home.services.downloads.rules == DownloadRules(layout="shared", bytes_per_s=2621440, hours="22:00-06:00")
    assert await home.services.model_updates.looks_daily()
    assert home.services.engines.budget_bytes == 12.5 * 2**30


async def test_a_budget_that_a_flag_gives_stays_where_none_is_set_here(home: Home, ada: Person) -> None:
    home.services.engines.budget_bytes = 5 << 30
    tab = await ada.at("/settings")
    form = next(each for each in elements(tab, Element) if each.tag == "form" and "nk-settings" in each.classes)
    trigger(_native(tab, "Download hours"), "change", "22:00-06:00")
    trigger(form, "submit")
    await until(lambda: "Saved." in _texts(tab))
    assert home.services.engines.budget_bytes == 5 << 30


@pytest.mark.parametrize("language", ["en", "de"])
async def test_what_is_not_touched_in_the_rules_stays_exactly_what_it_is(
    home: Home, ada: Person, language: str
) -> None:
    await home.services.accounts.set_setting(ada.id, "language", language)
    await home.services.model_settings.set_memory_budget(0.0001)
    await home.services.downloads.set_rules(DownloadRules(bytes_per_s=5_000_000))
    tab = await ada.at("/settings")
    form = next(each for each in elements(tab, Element) if each.tag == "form" and "nk-settings" in each.classes)
    (hours,) = (each for each in form.descendants() if each.props.get("placeholder") in ("always", "immer"))
    shown = {each.props.get("defaultValue") for each in form.descendants() if each.tag == "input"}
    assert shown >= {"en": {"0.0001", "4.768372"}, "de": {"0,0001", "4,768372"}}[language]
    await home.services.downloads.set_rules(DownloadRules(bytes_per_s=5_000_000, layout="shared"))    # another admin
    trigger(hours, "change", "22-6")
    trigger(form, "submit")
    await until(lambda: not {"Saved.", "Gespeichert."}.isdisjoint(_texts(tab)))
    assert home.services.downloads.rules == DownloadRules(bytes_per_s=5_000_000, layout="shared", hours="22:00-06:00")
    assert await home.services.model_settings.memory_budget_gib() == 0.0001


@pytest.mark.parametrize(("language", "written"), [("en", "0.125"), ("de", "0,125"), ("en", "1.125"), ("de", "1,125")])
async def test_three_decimals_are_no_thousands(home: Home, ada: Person, language: str, written: str) -> None:
    await home.services.accounts.set_setting(ada.id, "language", language)
    tab = await ada.at("/settings")
    form = next(each for each in elements(tab, Element) if each.tag == "form" and "nk-settings" in each.classes)
    budget = next(each for each in form.descendants() if each.tag == "input")
    trigger(budget, "change", written)
    trigger(form, "submit")
    await until(lambda: not {"Saved.", "Gespeichert."}.isdisjoint(_texts(tab)))
    assert await home.services.model_settings.memory_budget_gib() == float(written.replace(",", "."))


async def test_rules_of_models_are_for_admins(ben: Person) -> None:
    tab = await ben.at("/settings")
    assert "Download hours" not in _texts(tab)
