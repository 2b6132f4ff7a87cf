"""NiceGUI's page template with our joined files in the place of what they hold. Derived at start from NiceGUI's own."""

from __future__ import annotations

import re
import socket
from collections.abc import Container, Iterable
from typing import Any

import structlog
from jinja2 import BaseLoader, FunctionLoader
from nicegui.client import Client, templates
from nicegui.dependencies import esm_modules
from nicegui.version import __version__ as NICEGUI_VERSION

from app.language import language_named, languages
from ui.components.elements import MARK
from ui.delivery.components import Joined
from ui.delivery.files import NICEGUI_ADDRESS
from ui.delivery.modules import FOLDERS
from ui.delivery.scripts import (
    EARLY,
    LANGUAGES,
    MISSING,
    NICEGUI_VUE,
    OURS_ALONE,
    SCRIPT,
    STORAGE,
    STORAGE_ALONE,
    VUE,
    in_page,
)
from ui.delivery.styles import LAYERS, SHEET

log = structlog.get_logger(__name__)

TEMPLATE = "index.html"
_STATIC = re.escape("{{ prefix | safe }}/_nicegui/{{version}}/static/")
_SCRIPT = rf'<script defer src="{_STATIC}%s"></script>\s*'
# Each stands there once. What is between the two ends of the first are NiceGUI's style sheets.
_CHANGES = (
    (
        r"<head>",
        f"<head>\n<script>{in_page(STORAGE)}"
        f"{in_page(MISSING)}nkWatch({{{{ language | nk_missing_words | tojson }}}});\n"
        f"{in_page(EARLY)}nkOpenEarly({{{{ socket_io_js_query_params | tojson }}}}, "
        "{{ prefix | tojson }});</script>",
    ),
    (
        rf"<style>\s*@layer {re.escape(LAYERS)};\s*@import [^<]*?nicegui\.css\"\) layer\(nicegui\);",
        f'<link rel="stylesheet" href="{SHEET.address}">\n    <style>',
    ),
    (_SCRIPT % re.escape("socket.io.min.js"), ""),
    (
        r"\{% if prod_js %\}\s*" + _SCRIPT % re.escape("quasar.umd.prod.js") + r"\{% else %\}\s*"
        + _SCRIPT % re.escape("quasar.umd.js") + r"\{% endif %\}\s*" + _SCRIPT % re.escape("nicegui.js"),
        f'<script defer src="{SCRIPT.address}"></script>\n',
    ),
    (rf'(<script defer src="{_STATIC}lang/[^"]+"></script>)', r"{% if language not in nk_languages %}\1{% endif %}"),
    (re.escape('{"imports": {{ imports | safe }}}'), '{"imports": {{ imports | nk_own_vue | safe }}}'),
    (re.escape("{{ js_imports | safe }}"), "{{ js_imports | nk_joined | safe }}"),
    (re.escape("{% for url in js_imports_urls %}"), "{% for url in js_imports_urls | nk_preloaded %}"),
)
# Where they are not all found: our sheet, which comes after NiceGUI's own in the same layers, and our script alone.
OUR_HEAD = f'<link rel="stylesheet" href="{SHEET.address}"><script src="{STORAGE_ALONE}"></script>' + "".join(
    f'<script src="{address}" defer></script>' for address in OURS_ALONE
)
_COMPONENT = re.compile(r'import \{ default as \w+ \} from "[^"]*/components/([^"]+)";')
_KEY = re.compile(r".*/components/(.+)")

_original: BaseLoader | None = templates.env.loader


def derived(source: str) -> str | None:
    """None where it is not as we know it."""
    for pattern, replacement in _CHANGES:
        source, num_found = re.subn(pattern, replacement, source)
        if num_found != 1:
            return None
    return source


def use_derived_template(joined: Joined) -> bool:
    """Whether NiceGUI's pages come with our joined files from now on."""
    assert _original is not None
    source, _, _ = _original.get_source(templates.env, TEMPLATE)
    page = derived(source)
    if page is None:
        log.warning("pages load more files than they need: NiceGUI's has another form", version=NICEGUI_VERSION)
        templates.env.loader = _original
        Client.shared_head_html = OUR_HEAD
        return False
    Client.shared_head_html = ""
    templates.env.loader = FunctionLoader({TEMPLATE: page}.get)
    templates.env.globals["nk_languages"] = LANGUAGES
    templates.env.filters["nk_joined"] = lambda js_imports: _joined(joined, js_imports)
    templates.env.filters["nk_own_vue"] = lambda imports: imports.replace(NICEGUI_VUE, VUE.address)
    templates.env.filters["nk_missing_words"] = _missing_words
    templates.env.filters["nk_preloaded"] = lambda addresses: _preloaded(joined, addresses)
    return True


def _missing_words(language: str) -> dict[str, Any]:
    """What missing.js says. `language`: as NiceGUI calls it."""
    say = language_named(language.partition("-")[0]) or languages()["en"]
    host = socket.gethostname()
    return {
        "away": {"title": say("away-title"), "about": say("away-about", host=host)},
        "lost": {"title": say("missing-title"), "about": say("missing-about")},
        "slow": {"title": say("missing-slow-title"), "about": say("missing-slow-about")},
        "again": say("missing-again"),
        "mark": MARK,
    }


def _joined(joined: Joined, js_imports: str) -> str:
    """The page's import statements, of which those for joined components become one a module."""
    names: dict[str, list[str]] = {}

    def note(statement: re.Match[str]) -> str:
        if statement[1] not in joined.by_key:
            return statement[0]
        name, file = joined.by_key[statement[1]]
        names.setdefault(file.address, []).append(name)
        return ""

    rest = _COMPONENT.sub(note, js_imports)
    imports = [f'import {{ {", ".join(found)} }} from "{address}";' for address, found in names.items()]
    return "\n".join([*imports, rest])


def _preloaded(joined: Joined, addresses: Iterable[str]) -> list[str]:
    """The modules that the page imports, those included that one would learn of only from another."""
    found: dict[str, None] = {f"{NICEGUI_ADDRESS}/dompurify.mjs": None}
    for address in addresses:
        key = _KEY.fullmatch(address)
        file = joined.by_key[key[1]][1] if key and key[1] in joined.by_key else None
        found[file.address if file else address.replace(NICEGUI_VUE, VUE.address)] = None
        if file is not None:
            found |= dict.fromkeys(_bundles(joined.imports[file.name]))
    return list(found)


def _bundles(names: Container[str]) -> list[str]:
    """The addresses of those that are folders' index.js: the rest is joined, or Vue, which the page names itself."""
    folders = [key for key, module in esm_modules.items() if module.name in names and module.name not in FOLDERS]
    return [f"/_nicegui/{NICEGUI_VERSION}/esm/{key}/index.js" for key in folders]
