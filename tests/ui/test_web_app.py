"""Inglenook as an app of the browser: everybody may have its manifest and its worker, and neither tells of anybody."""

from __future__ import annotations

import json
import re

from tests.ui.conftest import Home, Person


async def test_the_manifest_speaks_the_language_of_its_page_and_names_files_that_are_there(home: Home) -> None:
    async with home.http() as nobody:
        english = (await nobody.get("/manifest.webmanifest")).json()
        response = await nobody.get("/manifest.webmanifest?lang=de")
        german = response.json()
        assert response.headers["content-type"] == "application/manifest+json"
        assert [each["name"] for each in english["shortcuts"]] == ["New chat", "Library", "Settings"]
        assert [each["name"] for each in german["shortcuts"]] == ["Neuer Chat", "Bibliothek", "Einstellungen"]
        assert [german[key] for key in ("lang", "dir", "display", "start_url")] == ["de", "ltr", "standalone", "/"]
        assert {icon["purpose"] for icon in german["icons"]} == {"any", "maskable"}
        for icon in german["icons"]:
            assert (await nobody.get(icon["src"])).status_code == 200, icon["src"]


async def test_everybody_may_open_what_the_manifest_leads_to(home: Home, ben: Person) -> None:
    async with ben.http() as browser:
        for shortcut in (await browser.get("/manifest.webmanifest")).json()["shortcuts"]:
            assert (await browser.get(shortcut["url"])).status_code == 200, shortcut["url"]


async def test_every_page_names_the_manifest_and_the_colours_of_both_themes(home: Home, ada: Person) -> None:
    async with home.http() as nobody:
        pages = [(await nobody.get("/login", headers={"Accept-Language": "de"})).text]
    await home.services.accounts.set_setting(ada.id, "language", "de")
    async with ada.http() as browser:
        pages += [(await browser.get(path)).text for path in ("/", "/models", "/settings", "/nowhere")]
    for html in pages:
        assert '<link rel="manifest" href="/manifest.webmanifest?lang=de">' in html
        assert len(re.findall(r'<meta name="theme-color" media="\(prefers-color-scheme: (?:light|dark)\)"', html)) == 2


async def test_the_worker_keeps_the_calm_page_and_what_it_needs_and_nothing_else(home: Home, ada: Person) -> None:
    async with home.http() as nobody:
        response = await nobody.get("/sw.js?lang=de")
        assert response.headers["content-type"].startswith("text/javascript")
        assert response.headers["cache-control"] == "no-cache"
        [listed] = re.findall(r"^const FILES = (.*);$", response.text, re.MULTILINE)
        files = json.loads(listed)
        assert files[0] == "/away?lang=de"
        assert all(file.startswith("/assets/") for file in files[1:])
        for file in files:
            assert (await nobody.get(file)).status_code == 200, file
        assert "Inglenook ist gerade nicht da" in (await nobody.get(files[0])).text
        other = await nobody.get("/sw.js?lang=en")
    async with ada.http() as browser:
        assert (await browser.get("/sw.js?lang=de")).text == response.text
    assert other.text != response.text


async def test_a_language_that_is_not_there_is_the_browser_s(home: Home) -> None:
    async with home.http() as nobody:
        odd = await nobody.get("/sw.js?lang=%22%3B", headers={"Accept-Language": "de"})
        assert odd.text == (await nobody.get("/sw.js?lang=de")).text
