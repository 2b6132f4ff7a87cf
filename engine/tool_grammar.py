"""Calls of tools in a model's own notation, as a GrammarSpec: those that must be made, for `tool_choice` required and
named, and those that may be, of functions that are `strict`.

The families in `engine.parsers` describe theirs by a `CallNotation`; the arguments follow each function's own schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.backends.base import Tokenizer
from engine.errors import InvalidRequest
from engine.grammar import GrammarKind, GrammarSpec, json_rule, literal
from engine.parsers.base import Thinking

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}

_NAME = re.compile(r"[\w.:/-]+")      # what every notation holds without quotes, and every reader takes


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNotation:
    """The text around a call's arguments. `{name}` in `before` and `after` stands for the function's name.

    Hermes, for one: before is '<tool_call>\\n{"name": "{name}", "arguments": ' and after is '}\\n</tool_call>'.
    """

    before: str
    after: str
    between: str | None = ""       # two calls; None: this model makes one an answer
    opening: str = ""              # before the first call, and
    closing: str = ""              # after the last


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Calls of these functions, each OpenAI's {"name": …, "parameters": {…}}, as one model writes them.

    A thought may come first where the model can think, and comes where the prompt has begun it (`is_thinking`).
    """

    functions: Sequence[Mapping[str, Any]]
    notation: CallNotation
    tokenizer: Tokenizer
    strict: Collection[str] | None = None       # those whose arguments keep to their schemas; None: all do
    parallel: bool = True                       # more than one may come
    thinking: Thinking | None = None
    is_thinking: bool = False


def tool_calls(calls: ToolCalls) -> GrammarSpec:
    """At least one call, and nothing but calls.

    A marker in the notation that is a special token of the model stands for that token, and no other may come.
    Raises InvalidRequest for parameters that are no schema, or too large, and for names that no notation can hold.
    """
    rules = _Rules(calls)
    source = "\n".join((f"start: {' '.join((*rules.thought, *rules.all_calls))}", rules.call(), *rules.of_thought))
    return GrammarSpec(GrammarKind.LARK, source, "tools", marker_ids=frozenset(rules.markers.used_ids))


def maybe_tool_calls(calls: ToolCalls, mark: str) -> GrammarSpec:
    """Any text, and then perhaps calls: once one begins, it is one of these. Else as `tool_calls`.

    `mark` is what begins the calls; "" where the whole answer is one, which begins as no text does.
    """
    rules, notation = _Rules(calls), calls.notation
    begin, first = ["SAID?", *rules.opening], rules.call("first")
    if not mark:
        begin, texts = [], [r"TEXT: /(\s*[^\s{](?s:.*))?/"]
    elif rules.markers.has(mark):
        texts = ["TEXT: /(?s:.*)/", "SAID: /(?s:.+)/"]
    else:           # its end is a part of what is said before: a text of its own would swallow it
        begin = ["said", *rules.markers.rule(notation.opening.removeprefix(mark))]
        if not notation.opening:
            first = rules.call("first", replace(notation, before=notation.before.removeprefix(mark)))
        texts = [
            f'said[suffix={literal(mark, "tools")}]: /(?s:.*)/',
            rf"TEXT: /(?s:.*)/ & ~/(?s:.*){_pattern(mark)}(?s:.*)/",
        ]
    source = "\n".join((
        f"start: {' '.join((*rules.thought, 'answer'))}",
        f"answer: {' '.join((*begin, 'first', *rules.rest))}\n    | TEXT",
        first,
        rules.call(),
        *rules.of_thought,
        *texts,
    ))
    return GrammarSpec(GrammarKind.LARK, source, "tools", marker_ids=frozenset(rules.markers.used_ids))


def calls_or_form(calls: ToolCalls, form: GrammarSpec) -> GrammarSpec:
    """Calls as of `maybe_tool_calls`, with nothing said before them, or an answer that keeps to `form`."""
    rules = _Rules(calls)
    before = "\n".join((
        f"start: {' '.join((*rules.thought, '(calls | answer)'))}",
        f"calls: {' '.join(rules.all_calls)}",
        rules.call(as_json=True),
        *rules.of_thought,
    ))
    return replace(form, before=before, schema="", marker_ids=form.marker_ids | rules.markers.used_ids)


def after_thought(spec: GrammarSpec, thinking: Thinking, tokenizer: Tokenizer) -> GrammarSpec:
    """The same of what follows a thought that the prompt has begun: its form is the answer's, not the thought's."""
    text = _Markers(tokenizer)
    thought, rules = _thought(thinking, text, is_begun=True)
    before = "\n".join((f"start: {' '.join((*thought, 'answer'))}", *rules))
    return replace(spec, before=before, schema="", marker_ids=spec.marker_ids | text.used_ids)


class _Rules:
    """What the grammars of calls are made of: parts of a rule, and whole ones."""

    def __init__(self, calls: ToolCalls) -> None:
        notation, strict = calls.notation, calls.strict
        self._notation = notation
        self._functions = [
            each if strict is None or each["name"] in strict else {**each, "parameters": {"type": "object"}}
            for each in calls.functions
        ]
        self.markers = _Markers(calls.tokenizer)
        self.thought, self.of_thought = _thought(calls.thinking, self.markers, is_begun=calls.is_thinking)
        has_more = notation.between is not None and calls.parallel
        more = ["(", *self.markers.rule(notation.between or ""), "call", ")*"] if has_more else []
        self.opening = self.markers.rule(notation.opening)
        self.rest = [*more, *self.markers.rule(notation.closing)]       # what stands behind the first call
        self.all_calls = [*self.opening, "call", *self.rest]

    def call(self, rule: str = "call", notation: CallNotation | None = None, *, as_json: bool = False) -> str:
        """The rule of one call; `as_json` where its notation may be, see `_call_as_json`."""
        notation = notation or self._notation
        texts = [
            (_call_as_json(each, notation) if as_json else None) or self._call(each, notation)
            for each in self._functions
        ]
        return f"{rule}: " + "\n    | ".join(texts)

    def _call(self, function: Mapping[str, Any], notation: CallNotation) -> str:
        name = function["name"]
        if not _NAME.fullmatch(name):
            raise InvalidRequest(
                "A function that must be called has a name of letters, digits and _ - . : / alone, "
                f"unlike {name[:80]!r}.",
                param="tools",
            )
        arguments = json_rule(_object_schema(function.get("parameters")), f"tools[{name}].function.parameters")
        before, after = (part.replace("{name}", name) for part in (notation.before, notation.after))
        return " ".join((*self.markers.rule(before), arguments, *self.markers.rule(after)))


def _call_as_json(function: Mapping[str, Any], notation: CallNotation) -> str | None:
    """Of a notation that is one JSON object with nothing around it: as that, since the form may be one too, and what
    begins alike must be told apart token by token. None: it is another.
    """
    whole = notation.before + "null" + notation.after
    try:
        names: list[str] = list(json.loads(whole))
    except ValueError:
        return None
    schema = dict(_object_schema(function.get("parameters")))
    shared = {key: schema.pop(key) for key in ("$defs", "definitions") if key in schema}    # references lead to the top
    called: Mapping[str, Any] = {names[0]: {"const": function["name"]}, names[1]: schema}
    call: dict[str, Any] = {"type": "object", "properties": called, "required": names, "additionalProperties": False}
    return json_rule(call | shared, f"tools[{function['name']}].function.parameters")


def _object_schema(parameters: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Arguments are an object, and none where none are described, though JSON Schema allows anything else there."""
    if not parameters or parameters == {"type": "object", "properties": {}}:
        return _NO_ARGUMENTS
    return {"type": "object", **parameters} if "properties" in parameters else parameters


def _thought(thinking: Thinking | None, text: _Markers, *, is_begun: bool) -> tuple[list[str], list[str]]:
    """What stands before the calls, and the rules that it needs. No thought holds the mark that ends it."""
    if thinking is None:
        return [], []
    if text.has(thinking.closes):
        closes = _pattern(thinking.closes)
        rules = [
            " ".join(("thought: THOUGHT", *text.rule(thinking.closes))),
            f"THOUGHT: /(?s:.*)/ & ~/(?s:.*){closes}(?s:.*)/",
        ]
    else:
        rules = [f'thought[suffix={literal(thinking.closes, "tools")}]: /(?s:.*)/']
    rules.append(r"SPACE: /[ \n]{1,8}/")
    then = ["thought", "SPACE?"]
    return (then if is_begun else ["(", *text.rule(thinking.opens), *then, ")?"]), rules


def _pattern(text: str) -> str:
    return re.escape(text).replace("/", r"\/")


class _Markers:
    """Splits text at the names of special tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._ids = {name: token_id for token_id, name in tokenizer.special_tokens.items() if name}
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if longest_first else None
        self.used_ids: set[int] = set()

    def has(self, name: str) -> bool:
        return name in self._ids

    def rule(self, text: str) -> list[str]:
        parts = self._pattern.split(text) if self._pattern else [text]
        return [self._part(part) for part in parts if part]

    def _part(self, part: str) -> str:
        token_id = self._ids.get(part)
        if token_id is None:
            return literal(part, "tools")
        self.used_ids.add(token_id)
        return f"<[{token_id}]>"
