"""Mistral: `[TOOL_CALLS][{"name": "f", "arguments": {…}}, …]`, and since 2025 `[TOOL_CALLS]f[ARGS]{…}`, one a call."""

from __future__ import annotations

import secrets
import string
from dataclasses import replace

from engine.parsers.json_calls import JsonCalls
from engine.parsers.pieces import Steps
from engine.tool_grammar import CallNotation

LISTED = CallNotation(
    opening="[TOOL_CALLS][", before='{"name": "{name}", "arguments": ', after="}", between=", ", closing="]"
)
LISTED_APART = replace(LISTED, opening="[TOOL_CALLS] [")
NAMED = CallNotation(before="[TOOL_CALLS]{name}[ARGS]", after="")

_ID_CHARS = string.ascii_letters + string.digits


class MistralParser(JsonCalls):
    opens = ("[TOOL_CALLS]",)
    inside = ("[CALL_ID]", "[ARGS]")

    def _read_call(self, mark: str) -> Steps[None]:
        if (yield from self._sign()) in "[{":
            yield from super()._read_call(mark)
            return
        name, mark = yield from self._name_until("[ARGS]", "[CALL_ID]", "{")
        if mark == "[CALL_ID]":
            _, mark = yield from self._name_until("[ARGS]", "{")
        if mark == "{":
            self._put_back(mark)
        self._open_call(name)
        yield from self._sign()
        if (yield from self._skip("[TOOL_CALLS]")):      # without arguments
            self._put_back("[TOOL_CALLS]")
            return
        yield from self._read_arguments()

    def _new_id(self) -> str:
        return "".join(secrets.choice(_ID_CHARS) for _ in range(9))      # their templates refuse any other form
