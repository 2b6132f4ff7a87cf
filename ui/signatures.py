"""What NiceGUI asks of its own functions again and again, told to it once. Called by `ui.install`.

Each element's classes, style and props ask `inspect.signature` what their change handler takes: 25 µs, three times an
element, a quarter of what building a page costs. A function that carries its `__signature__` is not looked into.
"""

from __future__ import annotations

import inspect

from nicegui.classes import Classes
from nicegui.props import Props
from nicegui.style import Style


def tell_signatures() -> None:
    """Idempotent. Nothing is told of a handler that NiceGUI has no more."""
    for kind in (Classes, Style, Props):
        if handler := vars(kind).get("_update"):
            handler.__signature__ = inspect.signature(handler)
