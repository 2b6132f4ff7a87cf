"""Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4: `<tool_call>{"name": "f", "arguments": {…}}</tool_call>`, one a call."""

from __future__ import annotations

from engine.parsers.json_calls import JsonCalls


class HermesParser(JsonCalls):
    opens = ("<tool_call>",)
    closes = "</tool_call>"
