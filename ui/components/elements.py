"""Plain HTML elements with our classes: what is seen most is no Quasar component. Used by every page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

MARK = (
    "M2 11.6C2 6.3 6.5 2 12 2s10 4.3 10 9.6V17.2A4.8 4.8 0 0 1 17.2 22H3.1A1.1 1.1 0 0 1 2 20.9Z"
    "M12.55 6.1C12.9 8.9 16.6 10.5 16.6 14.5a4.6 4.6 0 0 1-9.2 0C7.4 12.6 8.3 11.2 9.3 10.2c.2 1 .55 1.7 1.2 2.15"
    "C10.2 10 10.9 7.6 12.55 6.1Z"
)


def tag(name: str, classes: str = "", /, text: str | None = None, **attributes: Any) -> Element:
    """An element of any tag. Attributes as in HTML, with `_` for `-`: `aria_label="Copy"`, `for_="name"`."""
    element: Element = Element(name) if text is None else TextElement(tag=name, text=text)
    element.classes(classes)
    element.props.update({key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()})
    return element


def icon(name: str, size_px: int = 18) -> Element:
    """A symbol of assets/icons/lucide.svg, which `ui.theme` puts into every page."""
    return tag("svg", "nk-i" if size_px == 18 else f"nk-i nk-i-{size_px}", aria_hidden="true",
               innerHTML=f'<use href="#nk-{name}"/>')


def mark(size_px: int) -> Element:
    return tag("svg", "nk-mark", width=size_px, height=size_px, viewBox="0 0 24 24", aria_hidden="true",
               innerHTML=f'<path fill="currentColor" fill-rule="evenodd" d="{MARK}"/>')


def icon_button(icon_name: str, label: str, classes: str = "", size_px: int = 18) -> Element:
    with tag("button", f"nk-ib {classes}".strip(), type="button", aria_label=label, title=label) as button:
        icon(icon_name, size_px)
    return button


def button(text: str, classes: str, *, icon_name: str | None = None, kind: str = "button") -> Element:
    with tag("button", f"nk-btn {classes}", type=kind) as element:
        if icon_name:
            icon(icon_name)
        tag("span", text=text)
    return element


@contextmanager
def menu(anchor: str, corner: str) -> Iterator[ui.menu]:
    """A menu of the element around it: its `corner` at that one's `anchor`, in Quasar's words, "bottom right" say."""
    popup = ui.menu().classes("nk-menu").props(f'auto-close anchor="{anchor}" self="{corner}" :offset="[0, 6]"')
    with popup, tag("div", "", role="menu"):
        yield popup


def menu_item(text: str, icon_name: str, *, classes: str = "") -> Element:
    with tag("button", f"nk-nav {classes}".strip(), type="button", role="menuitem") as element:
        icon(icon_name)
        tag("span", text=text)
    return element


def menu_link(text: str, icon_name: str, href: str) -> Element:
    with tag("a", "nk-nav", href=href, role="menuitem") as element:
        icon(icon_name)
        tag("span", text=text)
    return element


def hint_bad(text: str) -> Element:
    """What is wrong with the field above, and what to do."""
    with tag("span", "nk-hint bad", role="alert") as element:
        icon("circle-alert", 14)
        tag("span", text=text)
    return element
