"""Calls written in JSON, read as they come. Families differ in what stands around `{"name": "f", "arguments": {…}}`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import ClassVar

from engine.parsers.base import Parser
from engine.parsers.pieces import NotACall, Steps

_ARGUMENTS = ("arguments", "parameters")
_BEFORE_NAME = ("name", "type", "id", *_ARGUMENTS)      # any other key says that the object is the answer's own
_BETWEEN_CALLS = ",;]}"                 # and the one brace too many that models like to write

_QUOTE_OR_ESCAPE = re.compile(r'["\\]')
_QUOTE_OR_BRACKET = re.compile(r'["{}\[\]<]')
_AFTER_SCALAR = re.compile(r"[\s,}\]]")


class JsonCalls(Parser):
    closes: ClassVar[str] = ""          # mark behind calls

    def _read_call(self, mark: str) -> Steps[None]:
        if (yield from self._sign()) == "[":
            self._take(1)
        yield from self._read_objects()

    def _read_objects(self) -> Steps[None]:
        while True:
            yield from self._read_object()
            self._close_call()
            while (sign := (yield from self._sign())) in _BETWEEN_CALLS:
                self._take(1)
            if sign != "{":
                break
            self._aside, self._early_arguments = "", ""
        if self.closes:
            yield from self._skip(self.closes)

    def _read_object(self) -> Steps[None]:
        """A call, whatever the order of its keys."""
        yield from self._expect("{")
        while (sign := (yield from self._sign())) != "}":
            if sign == ",":
                self._take(1)
                continue
            if sign != '"' and self._call_is_open:      # a brace too few: what follows is no part of it
                return
            key = _plain((yield from self._read_whole_value())) if sign == '"' else ""
            if not self._call_is_open and key not in _BEFORE_NAME:
                raise NotACall
            yield from self._expect(":")
            if key in _ARGUMENTS and not (self._has_arguments if self._call_is_open else self._early_arguments):
                yield from self._read_arguments()
                continue
            value = _plain((yield from self._read_whole_value()))
            if key == "name" and not self._call_is_open:
                self._check_name(value)
                self._open_call(value)
        self._take(1)
        if not self._call_is_open:
            raise NotACall

    def _check_name(self, name: str) -> None:
        if not name:
            raise NotACall

    def _read_arguments(self) -> Steps[None]:
        if (yield from self._sign()) in "{[":
            yield from self._read_value(self._add_arguments)
            return
        value = yield from self._read_whole_value()
        if value != "null":
            self._add_arguments(_plain(value))      # some models write the object into a string

    def _read_whole_value(self) -> Steps[str]:
        pieces: list[str] = []
        yield from self._read_value(pieces.append)
        return "".join(pieces)

    def _read_value(self, on_piece: Callable[[str], None]) -> Steps[None]:
        yield from self._sign()
        value = JsonValue(self.closes)
        while True:
            on_piece(self._take(value.measure(self._held)))
            if value.is_done:
                return
            yield from self._more()


class JsonValue:
    """Finds the end of one value in text that comes in pieces; checks no more than it needs for that."""

    def __init__(self, mark: str = "") -> None:
        self._mark = mark                            # ends it too, outside of its strings: a bracket was forgotten
        self.is_done = False
        self._depth = 0
        self._is_string = self._is_escaped = self._is_scalar = False
        self._is_begun = False

    def measure(self, text: str) -> int:
        """How many characters of `text` belong to the value."""
        if text and not self._is_begun:
            self._is_begun, self._is_scalar = True, text[0] not in '"{['
        if self._is_scalar:
            end = _AFTER_SCALAR.search(text)
            self.is_done = end is not None
            return end.start() if end else len(text)
        at = 0
        while at < len(text) and not self.is_done:
            if not self._is_string and self._may_be_mark(text, at):
                self.is_done = text.startswith(self._mark, at)
                break
            at = self._pass_string(text, at) if self._is_string else self._pass_brackets(text, at)
        return at

    def _may_be_mark(self, text: str, at: int) -> bool:
        return bool(self._mark) and self._mark.startswith(text[at : at + len(self._mark)])

    def _pass_string(self, text: str, at: int) -> int:
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = _QUOTE_OR_ESCAPE.search(text, at)
        if found is None:
            return len(text)
        self._is_escaped = found[0] == "\\"
        self._is_string = self._is_escaped
        self.is_done = not self._is_string and self._depth == 0
        return found.end()

    def _pass_brackets(self, text: str, at: int) -> int:
        found = _QUOTE_OR_BRACKET.search(text, at)
        if found is None:
            return len(text)
        if found[0] == "<":
            return found.start() if self._mark and found.start() > at else found.end()
        if found[0] == '"':
            self._is_string = True
        else:
            self._depth += 1 if found[0] in "{[" else -1
            self.is_done = self._depth == 0
        return found.end()


def _plain(value: str) -> str:
    """The text in a JSON string, as far as it can be had; other values as they are written."""
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value, strict=False)).encode("utf-8", "replace").decode()
    except ValueError:
        return value[1:-1]
