"""What the engine tells people: a sentence in English that knows which one it is, so that pages can say it in another.

The engine knows no catalogue. `app.errors` looks the same sentence up there, as `engine-<code>`; a test holds the two
to the same words. Pure, from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.sentences import SENTENCES

Value = str | int          # a string may be `Told` itself: a sentence within a sentence


class Told(str):
    """`str` in every respect, as logs and the API have it."""

    __slots__ = ("code", "values")

    code: str
    values: Mapping[str, Value]

    def __new__(cls, code: str, /, **values: Value) -> Told:
        told = super().__new__(cls, SENTENCES[code].format(**values))
        told.code, told.values = code, values
        return told

    def __deepcopy__(self, _memo: object) -> Told:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _told, (self.code, dict(self.values))


def _told(code: str, values: Mapping[str, Value]) -> Told:
    return Told(code, **values)


def packed(text: str) -> str | list[Any]:
    """As `unpacked` reads it, for JSON."""
    if not isinstance(text, Told):
        return text
    values = text.values.items()
    return [text.code, {name: value if isinstance(value, int) else packed(value) for name, value in values}]


def unpacked(stored: str | list[Any]) -> str:
    """"" for a sentence that only another version knows."""
    if isinstance(stored, str):
        return stored
    code, values = stored
    if code not in SENTENCES:
        return ""
    return Told(code, **{name: value if isinstance(value, int) else unpacked(value) for name, value in values.items()})
