"""A few choices side by side, of which one holds: theme, language, size of text. Used by the frame and the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from nicegui.element import Element

from ui.components.elements import tag

T = TypeVar("T")


class Choice(Generic[T]):
    """In a menu the choices are its radio items, elsewhere buttons that stay down."""

    def __init__(
        self, label: str, names: Mapping[T, str], chosen: T, on_choose: Callable[[T], Awaitable[None]],
        *, in_menu: bool = False, langs: Mapping[T, str] | None = None,
    ) -> None:
        """`names`: what stands on each button; `langs`: in what language that is, where it is not the page's."""
        self._on_choose = on_choose
        self._state = "aria-checked" if in_menu else "aria-pressed"
        self._buttons: dict[T, Element] = {}
        with tag("div", "nk-seg", role="group", aria_label=label):
            for value, name in names.items():
                button = tag("button", "", name, type="button", **({"role": "menuitemradio"} if in_menu else {}))
                if langs and value in langs:
                    button.props["lang"] = langs[value]
                self._buttons[value] = button.on("click", self._chooser(value))
        self.show(chosen)

    def show(self, chosen: T) -> None:
        for value, button in self._buttons.items():
            is_chosen = value == chosen
            button.classes(add="on") if is_chosen else button.classes(remove="on")
            button.props[self._state] = "true" if is_chosen else "false"

    def _chooser(self, value: T) -> Callable[[], Awaitable[None]]:
        async def choose() -> None:
            self.show(value)
            await self._on_choose(value)

        return choose
