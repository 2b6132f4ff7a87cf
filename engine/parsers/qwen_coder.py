"""Qwen3-Coder, Qwen 3.5: `<tool_call><function=f><parameter=key>value</parameter></function></tool_call>`.

Values are bare text: what the tool's schema calls a string stays one, anything else is read as JSON where it can be.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from engine.parsers.base import Parser, as_json, is_json
from engine.parsers.pieces import NotACall, Steps

_MAX_DEPTH = 8                   # of schemas in schemas, and how many stand side by side: they may refer to themselves
_ANY: frozenset[str] = frozenset()
_LITERALS = {"true": "true", "false": "false", "null": "null", "none": "null"}
_KINDS = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"),
)


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
            key = yield from self._key()
            self._add_arguments(f"{'{' if is_first else ', '}{as_json(key)}: ")
            yield from self._read_parameter(_kinds_of(self._tools.get(name, {}), key))
            is_first = False
            yield from self._sign()
        self._add_arguments("{}" if is_first else "}")
        for end in ("</function>", "</tool_call>"):
            yield from self._skip(end)
            yield from self._sign()

    def _key(self) -> Steps[str]:
        """Any, unlike a function's name: OData has $filter."""
        key = ""
        while True:
            text, mark = self._take_until(">")
            key += text
            if mark:
                return key.strip()
            yield from self._more()

    def _read_parameter(self, kinds: frozenset[str]) -> Steps[None]:
        is_text = kinds == {"string"}
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
                self._add_arguments('"' if is_text else _as_json_value(value, kinds))
                return
            yield from self._more()


def _kinds_of(function: dict[str, Any], key: str) -> frozenset[str]:
    """That the schema allows for a parameter. Of one that it does not know, its own form is all there is to go by."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return frozenset(_kinds(properties.get(key), parameters, _MAX_DEPTH)) if isinstance(properties, dict) else _ANY


def _kinds(schema: Any, root: Any, depth: int) -> Iterable[str]:
    """JSON Schema's names of types, of all that a schema may be; none where it does not say."""
    if not isinstance(schema, dict) or not depth:
        return
    kinds = schema.get("type")
    if kinds is not None:
        yield from (kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str))
        return
    if isinstance(reference := schema.get("$ref"), str):
        yield from _kinds(_referred(reference, root), root, depth - 1)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    yield from (_kind_of(value) for value in (values if isinstance(values, list) else []))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for each in schema[keyword][:_MAX_DEPTH] if isinstance(schema.get(keyword), list) else []:
            yield from _kinds(each, root, depth - 1)


def _referred(reference: str, root: Any) -> Any:
    for step in reference.removeprefix("#/").split("/"):
        root = root.get(step) if isinstance(root, dict) else None
    return root


def _kind_of(value: Any) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def _as_json_value(text: str, kinds: frozenset[str]) -> str:
    """What the schema lets be a text stays one, unless it is what else the schema names: 5 for an integer, null."""
    plain = text.strip()
    literal = _LITERALS.get(plain.lower())           # as Python writes them, which the template does too
    if literal is not None and kinds & {"boolean" if literal != "null" else "null"}:
        return literal
    if "string" in kinds:
        kind = _kind_of(json.loads(plain)) if is_json(plain) else "string"
        is_other = kind != "string" and (kind in kinds or (kind == "integer" and "number" in kinds))
        return plain if is_other else as_json(text)
    return plain if is_json(plain) else as_json(text)
