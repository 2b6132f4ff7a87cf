"""Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4: `<tool_call>{"name": "f", "arguments": {…}}</tool_call>`, one a call."""

from __future__ import annotations

from engine.parsers.json_calls import JsonCalls
from engine.tool_grammar import CallNotation

NOTATION = CallNotation(
    before='<tool_call>\n{"name": "{name}", "arguments": ', after="}\n</tool_call>", between="\n"
)


class HermesParser(JsonCalls):
    opens = ("<tool_call>",)
    closes = "</tool_call>"
