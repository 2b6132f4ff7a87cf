"""A page speaks its reader's language, whatever other pages speak."""

from __future__ import annotations

from tests.ui.conftest import Home, Person


async def test_a_page_is_in_the_language_that_its_reader_chose(home: Home, ada: Person, ben: Person) -> None:
    await home.services.accounts.set_setting(ada.id, "language", "de")
    async with ada.http() as browser:
        german = (await browser.get("/")).text
        script = (await browser.get("/assets/words/de.js")).text
    async with ben.http() as browser:
        english = (await browser.get("/")).text
    assert '<html lang="de"' in german and "/assets/words/de.js?v=" in german
    assert '<html lang="en-US"' in english and "/assets/words/en.js?v=" in english
    assert script.rstrip().endswith(");") and '"de"' in script


async def test_without_a_choice_the_browser_s_wish_counts(home: Home, ada: Person) -> None:
    async with ada.http() as browser:
        assert '<html lang="de"' in (await browser.get("/", headers={"Accept-Language": "de-CH"})).text
        assert '<html lang="en-US"' in (await browser.get("/", headers={"Accept-Language": "fr"})).text


async def test_words_of_a_language_that_is_not_there_are_not_found(home: Home, ada: Person) -> None:
    async with ada.http() as browser:
        assert (await browser.get("/assets/words/..%2fx.js")).status_code == 404
        assert (await browser.get("/assets/words/xx.js")).status_code == 404
