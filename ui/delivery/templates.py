"""Templates of our components as render functions, compiled when the bundles are built (assets/build/templates.mjs).

A browser would compile them anew at each load of a page. A template that was changed since, it still does; and all of
them where NiceGUI comes with another Vue than they were compiled for.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache

import structlog

from ui.delivery.files import ASSETS, nicegui_file

COMPILED = ASSETS / "vendor" / "templates" / "index.json"
TEMPLATE = re.compile(r"\btemplate: `([^`]*)`")

_VUE = re.compile(r"\bvue v([\d.]+)")

log = structlog.get_logger(__name__)


def with_renders(source: str) -> str:
    """A component's code, its templates replaced by their render functions."""
    renders = _renders()

    def replaced(template: re.Match[str]) -> str:
        render = renders.get(key_of(template[1]))
        return f"render: {render}" if render else template[0]

    return TEMPLATE.sub(replaced, source)


def key_of(written: str) -> str:
    """Of a template, as it stands between the backticks."""
    return hashlib.sha256(written.encode()).hexdigest()[:16]


@cache
def _renders() -> dict[str, str]:
    compiled = json.loads(COMPILED.read_text(encoding="utf-8"))
    version = _VUE.search(nicegui_file("vue.esm-browser.prod.js")[:200])
    if version is None or version[1] != compiled["vue"]:
        log.warning("browsers compile the pages' templates: NiceGUI has another Vue", compiled_for=compiled["vue"])
        return {}
    renders: dict[str, str] = compiled["renders"]
    return renders
