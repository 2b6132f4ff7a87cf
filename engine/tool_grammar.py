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


def tool_calls(
    functions: Sequence[Mapping[str, Any]],
    notation: CallNotation,
    tokenizer: Tokenizer,
    *,
    parallel: bool = True,
    thinking: Thinking | None = None,
    is_thinking: bool = False,
) -> GrammarSpec:
    """At least one call of one of `functions`, OpenAI's {"name": …, "parameters": {…}}; with `parallel`, maybe more.

    A thought may come first where the model can think, and comes where the prompt has begun it (`is_thinking`).
    A marker in the notation that is a special token of the model stands for that token, and no other may come.
    Raises InvalidRequest for parameters that are no schema, or too large, and for names that no notation can hold.
    """
    text = _Markers(tokenizer)
    calls = [_call(function, notation, text) for function in functions]
    more = _more_calls(notation, text, parallel=parallel)
    thought, thought_rules = _thought(thinking, text, is_begun=is_thinking)
    start = " ".join((*thought, *text.rule(notation.opening), "call", *more, *text.rule(notation.closing)))
    source = "\n".join((f"start: {start}", "call: " + "\n    | ".join(calls), *thought_rules))
    return GrammarSpec(GrammarKind.LARK, source, "tools", marker_ids=frozenset(text.used_ids))


def maybe_tool_calls(
    functions: Sequence[Mapping[str, Any]],
    strict: Collection[str],
    notation: CallNotation,
    mark: str,
    tokenizer: Tokenizer,
    *,
    parallel: bool = True,
    thinking: Thinking | None = None,
    is_thinking: bool = False,
) -> GrammarSpec:
    """Any text, and then perhaps calls: once one begins, it is of one of `functions`, and keeps to the schema of those
    named in `strict`. Else as `tool_calls`.

    `mark` is what begins the calls; "" where the whole answer is one, which begins as no text does.
    """
    known = _loosened(functions, strict)
    text = _Markers(tokenizer)
    calls = [_call(function, notation, text) for function in known]
    more = _more_calls(notation, text, parallel=parallel)
    thought, rules = _thought(thinking, text, is_begun=is_thinking)
    if not mark:
        begin, first = [], calls
        rules.append(r"TEXT: /(\s*[^\s{](?s:.*))?/")
    elif text.has(mark):
        begin, first = ["SAID?", *text.rule(notation.opening)], calls
        rules += ["TEXT: /(?s:.*)/", "SAID: /(?s:.+)/"]
    else:           # its end is a part of what is said before: a text of its own would swallow it
        begin = ["said", *text.rule(notation.opening.removeprefix(mark))]
        first = calls if notation.opening else [_call(each, _without(notation, mark), text) for each in known]
        rules += [
            f'said[suffix={literal(mark, "tools")}]: /(?s:.*)/',
            rf"TEXT: /(?s:.*)/ & ~/(?s:.*){_pattern(mark)}(?s:.*)/",
        ]
    answer = " ".join((*begin, "first", *more, *text.rule(notation.closing)))
    source = "\n".join((
        f"start: {' '.join((*thought, 'answer'))}",
        f"answer: {answer}\n    | TEXT",
        "first: " + "\n    | ".join(first),
        "call: " + "\n    | ".join(calls),
        *rules,
    ))
    return GrammarSpec(GrammarKind.LARK, source, "tools", marker_ids=frozenset(text.used_ids))


def after_thought(spec: GrammarSpec, thinking: Thinking, tokenizer: Tokenizer) -> GrammarSpec:
    """The same of what follows a thought that the prompt has begun: its form is the answer's, not the thought's."""
    text = _Markers(tokenizer)
    thought, rules = _thought(thinking, text, is_begun=True)
    before = "\n".join((f"start: {' '.join((*thought, 'answer'))}", *rules))
    return replace(spec, before=before, schema="", marker_ids=spec.marker_ids | text.used_ids)


def calls_or_form(
    form: GrammarSpec,
    functions: Sequence[Mapping[str, Any]],
    strict: Collection[str],
    notation: CallNotation,
    tokenizer: Tokenizer,
    *,
    parallel: bool = True,
    thinking: Thinking | None = None,
    is_thinking: bool = False,
) -> GrammarSpec:
    """Calls as of `maybe_tool_calls`, with nothing said before them, or an answer that keeps to `form`."""
    text = _Markers(tokenizer)
    known = _loosened(functions, strict)
    calls = [_call_as_json(each, notation) or _call(each, notation, text) for each in known]
    more = _more_calls(notation, text, parallel=parallel)
    thought, rules = _thought(thinking, text, is_begun=is_thinking)
    before = "\n".join((
        f"start: {' '.join((*thought, '(calls | answer)'))}",
        f"calls: {' '.join((*text.rule(notation.opening), 'call', *more, *text.rule(notation.closing)))}",
        "call: " + "\n    | ".join(calls),
        *rules,
    ))
    return replace(form, before=before, schema="", marker_ids=form.marker_ids | text.used_ids)


def _loosened(functions: Sequence[Mapping[str, Any]], strict: Collection[str]) -> list[Mapping[str, Any]]:
    """Of those that are not strict, the arguments may be any object."""
    return [each if each["name"] in strict else {**each, "parameters": {"type": "object"}} for each in functions]


def _without(notation: CallNotation, mark: str) -> CallNotation:
    return replace(notation, before=notation.before.removeprefix(mark))


def _call(function: Mapping[str, Any], notation: CallNotation, text: _Markers) -> str:
    name = function["name"]
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"A function that must be called has a name of letters, digits and _ - . : / alone, unlike {name[:80]!r}.",
            param="tools",
        )
    arguments = json_rule(_object_schema(function.get("parameters")), f"tools[{name}].function.parameters")
    before, after = (part.replace("{name}", name) for part in (notation.before, notation.after))
    return " ".join((*text.rule(before), arguments, *text.rule(after)))


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


def _more_calls(notation: CallNotation, text: _Markers, *, parallel: bool) -> list[str]:
    """What may follow the first call."""
    if notation.between is None or not parallel:
        return []
    return ["(", *text.rule(notation.between), "call", ")*"]


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
