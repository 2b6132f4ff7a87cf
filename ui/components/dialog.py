"""Questions before what cannot be undone, and small forms over the page. Used by the models and settings pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.element import Element

from ui.components.elements import button, hint_bad, tag
from ui.language import t


def field(
    label: str, *, kind: str = "text", autocomplete: str = "off", placeholder: str = ""
) -> tuple[ui.input, Element]:
    """A labelled input, and the place under it for what is wrong."""
    with tag("label", "nk-field"):
        tag("span", "nk-lab", label)
        box = ui.input(placeholder=placeholder).props(f'outlined type={kind} autocomplete={autocomplete}')
        box.props["aria-label"] = label
        problem = tag("span")
    return box, problem


def show_problem(place: Element, text: str | None) -> None:
    place.clear()
    if text:
        with place:
            hint_bad(text)


def ask(title: str, text: str, action: str, on_yes: Callable[[], Awaitable[None]]) -> None:
    """`action` names what happens, on the button that does it."""
    with ui.dialog(value=True) as dialog, tag("div", "nk-dialog"):
        dialog.props.update({"role": "alertdialog", "aria-label": title})
        tag("h2", "", title)
        tag("p", "", text)
        with tag("div", "nk-acts"):
            button(t("cancel"), "nk-btn-ghost").on("click", dialog.close)

            async def yes() -> None:
                dialog.close()
                await on_yes()

            button(action, "nk-btn-primary").on("click", yes)
    dialog.on("hide", dialog.delete)
