"""What an answer must look like, as one frozen value: a JSON schema, a regular expression or a grammar.

Made by whoever asks, from any thread; `engine.grammar_compiler` makes of it what can be asked for each token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.errors import InvalidRequest

MAX_SOURCE_CHARS = 128 * 1024     # OpenAI's bound on a schema's names and values is 120,000; time grows with the square

MAX_EXACT = 2**53                 # as a float, of whole numbers; RFC 8259 says what comes of larger ones in JSON
_LITERAL = ("const", "enum")
_SAMPLES = (*_LITERAL, "default", "examples")       # what they hold is no schema

# Of space between two tokens of JSON. Some models, left alone with it, write line breaks to the end of the window.
_WHITESPACE = r"[\x20\x0A\x0D\x09]{1,32}"

# A schema without any of these would constrain nothing: mostly it is one wrapped into an object too many.
_KEYWORDS = frozenset({
    "$anchor", "$comment", "$defs", "$id", "$ref", "$schema", "additionalItems", "additionalProperties", "allOf",
    "anyOf", "const", "contains", "default", "definitions", "dependentRequired", "description", "else", "enum",
    "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxItems", "maxLength",
    "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
    "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "required", "then", "title", "type",
    "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
})   # fmt: skip


class GrammarKind(StrEnum):
    JSON_OBJECT = "json_object"       # any; without a source
    LARK = "lark"                     # made here, of the caller's schemas and texts
    REGEX = "regex"                   # the whole answer matches
    GRAMMAR = "grammar"               # the caller's: Lark with a rule `start`, or llama.cpp's GBNF with a rule `root`


@dataclass(frozen=True, slots=True)
class GrammarSpec:
    """Not compiled yet. Raises InvalidRequest, naming `param`, for a source that is too large."""

    kind: GrammarKind
    source: str
    param: str                                      # where the caller gave it, for errors
    marker_ids: frozenset[int] = frozenset()        # special tokens that it needs; no others may come
    schema: str = ""                                # as JSON, where that is all: for who compiles it elsewhere
    before: str = ""                                # Lark: a rule `start` that ends with `answer`, the source

    def __post_init__(self) -> None:
        if len(self.source) + len(self.before) > MAX_SOURCE_CHARS:
            raise _too_large(self.param)
        try:
            self.source.encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest(f"{self.param} holds half a character. Send it whole.", param=self.param) from error


def json_object(param: str = "response_format") -> GrammarSpec:
    """Any JSON object."""
    return GrammarSpec(GrammarKind.JSON_OBJECT, "", param)


def json_schema(schema: Mapping[str, Any], param: str = "response_format") -> GrammarSpec:
    """JSON that a schema allows. Raises InvalidRequest for one that says nothing, is too large or too deep."""
    return GrammarSpec(GrammarKind.LARK, f"start: {json_rule(schema, param)}", param, schema=_dump(schema, param))


def json_rule(schema: Mapping[str, Any], param: str) -> str:
    """A schema as an expression of a Lark grammar."""
    if schema and not schema.keys() & _KEYWORDS:
        named = ", ".join(list(map(str, schema))[:3])
        raise InvalidRequest(f"{param} has no keyword of JSON Schema, only {named}. Give the schema.", param=param)
    rule = f"%json {_dump({**schema, 'x-guidance': {'whitespace_pattern': _WHITESPACE}}, param)}"
    if (least := _uncountable_properties(schema)) is not None:
        raise InvalidRequest(
            f"{param} asks for minProperties of {least} without saying which: one written twice would count as two. "
            "Name them in required, or leave minProperties out.", param=param,
        )
    if (number := _inexact_number(schema)) is not None:
        raise InvalidRequest(
            f"{param} holds {str(number)[:40]}: numbers beyond {MAX_EXACT} cannot be kept to exactly. Make it a text.",
            param=param,
        )
    return rule


def _inexact_number(schema: Mapping[str, Any]) -> int | float | None:
    """One that the library would take for another, without a word: it calculates with floats of 64 bits, and takes
    what no integer of 64 bits can be for the last that can. A bound that becomes narrower does no harm.
    """
    left: list[tuple[str, Any]] = [("", schema)]        # with the keyword that it is of
    while left:
        keyword, value = left.pop()
        if isinstance(value, dict):
            left += [(keyword if keyword in _LITERAL else name, inner) for name, inner in value.items()]
        elif isinstance(value, list):
            left += [(keyword, inner) for inner in value]
        elif isinstance(value, int | float) and not isinstance(value, bool) and not _is_exact(keyword, value):
            return value
    return None


def _uncountable_properties(schema: Mapping[str, Any]) -> int | None:
    """A `minProperties` that names which are free could meet by one of them twice, which the library takes for two and
    JSON for one.
    """
    left: list[Any] = [schema]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            least, required = value.get("minProperties"), value.get("required")
            num_required = len(required) if isinstance(required, list) else 0
            is_open = value.get("additionalProperties", True) is not False or bool(value.get("patternProperties"))
            if isinstance(least, int) and least > max(1, num_required) and is_open:
                return least
            left += [inner for name, inner in value.items() if name not in _SAMPLES]
    return None


def _is_exact(keyword: str, value: int | float) -> bool:
    if keyword in _LITERAL:
        return isinstance(value, float) or abs(value) <= MAX_EXACT
    if keyword in ("minimum", "exclusiveMinimum"):
        return value <= MAX_EXACT and (value <= -(2**63) or float(value) >= value)
    if keyword in ("maximum", "exclusiveMaximum"):
        return value >= -MAX_EXACT and (value >= 2**63 - 1 or float(value) <= value)
    return True


def choice(texts: Sequence[str], param: str) -> GrammarSpec:
    """One of these texts, as it stands."""
    if not texts:
        raise InvalidRequest(f"{param} is an empty list. Give at least one text.", param=param)
    return GrammarSpec(GrammarKind.LARK, "start: " + " | ".join(literal(text, param) for text in texts), param)


def literal(text: str, param: str) -> str:
    """A text as an expression of a Lark grammar, which writes strings as JSON does."""
    return _dump(text, param)


def regex(pattern: str, param: str) -> GrammarSpec:
    return GrammarSpec(GrammarKind.REGEX, pattern, param)


def grammar(source: str, param: str) -> GrammarSpec:
    return GrammarSpec(GrammarKind.GRAMMAR, source, param)


def _dump(value: Any, param: str) -> str:
    """JSON, given up once it is too large."""
    pieces: list[str] = []
    num_chars = 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(value):
            pieces.append(piece)
            num_chars += len(piece)
            if num_chars > MAX_SOURCE_CHARS:
                raise _too_large(param)
    except (RecursionError, TypeError, ValueError) as error:
        raise InvalidRequest(f"{param} is not JSON, or is nested too deeply.", param=param) from error
    return "".join(pieces)


def _too_large(param: str) -> InvalidRequest:
    return InvalidRequest(f"{param} is larger than {MAX_SOURCE_CHARS} characters. Give a smaller one.", param=param)
