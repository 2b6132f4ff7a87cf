"""Fields of the browser's own: text, choice, switch. No Quasar component, so nothing more is loaded for them. Any page.

A field tells its value when it is left or when Enter is pressed, which is before a form is sent. What it begins with is
its `defaultValue`: a `value` is set anew with whatever else changes on the page, over what somebody is just typing.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from ui.components.elements import icon_button, tag
from ui.language import t

VALUE = "(event) => emit(event.target.value)"
_numbers = count()


class TextField:
    """With its label, what it means, and a place for what is wrong with it."""

    def __init__(
        self, label: str, value: str = "", *, hint: str = "", placeholder: str = "", rows: int = 0, kind: str = "text",
        input_mode: str = "", autocomplete: str = "off",
    ) -> None:
        self.value = value
        name = f"nk-f{next(_numbers)}"
        with tag("div", "nk-field") as self.place:
            tag("label", "nk-lab", label, for_=name)
            extra: dict[str, Any] = {"inputmode": input_mode} if input_mode else {}
            if hint:
                extra["aria_describedby"] = f"{name}-hint"
            if rows:
                self.element = tag(
                    "textarea", "nk-area", id=name, rows=rows, spellcheck="false", defaultValue=value, **extra
                )
            else:
                with tag("div", "nk-input nk-input-sm"):
                    self.element = tag(
                        "input", "", id=name, type=kind, defaultValue=value, placeholder=placeholder,
                        autocomplete=autocomplete, **extra,
                    )
                    if autocomplete == "new-password":          # who makes one up wants to read it
                        _eye()
            if hint:
                tag("p", "nk-hint", hint, id=f"{name}-hint")
            self.problem = tag("div")
        self.element.on("change", self._take, js_handler=VALUE)

    def _take(self, event: GenericEventArguments) -> None:
        self.value = str(event.args)


def _eye() -> None:
    """Shows a password, and hides it again; as assets/scripts/gate.js does where somebody signs in."""
    show, hide = json.dumps(t("password-show")), json.dumps(t("password-hide"))
    icon_button("eye", t("password-show"), "nk-ib-sm nk-eye").on("click", js_handler=f"""(event) => {{
        const eye = event.currentTarget, field = eye.parentElement.querySelector("input");
        const shown = field.type === "text";
        field.type = shown ? "password" : "text";
        eye.title = shown ? {show} : {hide};
        eye.setAttribute("aria-label", eye.title);
        eye.querySelector("use").setAttribute("href", shown ? "#nk-eye" : "#nk-eye-off");
    }}""")


class SelectField:
    """One of a few, by the browser's own list. As a chip beside others, or with a label above."""

    def __init__(
        self, label: str, names: Mapping[str, str], chosen: str, on_choose: Callable[[str], Awaitable[None]],
        *, is_chip: bool = False,
    ) -> None:
        self.value = chosen
        self._on_choose = on_choose
        self._names = names
        with tag("label", "nk-select-chip" if is_chip else "nk-field"):
            tag("span", "nk-sr" if is_chip else "nk-lab", label)
            with tag("select", "nk-chip" if is_chip else "nk-select") as self.element:
                for value, name in names.items():
                    selected = {"selected": True} if value == chosen else {}
                    tag("option", "", name, value=value, **selected)
        self.element.on("change", self._take, js_handler=VALUE)

    async def _take(self, event: GenericEventArguments) -> None:
        self.value = str(event.args) if event.args in self._names else self.value
        await self._on_choose(self.value)


class Switch:
    """On or off, with its words beside it."""

    def __init__(self, label: str, about: str, *, is_on: bool) -> None:
        self.is_on = is_on
        name = f"nk-f{next(_numbers)}"
        with tag("div", "nk-switch-row"):
            self.element: Element = tag(
                "button", "nk-switch on" if is_on else "nk-switch", type="button", role="switch",
                aria_checked=_word(is_on), aria_labelledby=name, aria_describedby=f"{name}-hint",
            )
            with tag("div"):
                tag("span", "nk-lab", label, id=name)
                tag("p", "nk-hint", about, id=f"{name}-hint")
        self.element.on("click", self._turn)

    def show(self, is_on: bool) -> None:
        """As it was turned elsewhere."""
        if is_on != self.is_on:
            self._turn()

    def _turn(self) -> None:
        self.is_on = not self.is_on
        self.element.classes(add="on") if self.is_on else self.element.classes(remove="on")
        self.element.props["aria-checked"] = _word(self.is_on)


def _word(is_on: bool) -> str:
    return "true" if is_on else "false"
