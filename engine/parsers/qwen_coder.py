"""Qwen3-Coder, Qwen 3.5: `<tool_call><function=f><parameter=key>value</parameter></function></tool_call>`.

Values are bare text: what the tool's schema calls a string stays one, anything else is read as JSON where it can be.
"""

from __future__ import annotations

import json
from typing import Any

from engine.parsers.base import Parser, as_json
from engine.parsers.pieces import NotACall, Steps


class QwenCoderParser(Parser):
    opens = ("<tool_call>", "<function=")            # the first is left out now and then

    def _read_call(self, mark: str) -> Steps[None]:
        if mark == "<tool_call>":
            yield from self._sign()
            if not (yield from self._skip("<function=")):
                raise NotACall
        name, _ = yield from self._name_until(">")
        self._open_call(name)
        is_first = True
        yield from self._sign()
        while (yield from self._skip("<parameter=")):
            key, _ = yield from self._name_until(">")
            self._add_arguments(f"{'{' if is_first else ', '}{as_json(key)}: ")
            yield from self._read_parameter(_is_text(self._tools.get(name, {}), key))
            is_first = False
            yield from self._sign()
        self._add_arguments("{}" if is_first else "}")
        for end in ("</function>", "</tool_call>"):
            yield from self._skip(end)
            yield from self._sign()

    def _read_parameter(self, is_text: bool) -> Steps[None]:
        yield from self._skip("\n")
        if is_text:
            self._add_arguments('"')
        value = ""
        while True:
            text, mark = self._take_until("\n</parameter>", "</parameter>")
            if is_text:
                self._add_arguments(as_json(text)[1:-1])
            value += text
            if mark:
                self._add_arguments('"' if is_text else _as_json_value(value))
                return
            yield from self._more()


def _is_text(function: dict[str, Any], key: str) -> bool:
    """Of a parameter that the schema does not know, its own form is all there is to go by."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    schema = properties.get(key) if isinstance(properties, dict) else None
    return isinstance(schema, dict) and schema.get("type") == "string"


def _as_json_value(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return as_json(text)
    return text.strip()
