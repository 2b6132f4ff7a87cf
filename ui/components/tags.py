"""Small words beside a name: "Default", "Admin". For rows of lists."""

from __future__ import annotations

from collections.abc import Sequence

from ui.components.elements import tag
from ui.language import t


class Tags:
    """Made where they are to stand, in an element of their own, and made anew only where others are due."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._place = tag("span", "nk-contents")

    def show(self, names: Sequence[str]) -> None:
        """`names` of the catalogue."""
        if list(names) == self._shown:
            return
        self._shown = list(names)
        self._place.clear()
        with self._place:
            for name in names:
                tag("span", "nk-tag", t(name))
