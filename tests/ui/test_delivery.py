"""Pages come in few files, which hold all that those held in whose place they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from nicegui.client import Client, templates
from nicegui.dependencies import js_components

from tests.ui.conftest import Home, Person
from ui.delivery import modules, template
from ui.delivery.components import OURS, Joined, Part, join_components
from ui.delivery.files import ASSETS, COMPILED_WHOLE, NICEGUI_ADDRESS, nicegui_file
from ui.delivery.scripts import NICEGUI_VUE, QUASAR, SCRIPT, VUE
from ui.delivery.styles import LEFT_OUT, SHEET, trimmed
from ui.delivery.template import derived, use_derived_template
from ui.delivery.templates import TEMPLATE, with_renders

UNUSED = re.compile(r"\.q-(?:btn|tab)(?![a-z])")


async def _page(person: Person, path: str = "/") -> str:
    async with person.http() as browser:
        return (await browser.get(path)).text


async def test_a_page_asks_for_one_style_sheet_and_two_scripts(ada: Person) -> None:
    html = await _page(ada)
    assert re.findall(r'<link rel="stylesheet" href="([^"]+)"', html) == [SHEET.address]
    scripts = re.findall(r'<script [^>]*src="([^"]+)"', html)
    assert [each for each in scripts if "/words/" not in each] == [SCRIPT.address]
    assert "@import" not in html
    [imported] = re.findall(r'import \{ ([^}]+) \} from "([^"]+)"', html)
    assert imported[1].startswith("/assets/page.mjs?v=") and "composer" in imported[0]


async def test_a_page_opens_its_line_before_it_asks_for_anything(ada: Person) -> None:
    html = await _page(ada)
    before, [call] = html.partition("<link")[0], re.findall(r"nkOpenEarly\((\{.*?\}), (.*?)\);</script>", html)
    assert "function nkOpenEarly(query, prefix)" in before and before.count("nkOpenEarly({") == 1
    assert "//" not in before.replace("://", "")
    query = json.loads(call[0])
    assert query["client_id"] in Client.instances and query["implicit_handshake"] is True and call[1] == '""'


async def test_a_page_can_say_that_its_files_are_missing_before_any_of_them_is_there(home: Home, ada: Person) -> None:
    await home.services.accounts.set_setting(ada.id, "language", "de")
    html = await _page(ada)
    [words] = re.findall(r"nkWatch\((\{.*?\})\);\n", html.partition("nkOpenEarly")[0])
    assert json.loads(words)["lost"]["title"] == "Da fehlt etwas"
    assert html.index("nkWatch({") < html.index("<link")


async def test_every_module_that_is_imported_is_asked_for_at_once(ada: Person) -> None:
    """One that the browser learnt of only from another would hold up the page for a way there and back."""
    html = await _page(ada)
    [mapped] = re.findall(r'"imports": (\{.*?\})\}', html)
    preloaded = set(re.findall(r'<link rel="modulepreload" href="([^"]+)"', html))
    names = {name for file in join_components().files[:1] for name in re.findall(r' from "([^"./]+)";', file.make())}
    assert "inglenook-sidebar" in names
    imports = json.loads(mapped)
    for name in {"vue", "dompurify", *names}:
        address = imports.get(name) or f"{imports[f'{name}/']}index.js"
        assert address in preloaded, name


async def test_scripts_that_run_as_a_page_is_made_are_compiled_whole(ada: Person) -> None:
    html = await _page(ada)
    assert f'"vue":"{VUE.address}"' in html and NICEGUI_VUE not in html
    assert VUE.make() == COMPILED_WHOLE + nicegui_file("vue.esm-browser.prod.js")
    page, answers, _ = join_components().files
    scripts = [SCRIPT.make(), page.make(), answers.make()]
    scripts += [(ASSETS / "vendor" / name / "index.js").read_text() for name in ("markdown", "sidebar")]
    assert [script for script in scripts if not script.startswith(COMPILED_WHOLE)] == []


async def test_what_it_asks_for_is_kept_for_ever_and_changes_its_address_with_its_content(ada: Person) -> None:
    async with ada.http() as browser:
        addresses = {SHEET.address, SCRIPT.address, *(file.address for file in join_components().files)}
        for address in addresses:
            response = await browser.get(address)
            assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert response.headers["content-encoding"] == "gzip" and len(response.text) > 1000
    assert all(re.fullmatch(r"/assets/\w+\.m?(?:js|css)\?v=[0-9a-f]{10}", address) for address in addresses)


async def test_a_component_asked_for_by_itself_is_the_very_same(ada: Person) -> None:
    """Another object would be another component: Vue would take down what is on the page, and make it anew."""
    joined = join_components()
    async with ada.http() as browser:
        for key, (name, file) in joined.by_key.items():
            address = f"{NICEGUI_ADDRESS.removesuffix('/static')}/components/{key}"
            response = await browser.get(address, headers={"Accept": "*/*"})
            assert response.text == f'export {{ {name} as default }} from "{file.address}";'
            assert response.headers["cache-control"] == "no-store"


def test_no_template_of_ours_is_left_for_the_browser_to_compile() -> None:
    folders = (OURS, *modules.FOLDERS.values())
    sources = [path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.js")]
    assert sum(len(TEMPLATE.findall(source)) for source in sources) > 15
    assert not [left for source in sources for left in TEMPLATE.findall(with_renders(source))], "make bundle"


def test_a_template_that_was_changed_since_is_left_to_the_browser() -> None:
    changed = "export default { template: `<p>Nobody compiled this.</p>` };"
    assert with_renders(changed) == changed


def test_every_component_of_ours_is_of_the_form_that_can_be_joined() -> None:
    ours = [component for component in js_components.values() if component.path.parent == OURS]
    assert {component.path for component in ours} == set(OURS.glob("*.js"))
    assert [component.path.name for component in ours if Part.of(component) is None] == []


def test_what_shows_no_answers_brings_no_markdown() -> None:
    page, answers, _ = join_components().files
    assert "inglenook-markdown" not in page.make()
    assert answers.make().count('from "inglenook-markdown"') == 1


def test_what_the_list_of_commands_is_made_from_comes_with_it() -> None:
    page, answers, _ = join_components().files
    assert "inglenook-commands" not in page.make() and "inglenook-composer" not in page.make()
    assert "function pressed(event)" in page.make() and "function pressed(event)" not in answers.make()


def test_what_messages_share_comes_with_them_and_their_worker_is_one_file() -> None:
    page, answers, worker = join_components().files
    assert "inglenook-talk" not in page.make() and "inglenook-talk" not in answers.make()
    assert f"./{worker.name}?v={worker.version}&prefix=" in answers.make()
    assert "new Hub(" in worker.make() and not re.search(r"^(?:import|export)\b", worker.make(), re.MULTILINE)


def test_a_module_of_another_form_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker.js").write_text('import odd from "./odd.js";\n')
    monkeypatch.setattr(modules, "TALK", tmp_path)
    with pytest.raises(modules.OtherForm, match=r"worker\.js"):
        modules.shared_worker()


def test_a_component_of_another_form_keeps_its_own_request(tmp_path: Path) -> None:
    path = tmp_path / "odd_one.js"
    path.write_text('import odd from "./odd.js";\nexport default { odd };\n')
    component = next(iter(js_components.values()))
    odd = type("Odd", (), {"path": path, "key": "k/odd_one.js", "name": "odd_one"})()
    assert Part.of(odd) is None
    assert Joined.of([component]).stub("k/odd_one.js") is None


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".q-btn{a:b}.q-menu{c:d}", ".q-menu{c:d}"),
        (".q-btn,.q-menu{a:b}", ".q-menu{a:b}"),
        (".q-tabs{a:b}", ".q-tabs{a:b}"),
        (".x:not(.a, .q-btn){a:b}", ""),
        ("@media print{.q-btn{a:b}.y{c:d}}", "@media print{.y{c:d}}"),
        ("@media print{.q-tab{a:b}}", ""),
        ("@keyframes q-btn{from{a:b}to{c:d}}", "@keyframes q-btn{from{a:b}to{c:d}}"),
        ("/* .q-menu{ */.z{a:b}", ".z{a:b}"),
    ],
)
def test_rules_go_only_if_all_their_selectors_do(css: str, left: str) -> None:
    assert trimmed(css, UNUSED) == left


def test_the_sheet_styles_the_parts_of_quasar_that_are_used_and_no_others() -> None:
    css = SHEET.make()
    for used in (".q-menu{", ".q-dialog__inner", ".q-field__control", ".q-layout", ".q-transition--fade", "--bg:"):
        assert used in css, used
    quasar = css.partition("@layer nicegui{")[0]
    for unused in (".q-carousel", ".q-btn", ".bg-red-3", "@font-face", ".q-pa-md"):
        assert unused not in quasar, unused
    assert css.startswith("@layer theme, base, quasar,")
    assert len(css) < 230_000


def test_our_part_of_quasar_is_of_the_version_that_nicegui_brings() -> None:
    left_out = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    [version] = re.findall(r"Quasar Framework v([\d.]+)", nicegui_file("quasar.umd.prod.js"))
    assert left_out["version"] == version, "change it in assets/build/package.json, then: make bundle"
    assert QUASAR.stat().st_size < 120_000


def test_a_page_of_nicegui_that_is_not_as_we_know_it_is_served_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    original = template._original
    assert original is not None
    source, *_ = original.get_source(templates.env, "index.html")
    assert derived(source) is not None
    assert derived(source.replace("socket.io.min.js", "socket.io.js")) is None

    monkeypatch.setattr(template, "_CHANGES", (("no such thing", ""),))
    assert not use_derived_template(join_components())
    assert templates.env.loader is original
    assert SHEET.address in Client.shared_head_html        # our own look and keys all the same
    monkeypatch.undo()
    assert use_derived_template(join_components())
    assert Client.shared_head_html == ""
