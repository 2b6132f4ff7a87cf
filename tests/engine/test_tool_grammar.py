"""Calls that must be made: in the model's notation, with arguments that each function's schema allows."""

from __future__ import annotations

from typing import Any

import pytest

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.errors import InvalidRequest
from engine.grammar_compiler import GrammarCompiler
from engine.tool_grammar import CallNotation, tool_calls
from tests.engine.grammars import matcher_of, takes

WEATHER: dict[str, Any] = {
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]},
}
NOW: dict[str, Any] = {"name": "now"}
HERMES = CallNotation(
    before='<tool_call>\n{"name": "{name}", "arguments": ', after="}\n</tool_call>", between="\n"
)
MISTRAL = CallNotation(
    opening="[TOOL_CALLS][", before='{"name": "{name}", "arguments": ', after="}", between=", ", closing="]"
)
OSLO = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
TIME = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
BYTES = ByteTokenizer()


class Marked(ByteTokenizer):
    """Has a token for the beginning of a call, and one for nothing in particular."""

    CALL, OTHER = 259, 260

    def __init__(self) -> None:
        super().__init__(pieces=[b"", b""])

    @property
    def special_tokens(self) -> dict[int, str]:
        return super().special_tokens | {self.CALL: "<tool_call>", self.OTHER: "<other>"}


def test_each_function_may_be_called_with_its_own_arguments() -> None:
    spec = tool_calls([WEATHER, NOW], HERMES, BYTES)
    assert takes(matcher_of(spec), OSLO)
    assert takes(matcher_of(spec), TIME)
    assert not takes(matcher_of(spec), OSLO.replace("Oslo", "Bonn"))
    assert not takes(matcher_of(spec), TIME.replace("{}", '{"city": "Oslo"}'))
    assert not takes(matcher_of(spec), "It is sunny.")


def test_several_calls_follow_each_other_unless_only_one_is_wanted() -> None:
    two = f"{OSLO}\n{TIME}"
    many = matcher_of(tool_calls([WEATHER, NOW], HERMES, BYTES))
    assert takes(many, two)
    assert many.allows(BYTES.end_of_turn_id)
    one = matcher_of(tool_calls([WEATHER, NOW], HERMES, BYTES, parallel=False))
    assert takes(one, OSLO)
    assert one.is_complete


def test_a_named_function_is_the_only_one_given() -> None:
    assert not takes(matcher_of(tool_calls([NOW], HERMES, BYTES)), OSLO)


def test_calls_in_a_list_are_closed_after_the_last() -> None:
    matcher = matcher_of(tool_calls([NOW], MISTRAL, BYTES))
    call = '{"name": "now", "arguments": {}}'
    assert takes(matcher, f"[TOOL_CALLS][{call}, {call}")
    assert not matcher.allows(BYTES.end_of_turn_id)
    assert takes(matcher, "]")
    assert matcher.is_complete


async def test_a_marker_of_the_model_stands_for_its_token_and_no_other_may_come() -> None:
    tokenizer = Marked()
    spec = tool_calls([NOW], HERMES, tokenizer)
    matcher = (await GrammarCompiler(tokenizer).compile(spec)).matcher()
    assert [token_id for token_id in range(tokenizer.vocab_size) if matcher.allows(token_id)] == [Marked.CALL]
    matcher.accept(Marked.CALL)
    assert takes(matcher, TIME.removeprefix("<tool_call>"))
    assert not matcher.allows(Marked.OTHER)


def test_parameters_that_are_no_schema_are_refused_by_their_place() -> None:
    with pytest.raises(InvalidRequest) as refused:
        tool_calls([NOW, {"name": "x", "parameters": {"city": "string"}}], HERMES, BYTES)
    assert refused.value.param == "tools[1].function.parameters"
