"""The one script of every page: socket.io, our part of Quasar with its languages, NiceGUI, and our own.

Vue stays a file of its own: it is a module, and the others are not.
"""

from __future__ import annotations

import json

from ui.delivery.files import ASSETS, NICEGUI_ADDRESS, MadeFile, nicegui_file, version_of

LANGUAGES = ("en-US", "de")         # of Quasar's own few words; others are fetched
_NAMES = ("escape", "fields", "banners", "line", "frame", "focus", "web_app")
OURS = [ASSETS / "scripts" / f"{name}.js" for name in _NAMES]
AHEAD = ASSETS / "scripts" / "ahead.js"        # of no use but in here
QUASAR = ASSETS / "vendor" / "quasar" / "index.js"
WHOLE_QUASAR = {
    "script": f"{NICEGUI_ADDRESS}/quasar.umd.prod.js",
    "styles": [
        [f"{NICEGUI_ADDRESS}/quasar.unimportant.prod.css", "quasar"],
        [f"{NICEGUI_ADDRESS}/quasar.important.prod.css", "quasar_importants"],
    ],
}


def _made() -> str:
    return "\n;".join([
        f"window.nkQuasar = {json.dumps(WHOLE_QUASAR)}",
        _without_source_map(nicegui_file("socket.io.min.js")),
        QUASAR.read_text(encoding="utf-8"),
        *(nicegui_file(f"lang/{language}.umd.prod.js") for language in LANGUAGES),
        nicegui_file("nicegui.js"),
        AHEAD.read_text(encoding="utf-8"),
        *(path.read_text(encoding="utf-8") for path in OURS),
    ])


def _without_source_map(script: str) -> str:
    return script.partition("//# sourceMappingURL=")[0]


OURS_ALONE = [f"/assets/scripts/{path.name}?v={version_of([path])}" for path in OURS]
SCRIPT = MadeFile("page.js", "text/javascript", version_of([AHEAD, *OURS, QUASAR]), _made)
