"""All that a page needs is served from here, and exists."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tests.ui.conftest import Home, Person
from ui.delivery.styles import STYLES
from ui.theme import ASSETS

UI = ASSETS.parent / "ui"
BUNDLE = ASSETS / "build"
ADDRESS = re.compile(r"""(?:href|src)=["']([^"'#$][^"']*)["']|url\(["']?([^"')]+)["']?\)""")


def _addresses(html: str) -> set[str]:
    return {first or second for first, second in ADDRESS.findall(html)}


async def test_pages_load_nothing_from_elsewhere_and_nothing_that_is_not_there(home: Home, ada: Person) -> None:
    async with home.http() as nobody:
        pages = [(await nobody.get("/login")).text]
    async with ada.http() as browser:
        pages += [(await browser.get(path)).text for path in ("/", "/models", "/settings")]
        addresses = set[str]().union(*map(_addresses, pages))
        files = {address for address in addresses if address.startswith(("/assets/", "/_nicegui/"))}
        assert len(files) > 10
        assert not [address for address in addresses if re.match(r"(https?:)?//", address)]
        for file in sorted(files):
            response = await browser.get(file, headers={"Accept": "*/*"})
            assert response.status_code == 200, file
            if "?v=" in file:
                assert "immutable" in response.headers["cache-control"], file


async def test_what_style_sheets_name_is_there_without_signing_in(home: Home) -> None:
    async with home.http() as nobody:
        for name in STYLES:
            for address in _addresses((ASSETS / "styles" / f"{name}.css").read_text(encoding="utf-8")):
                response = await nobody.get(f"/assets/{address}", headers={"Accept": "*/*"})
                assert response.status_code == 200, address


async def test_only_the_font_of_the_first_words_is_preloaded(ada: Person) -> None:
    async with ada.http() as browser:
        html = (await browser.get("/")).text
    assert re.findall(r'rel="preload" href="([^"]+)"', html) == ["/assets/fonts/figtree-latin-wght-normal.woff2"]


def test_every_icon_that_is_used_is_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="nk-([a-z0-9-]+)"', (ASSETS / "icons" / "lucide.svg").read_text()))
    used = set[str]()
    pages = (file for kind in ("*.py", "*.js", "*.html") for file in UI.rglob(kind))
    for file in (*pages, *BUNDLE.glob("markdown/*.js"), *BUNDLE.glob("sidebar/*.js")):
        text = file.read_text(encoding="utf-8")
        used |= set(re.findall(r"#nk-([a-z0-9-]+)", text))
        used |= set(re.findall(r"""\bicon(?:_button|Button)?\(["']([a-z0-9-]+)["']""", text))
        used |= set(re.findall(r"""icon(?:_name)?[:=] ?["']([a-z0-9-]+)["']""", text))
        used |= set(re.findall(r"""menu_item\((?:t\()?"[^"]+"\)?, "([a-z0-9-]+)\"""", text))
    assert used and used <= drawn, used - drawn


def test_the_bundle_carries_its_licences() -> None:
    text = (ASSETS / "vendor" / "markdown" / "LICENCES.txt").read_text(encoding="utf-8")
    assert "MIT License" in (ASSETS / "vendor" / "quasar" / "LICENCE.txt").read_text(encoding="utf-8")
    for name in ("dompurify", "highlight.js", "katex", "markdown-it"):
        assert re.search(rf"^{re.escape(name)} \d", text, re.MULTILINE), name
    assert Path(ASSETS / "icons" / "LICENCE-lucide.txt").is_file()
    assert len(list((ASSETS / "fonts").glob("OFL-*.txt"))) == 2


def test_the_bundle_is_built_from_what_is_here() -> None:
    digest = hashlib.sha256()
    sources = [path for folder in ("markdown", "sidebar", "words") for path in sorted((BUNDLE / folder).iterdir())]
    for path in [*(BUNDLE / name for name in ("build.mjs", "compiled.mjs", "package-lock.json")), *sources]:
        digest.update(path.read_bytes())
    for folder in ("markdown", "sidebar", "words"):
        built_from = (ASSETS / "vendor" / folder / "SOURCES.txt").read_text(encoding="utf-8").strip()
        assert built_from == digest.hexdigest(), "assets/build has changed: make bundle"


def test_our_part_of_quasar_is_built_from_what_is_here() -> None:
    digest = hashlib.sha256()
    for path in (BUNDLE / "quasar.mjs", BUNDLE / "package-lock.json", BUNDLE / "quasar" / "index.js"):
        digest.update(path.read_bytes())
    built_from = (ASSETS / "vendor" / "quasar" / "SOURCES.txt").read_text(encoding="utf-8").strip()
    assert built_from == digest.hexdigest(), "assets/build has changed: make bundle"


async def test_what_the_bundle_fetches_later_is_there(ada: Person) -> None:
    async with ada.http() as browser:
        html = (await browser.get("/")).text
        [folder] = re.findall(r'"inglenook-markdown/": ?"([^"]+)"', html)
        css = (await browser.get(f"{folder}katex.css")).text
        for name in ("index.js", "katex.js", *{first or second for first, second in ADDRESS.findall(css)}):
            assert (await browser.get(folder + name)).status_code == 200, name
