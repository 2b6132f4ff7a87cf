"""Calls that must be made, in a model's own notation, as a GrammarSpec: for `tool_choice` required and named.

Whoever knows a family's notation describes it by a `CallNotation`; the arguments follow each function's own schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.backends.base import Tokenizer
from engine.grammar import GrammarKind, GrammarSpec, json_rule, literal

NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNotation:
    """The text around a call's arguments. `{name}` in `before` and `after` stands for the function's name.

    Hermes, for one: before is '<tool_call>\\n{"name": "{name}", "arguments": ' and after is '}\\n</tool_call>'.
    """

    before: str
    after: str
    between: str = ""       # two calls
    opening: str = ""       # before the first call, and
    closing: str = ""       # after the last


def tool_calls(
    functions: Sequence[Mapping[str, Any]], notation: CallNotation, tokenizer: Tokenizer, *, parallel: bool = True
) -> GrammarSpec:
    """At least one call of one of `functions`, OpenAI's {"name": …, "parameters": {…}}; with `parallel`, maybe more.

    A marker in the notation that is a special token of the model stands for that token, and no other may come.
    Raises InvalidRequest for parameters that are no schema, or too large.
    """
    text = _Markers(tokenizer)
    calls = []
    for index, function in enumerate(functions):
        param = f"tools[{index}].function.parameters"
        arguments = json_rule(function.get("parameters") or NO_ARGUMENTS, param)
        before, after = (part.replace("{name}", function["name"]) for part in (notation.before, notation.after))
        calls.append(" ".join((*text.rule(before), arguments, *text.rule(after))))
    more = " ".join(("(", *text.rule(notation.between), "call", ")*")) if parallel else ""
    start = " ".join(("start:", *text.rule(notation.opening), "call", more, *text.rule(notation.closing)))
    source = f"{start}\ncall: " + "\n    | ".join(calls)
    return GrammarSpec(GrammarKind.LARK, source, "tools", marker_ids=frozenset(text.used_ids))


class _Markers:
    """Splits text at the names of special tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._ids = {name: token_id for token_id, name in tokenizer.special_tokens.items() if name}
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if longest_first else None
        self.used_ids: set[int] = set()

    def rule(self, text: str) -> list[str]:
        parts = self._pattern.split(text) if self._pattern else [text]
        return [self._part(part) for part in parts if part]

    def _part(self, part: str) -> str:
        token_id = self._ids.get(part)
        if token_id is None:
            return literal(part, "tools")
        self.used_ids.add(token_id)
        return f"<[{token_id}]>"
