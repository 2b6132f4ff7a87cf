"""The top of every page about models: its title, and the way between what is installed and what could be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ui.components.elements import icon, tag
from ui.components.text import live
from ui.language import t

INSTALLED, FIND, BENCH = "/models", "/models/find", "/models/bench"

_PLACES = (
    (INSTALLED, "models-installed", "hard-drive"), (FIND, "models-find", "search"), (BENCH, "bench", "gauge"),
)


@contextmanager
def models_head(title: str, about: str, active: str) -> Iterator[None]:
    """What is made within stands before the links."""
    with tag("div", "nk-title nk-title-models"):
        with tag("div"):
            tag("h1", "", title)
            live("p").set_text(about)
        with tag("div", "nk-end"):
            yield
            _links(active)


def _links(active: str) -> None:
    with tag("nav", "nk-seg", aria_label=t("models")):
        for path, name, icon_name in _PLACES:
            current = {"aria_current": "page"} if path == active else {}
            with tag("a", "on" if path == active else "", href=path, **current):
                icon(icon_name, 14)
                tag("span", text=t(name))


def back_link(path: str, text: str) -> None:
    with tag("a", "nk-back", href=path):
        icon("chevron-left", 16)
        tag("span", text=text)
