"""What an answer must look like, in every spelling that clients send, as one GrammarSpec.

OpenAI's `response_format`; vLLM's `structured_outputs`, and the `guided_…` that came before it; llama.cpp's `grammar`
and `json_schema`. Whatever cannot be kept to is refused: a client would take unconstrained text for what it asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic_core import from_json

from engine import grammar
from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec

Read: TypeAlias = Callable[[Any, str], GrammarSpec | None]      # (value, the parameter's name)


def parse_format(body: Mapping[str, Any]) -> GrammarSpec | None:
    """None: any text will do. Raises InvalidRequest that names the parameter."""
    given = {name: read for name, read in _FIELDS.items() if body.get(name) is not None}
    specs = [(name, spec) for name, read in given.items() if (spec := read(body[name], name)) is not None]
    if len(specs) > 1:
        raise _one_of([name for name, _ in specs], specs[1][0])
    for name in _REFUSED:
        if body.get(name) is not None:
            raise InvalidRequest(f"{name}: this version cannot do that. Leave it out.", param=name)
    return specs[0][1] if specs else None


def _response_format(value: Any, param: str) -> GrammarSpec | None:
    match value:
        case {"type": "text"}:
            return None
        case {"type": "json_object", "schema": schema} if schema is not None:      # as llama.cpp's server takes it
            return _schema(schema, f"{param}.schema")
        case {"type": "json_object"}:
            return grammar.json_object(param)
        case {"type": "json_schema", "json_schema": {"name": str(), "schema": schema}} if schema is not None:
            return _schema(schema, f"{param}.json_schema.schema")
        case {"type": "json_schema"}:
            raise InvalidRequest(
                f'{param} must be {{"type": "json_schema", "json_schema": {{"name": …, "schema": {{…}}}}}}.',
                param=f"{param}.json_schema",
            )
    raise InvalidRequest(f"{param} must be an object whose type is text, json_object or json_schema.", param=param)


def _structured_outputs(value: Any, param: str) -> GrammarSpec | None:
    if not isinstance(value, dict):
        raise InvalidRequest(f"{param} must be an object.", param=param)
    given = [name for name, wanted in value.items() if wanted is not None and wanted is not False]
    unknown = next((name for name in given if name not in _STRUCTURED), None)
    if unknown is not None:
        raise InvalidRequest(f"{param}.{unknown}: this version cannot do that.", param=f"{param}.{unknown}")
    if len(given) != 1:
        raise _one_of([f"{param}.{name}" for name in _STRUCTURED], param)
    return _STRUCTURED[given[0]](value[given[0]], f"{param}.{given[0]}")


def _schema(value: Any, param: str) -> GrammarSpec:
    if isinstance(value, str):
        try:
            value = from_json(value, allow_inf_nan=False)
        except ValueError as error:
            raise InvalidRequest(f"{param} is not valid JSON: {error}.", param=param) from error
    if not isinstance(value, dict):
        raise InvalidRequest(f"{param} must be a JSON schema, an object.", param=param)
    return grammar.json_schema(value, param)


def _any_json_object(value: Any, param: str) -> GrammarSpec:
    if value is not True:
        raise InvalidRequest(f"{param} must be true.", param=param)
    return grammar.json_object(param)


def _choice(value: Any, param: str) -> GrammarSpec:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidRequest(f"{param} must be a list of strings.", param=param)
    return grammar.choice(value, param)


def _regex(value: Any, param: str) -> GrammarSpec:
    return grammar.regex(_text(value, param), param)


def _grammar(value: Any, param: str) -> GrammarSpec | None:
    """Clients of llama.cpp send an empty one for none."""
    text = _text(value, param)
    return grammar.grammar(text, param) if text else None


def _text(value: Any, param: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{param} must be a string.", param=param)
    return value


def _one_of(names: list[str], param: str) -> InvalidRequest:
    return InvalidRequest(f"Give one of {', '.join(names)}.", param=param)


_STRUCTURED: dict[str, Read] = {
    "json": _schema,
    "regex": _regex,
    "choice": _choice,
    "grammar": _grammar,
    "json_object": _any_json_object,
}
_FIELDS: dict[str, Read] = {
    "response_format": _response_format,
    "structured_outputs": _structured_outputs,
    "guided_json": _schema,
    "guided_regex": _regex,
    "guided_choice": _choice,
    "guided_grammar": _grammar,
    "grammar": _grammar,
    "json_schema": _schema,
}
_REFUSED = ("guided_whitespace_pattern", "structural_tag")
