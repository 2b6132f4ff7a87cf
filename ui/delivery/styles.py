"""The one style sheet of every page: Quasar's and NiceGUI's rules, in NiceGUI's layers and as far as used, then ours.

Of Quasar's rules those are left out that speak of components which assets/vendor/quasar leaves out (their styles come
with them, should one be used after all), of colours, spacings and grids that no page of ours names. NiceGUI's fonts,
Material icons and Roboto, are left out too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ui.delivery.files import ASSETS, MadeFile, nicegui_file, version_of

STYLES = (      # in this order: each may change the former
    "tokens", "nicegui", "components", "prose", "app", "sidebar", "talk", "composer", "commands", "models",
    "bench", "people", "reach", "touch",
)
LAYERS = "theme, base, quasar, nicegui, components, utilities, overrides, quasar_importants"    # NiceGUI's template's
LEFT_OUT = ASSETS / "vendor" / "quasar" / "left_out.json"

_PARTS_OF_OTHERS = frozenset({"QField", "QIcon", "QSpinner"})       # left out by name, and drawn by those that are not
_COLOURS = (
    "red|pink|purple|deep-purple|indigo|blue|light-blue|cyan|teal|green|light-green|lime|yellow|amber|orange|"
    "deep-orange|brown|grey|blue-grey"
)
_UNUSED = (
    r"\.q-(?:[pm][atrblxy]|gutter|col-gutter)-",                    # spacings
    rf"\.(?:text|bg)-(?:{_COLOURS})(?![a-z])",
    r"\.(?:col|offset|order)-(?:xs|sm|md|lg|xl|\d)",                # grids
    r"\.q-(?:notifications?|message|scrollarea|loading-bar)(?![a-z])",
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BRACE = re.compile(r"[{}]")
_COMMA = re.compile(r",(?![^(]*\))")                                # between selectors, not within :not(a, b)
_CARD = re.compile(r"(?<![\w-])\.q-card\s*>\s*div")


def _made() -> str:
    unused = _unused_selectors()
    quasar, important = (
        trimmed(nicegui_file(f"quasar.{kind}.prod.css"), unused) for kind in ("unimportant", "important")
    )
    quasar = _CARD.sub(".nicegui-card-tight.q-card>div", quasar)    # as nicegui.js does where it finds Quasar's sheets
    return "\n".join([
        f"@layer {LAYERS};",
        f"@layer quasar{{{quasar}}}",
        f"@layer quasar_importants{{{important}}}",
        f"@layer nicegui{{{_COMMENT.sub('', nicegui_file('nicegui.css'))}}}",
        *((ASSETS / "styles" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES),
    ])


def trimmed(css: str, unused: re.Pattern[str]) -> str:
    """Without the rules all of whose selectors speak of what is `unused`."""
    return "".join(_trimmed_rules(_COMMENT.sub("", css), unused))


def _trimmed_rules(css: str, unused: re.Pattern[str]) -> Iterator[str]:
    for prelude, body in _rules(css):
        if prelude.startswith(("@media", "@supports")):
            if inner := "".join(_trimmed_rules(body, unused)):
                yield f"{prelude}{{{inner}}}"
        elif prelude.startswith("@"):
            yield f"{prelude}{{{body}}}"
        elif selectors := [each for each in _COMMA.split(prelude) if not unused.search(each)]:
            yield f"{','.join(selectors)}{{{body}}}"


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """What stands before each outermost pair of braces, and what between them."""
    at = depth = opened = 0
    for brace in _BRACE.finditer(css):
        if brace.group() == "{":
            opened = opened if depth else brace.start()
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            yield css[at:opened].strip(), css[opened + 1 : brace.start()]
            at = brace.end()


def _unused_selectors() -> re.Pattern[str]:
    names = json.loads(LEFT_OUT.read_text(encoding="utf-8"))["components"]
    kebab = [re.sub(r"(?<!^)(?=[A-Z])", "-", name[1:]).lower() for name in names if name not in _PARTS_OF_OTHERS]
    longest_first = "|".join(sorted(kebab, key=len, reverse=True))
    return re.compile("|".join([rf"\.q-(?:{longest_first})(?![a-z])", *_UNUSED]))


SHEET = MadeFile(
    "page.css", "text/css", version_of([LEFT_OUT, *(ASSETS / "styles" / f"{name}.css" for name in STYLES)]), _made
)
