"""A list of which one is chosen: the browser's own, which needs no part of Quasar. Used by the library's forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nicegui.element import Element

from ui.components.elements import tag


class Choice(Element):
    """`value` is the key of the option that is chosen; `on_change` is called when its reader chose another."""

    def __init__(self, label: str, options: Mapping[str, str], value: str, on_change: Callable[[], None]) -> None:
        super().__init__("select")
        self.value = value
        self._on_change = on_change
        self.classes("nk-select")
        self._props["aria-label"] = label
        with self:
            for key, name in options.items():
                tag("option", "", name, value=key, **({"selected": True} if key == value else {}))
        self.on("change", lambda event: self.choose(event.args), js_handler="(event) => emit(event.target.value)")

    def choose(self, value: str) -> None:
        self.value = value
        self._on_change()
