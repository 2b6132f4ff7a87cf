"""A text that a browser says again whenever its line is back, until it was taken: see `untilTaken` in frame.js.

What is said into a line that is dying is lost, and nobody is told. Used by what takes people's texts, on the loop.
"""

from __future__ import annotations


class Once:
    """One for each place that texts come from."""

    def __init__(self) -> None:
        self._last = ""

    def take(self, said: str | list[str]) -> str | None:
        """The text of `[text, key]`; None: it was taken before, under this key. A text without a key is a new one."""
        text, key = said if isinstance(said, list) else (said, "")
        if key and key == self._last:
            return None
        self._last = key
        return text
