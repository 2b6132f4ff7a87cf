"""Reads a JSON object entry by entry, in no more memory than the entry at hand needs: a few MB of brackets, read as a
whole, would take all there is. Called by the readers of safetensors; any thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from engine.errors import ModelLoadError
from engine.told import Told

_MAX_NAME_CHARS = 1024
_MAX_OBJECT_BYTES = 4096
_MAX_TEXT_BYTES = 1 << 20             # a longer one is passed over, and is as if it were empty

_SPACE = re.compile(rb"[ \t\r\n]*+")
_TEXT = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\.)*+"', re.DOTALL)      # possessive: never looks at a byte twice
_FLAT_OBJECT = re.compile(rb"\{[^{}]*+\}")


class JsonPieces:
    """Of `text`, from the file `name`. Whatever is wrong is a ModelLoadError."""

    def __init__(self, name: str, text: bytes) -> None:
        self._name = name
        self._text = text
        self._at = 0

    def entries(self, what: str) -> Iterator[str]:
        """The names in an object; whoever asks for the next has read what stands behind the last one."""
        self._expect(b"{")
        is_first = True
        while not self._found(b"}"):
            if not is_first:
                self._expect(b",")
            is_first = False
            name = self.text(f"a name in {what}")
            if not 0 < len(name) <= _MAX_NAME_CHARS:
                self.refuse(f"has a name of {len(name):,} characters in {what}")
            self._expect(b":")
            yield name

    def text(self, what: str) -> str:
        self._skip_space()
        found = _TEXT.match(self._text, self._at)
        if found is None:
            self.refuse(f"has no text where {what} is due")
        self._at = found.end()
        if found.end() - found.start() > _MAX_TEXT_BYTES:
            return ""
        try:
            text: str = json.loads(found[0])
        except ValueError:
            self.refuse(f"has a broken text where {what} is due")
        return text

    def flat_object(self, what: str) -> dict[str, Any]:
        """One without objects in it, and without braces in its texts."""
        self._skip_space()
        found = _FLAT_OBJECT.match(self._text, self._at, self._at + _MAX_OBJECT_BYTES)
        if found is None:
            self.refuse(f"describes {what} in no known way")
        self._at = found.end()
        try:
            entry: dict[str, Any] = json.loads(found[0], object_pairs_hook=_without_doubles)
        except (ValueError, RecursionError):
            self.refuse(f"describes {what} in no known way")
        return entry

    def end(self) -> None:
        self._skip_space()
        if self._at != len(self._text):
            self.refuse("has something behind the end of its header")

    def refuse(self, fault: str) -> NoReturn:
        raise ModelLoadError(Told("file-damaged", file=self._name, fault=fault))

    def _expect(self, mark: bytes) -> None:
        if not self._found(mark):
            self.refuse(f"lacks a {mark.decode()} at byte {self._at:,} of its header")

    def _found(self, mark: bytes) -> bool:
        self._skip_space()
        if self._text[self._at : self._at + 1] != mark:
            return False
        self._at += 1
        return True

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a name stands twice")
    return entry
