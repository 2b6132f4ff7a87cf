"""Many choices in a menu, of which one holds; see menu_choices.js. One element, however many they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui.element import Element


class MenuChoices(Element, component="menu_choices.js"):
    """`items` as told there; `choose(id)` when one is clicked. `has_heading`: the label can be seen, too."""

    def __init__(
        self, label: str, items: Sequence[dict[str, Any]], choose: Callable[[Any], Awaitable[None]], *,
        has_heading: bool = False, finds: bool = False,
    ) -> None:
        super().__init__()
        self._props.update(label=label, items=[*items], heading=has_heading, finds=finds)
        self.on("choose", lambda event: choose(event.args))
