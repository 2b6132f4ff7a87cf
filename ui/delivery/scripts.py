"""The one script of every page: socket.io, our part of Quasar with its languages, NiceGUI, and our own.

Vue stays a file of its own: it is a module, and the others are not. It is NiceGUI's, under an address of ours.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ui.delivery.files import ASSETS, COMPILED_WHOLE, NICEGUI_ADDRESS, MadeFile, nicegui_file, version_of

LANGUAGES = ("en-US", "de")         # of Quasar's own few words; others are fetched
_NAMES = ("escape", "fields", "banners", "line", "frame", "focus", "web_app")
OURS = [ASSETS / "scripts" / f"{name}.js" for name in _NAMES]
AHEAD = ASSETS / "scripts" / "ahead.js"        # of no use but in here
# These stand in the page itself, see template.py.
STORAGE = ASSETS / "scripts" / "storage.js"
MISSING = ASSETS / "scripts" / "missing.js"
EARLY = ASSETS / "scripts" / "early.js"
QUASAR = ASSETS / "vendor" / "quasar" / "index.js"
WHOLE_QUASAR = {
    "script": f"{NICEGUI_ADDRESS}/quasar.umd.prod.js",
    "styles": [
        [f"{NICEGUI_ADDRESS}/quasar.unimportant.prod.css", "quasar"],
        [f"{NICEGUI_ADDRESS}/quasar.important.prod.css", "quasar_importants"],
    ],
}


def _made() -> str:
    return COMPILED_WHOLE + "\n;".join([
        f"window.nkQuasar = {json.dumps(WHOLE_QUASAR)}",
        _without_source_map(nicegui_file("socket.io.min.js")),
        QUASAR.read_text(encoding="utf-8"),
        *(nicegui_file(f"lang/{language}.umd.prod.js") for language in LANGUAGES),
        nicegui_file("nicegui.js"),
        AHEAD.read_text(encoding="utf-8"),
        *(path.read_text(encoding="utf-8") for path in OURS),
    ])


def in_page(script: Path) -> str:
    """As a page has it in itself: without what its readers need not read."""
    return re.sub(r"(?m)^ *//.*\n|\s+// .*$|^ +", "", script.read_text(encoding="utf-8"))


def _without_source_map(script: str) -> str:
    return script.partition("//# sourceMappingURL=")[0]


STORAGE_ALONE, *OURS_ALONE = (f"/assets/scripts/{path.name}?v={version_of([path])}" for path in [STORAGE, *OURS])
SCRIPT = MadeFile("page.js", "text/javascript", version_of([AHEAD, *OURS, QUASAR]), _made)
NICEGUI_VUE = f"{NICEGUI_ADDRESS}/vue.esm-browser.prod.js"
VUE = MadeFile(
    "vue.mjs", "text/javascript", version_of([]),
    lambda: COMPILED_WHOLE + nicegui_file("vue.esm-browser.prod.js"),
)
