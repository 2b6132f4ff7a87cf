"""Llama 3: a call is the whole answer, `{"name": "f", "parameters": {…}}`, some with `<|python_tag|>` before it.

Nothing but its name tells a bare call from an answer in JSON, so it must be one of the tools that were offered.
"""

from __future__ import annotations

from engine.parsers.json_calls import JsonCalls
from engine.parsers.pieces import NotACall, Steps
from engine.tool_grammar import CallNotation

NOTATION = CallNotation(before='{"name": "{name}", "parameters": ', after="}", between=None)


class LlamaParser(JsonCalls):
    opens = ("<|python_tag|>",)

    def _read_answer(self) -> Steps[None]:
        if self._tools:
            yield from self._try_call("")
        yield from super()._read_answer()

    def _check_name(self, name: str) -> None:
        if name not in self._tools:
            raise NotACall
