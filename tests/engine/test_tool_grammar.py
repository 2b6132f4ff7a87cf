"""Calls that must be made: in the model's notation, with arguments that each function's schema allows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec, choice, grammar, json_object, json_schema, regex
from engine.grammar_compiler import GrammarCompiler
from engine.grammar_matcher import GrammarMatcher
from engine.parsers import deepseek, hermes, llama, mistral
from engine.parsers.base import Asked, Thinking
from engine.parsers.choose import choose
from engine.tool_grammar import CallNotation, ToolCalls, tool_calls
from tests.engine.grammars import matcher_of, takes

WEATHER: dict[str, Any] = {
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]},
}
NOW: dict[str, Any] = {"name": "now"}
HERMES, MISTRAL = hermes.NOTATION, mistral.LISTED
THINKING = Thinking("<think>", "</think>")
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


def must_call(
    functions: Sequence[dict[str, Any]], notation: CallNotation, tokenizer: ByteTokenizer = BYTES, **others: Any
) -> GrammarSpec:
    return tool_calls(ToolCalls(functions=functions, notation=notation, tokenizer=tokenizer, **others))


def test_each_function_may_be_called_with_its_own_arguments() -> None:
    spec = must_call([WEATHER, NOW], HERMES)
    assert takes(matcher_of(spec), OSLO)
    assert takes(matcher_of(spec), TIME)
    assert not takes(matcher_of(spec), OSLO.replace("Oslo", "Bonn"))
    assert not takes(matcher_of(spec), TIME.replace("{}", '{"city": "Oslo"}'))
    assert not takes(matcher_of(spec), "It is sunny.")


def test_several_calls_follow_each_other_unless_only_one_is_wanted() -> None:
    two = f"{OSLO}\n{TIME}"
    many = matcher_of(must_call([WEATHER, NOW], HERMES))
    assert takes(many, two)
    assert many.allows(BYTES.end_of_turn_id)
    one = matcher_of(must_call([WEATHER, NOW], HERMES, parallel=False))
    assert takes(one, OSLO)
    assert one.is_complete


def test_a_named_function_is_the_only_one_given() -> None:
    assert not takes(matcher_of(must_call([NOW], HERMES)), OSLO)


def test_calls_in_a_list_are_closed_after_the_last() -> None:
    matcher = matcher_of(must_call([NOW], MISTRAL))
    call = '{"name": "now", "arguments": {}}'
    assert takes(matcher, f"[TOOL_CALLS][{call}, {call}")
    assert not matcher.allows(BYTES.end_of_turn_id)
    assert takes(matcher, "]")
    assert matcher.is_complete


async def test_a_marker_of_the_model_stands_for_its_token_and_no_other_may_come() -> None:
    tokenizer = Marked()
    spec = must_call([NOW], HERMES, tokenizer)
    matcher = (await GrammarCompiler(tokenizer).compile(spec)).matcher()
    assert [token_id for token_id in range(tokenizer.vocab_size) if matcher.allows(token_id)] == [Marked.CALL]
    matcher.accept(Marked.CALL)
    assert takes(matcher, TIME.removeprefix("<tool_call>"))
    assert not matcher.allows(Marked.OTHER)


def test_parameters_that_are_no_schema_are_refused_by_their_place() -> None:
    with pytest.raises(InvalidRequest) as refused:
        must_call([NOW, {"name": "x", "parameters": {"city": "string"}}], HERMES)
    assert refused.value.param == "tools[x].function.parameters"


@pytest.mark.parametrize("name", ["", 'a"b', "</s>", "two words"])
def test_a_name_that_a_notation_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="letters, digits") as refused:
        must_call([{"name": name}], HERMES)
    assert refused.value.param == "tools"


def test_arguments_are_an_object_and_none_where_none_are_described() -> None:
    def takes_arguments(parameters: dict[str, Any], arguments: str) -> bool:
        spec = must_call([{"name": "f", "parameters": parameters}], llama.NOTATION)
        return takes(matcher_of(spec), f'{{"name": "f", "parameters": {arguments}}}')

    assert takes_arguments({"type": "object", "properties": {}}, "{}")
    assert not takes_arguments({"type": "object", "properties": {}}, '{"a": 1}')
    assert takes_arguments({"properties": {"a": {"type": "integer"}}}, '{"a": 1}')
    assert not takes_arguments({"properties": {"a": {"type": "integer"}}}, "1")
    assert takes_arguments({"type": "object"}, '{"a": 1}')


def test_a_family_that_calls_once_an_answer_is_held_to_it() -> None:
    matcher = matcher_of(must_call([NOW], llama.NOTATION))
    assert takes(matcher, '{"name": "now", "parameters": {}}')
    assert matcher.is_complete


# Thought


def thinks(*, is_thinking: bool) -> GrammarMatcher:
    return matcher_of(must_call([NOW], HERMES, thinking=THINKING, is_thinking=is_thinking))


def test_a_model_may_think_first_or_not() -> None:
    assert takes(thinks(is_thinking=False), TIME)
    assert takes(thinks(is_thinking=False), f"<think>\nWhat <tool_call>?\n</think>\n\n{TIME}")
    assert not takes(thinks(is_thinking=False), "It")


def test_a_thought_that_the_prompt_has_begun_ends_before_the_call() -> None:
    matcher = thinks(is_thinking=True)
    assert takes(matcher, f"Hm.\n{TIME}")
    assert not matcher.allows(BYTES.end_of_turn_id)
    assert takes(matcher, f"</think>{TIME}")
    assert matcher.allows(BYTES.end_of_turn_id)
    assert not takes(thinks(is_thinking=True), "Hm.</think>It is sunny.")


def test_a_thought_ends_with_the_models_own_token_where_it_has_one() -> None:
    tokenizer = ByteTokenizer(markers=["<think>", "</think>", "<other>"])
    opens, closes, other = (
        token_id for token_id, name in tokenizer.special_tokens.items() if name in ("<think>", "</think>", "<other>")
    )
    matcher = matcher_of(must_call([NOW], HERMES, tokenizer, thinking=THINKING), tokenizer)
    assert not matcher.allows(closes)
    matcher.accept(opens)
    assert matcher.allows(closes)
    assert not matcher.allows(other)
    assert takes(matcher, "Hm </think")
    assert not matcher.allows(ord(">"))
    matcher.accept(closes)
    assert takes(matcher, f"\n\n{TIME}")


# Families: what a model is made to write is what its parser reads

_CALL, _SEP, _END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
FAMILIES = [
    ('<tool_call> "arguments"', hermes.NOTATION, f"{OSLO}\n{TIME}", 2),
    ("[TOOL_CALLS] [ARGS]", mistral.NAMED, '[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]now[ARGS]{}', 2),
    (
        "[TOOL_CALLS][",
        mistral.LISTED,
        '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}]',
        2,
    ),
    (
        "[TOOL_CALLS] [",
        mistral.LISTED_APART,
        '[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "now", "arguments": {}}]',
        2,
    ),
    (
        _CALL,
        deepseek.NAMED,
        f'<｜tool▁calls▁begin｜>{_CALL}weather{_SEP}{{"city": "Oslo"}}{_END}{_CALL}now{_SEP}{{}}{_END}'
        "<｜tool▁calls▁end｜>",
        2,
    ),
    (
        f"{_CALL} ```json",
        deepseek.FENCED,
        f'<｜tool▁calls▁begin｜>{_CALL}function{_SEP}weather\n```json\n{{"city": "Oslo"}}\n```{_END}\n'
        f"{_CALL}function{_SEP}now\n```json\n{{}}\n```{_END}<｜tool▁calls▁end｜>",
        2,
    ),
    (
        '<|start_header_id|> {"name": function name, "parameters":',
        llama.NOTATION,
        '{"name": "weather", "parameters": {"city": "Oslo"}}',
        1,
    ),
]


@pytest.mark.parametrize(("template", "notation", "written", "num_calls"), FAMILIES)
def test_each_family_is_made_to_write_what_its_parser_reads(
    template: str, notation: CallNotation, written: str, num_calls: int
) -> None:
    family = choose(template)
    asked = Asked(tools=tuple({"type": "function", "function": function} for function in (WEATHER, NOW)))
    assert family is not None
    assert family.notation == notation
    spec, parser = family.must_call(asked, BYTES), family.open(asked)
    assert spec is not None
    assert parser is not None
    matcher = matcher_of(spec)
    assert takes(matcher, written)
    assert matcher.is_complete or matcher.allows(BYTES.end_of_turn_id)
    parsed = [parser.push(written), parser.flush(is_cut=False)]
    pieces = [piece for each in parsed for piece in each.tool_calls]
    calls = [("weather", '{"city": "Oslo"}'), ("now", "{}")][:num_calls]
    assert [piece.name for piece in pieces if piece.id] == [name for name, _ in calls]
    for index, (_, arguments) in enumerate(calls):
        assert "".join(piece.arguments for piece in pieces if piece.index == index) == arguments
    assert "".join(each.text for each in parsed) == ""


# Calls that may be made, of strict functions


def may_call(
    template: str, strict: set[str], tokenizer: ByteTokenizer = BYTES, *, parallel: bool = True
) -> GrammarMatcher:
    family = choose(template)
    tools = tuple({"type": "function", "function": function} for function in (WEATHER, NOW))
    assert family is not None
    spec = family.may_call(Asked(tools=tools, parallel_tool_calls=parallel), strict, tokenizer)
    assert spec is not None
    return matcher_of(spec, tokenizer)


@pytest.mark.parametrize(("template", "_notation", "written", "_num_calls"), FAMILIES)
def test_where_a_call_begins_it_keeps_to_the_schema_of_a_strict_function(
    template: str, _notation: CallNotation, written: str, _num_calls: int
) -> None:
    def fresh() -> GrammarMatcher:
        return may_call(template, {"weather", "now"})

    for text in ("", "It is sunny.", "Maybe <b>rain</b> or [snow]."):
        matcher = fresh()
        assert takes(matcher, text)
        assert matcher.allows(BYTES.end_of_turn_id)
    matcher = fresh()
    assert takes(matcher, written)
    assert matcher.is_complete or matcher.allows(BYTES.end_of_turn_id)
    assert not takes(fresh(), written.replace("Oslo", "Bonn"))
    if template.startswith(("<tool_call>", "[", _CALL)):
        matcher = fresh()
        assert takes(matcher, f"Let me see.\n{written}")
        assert not takes(fresh(), f"Let me see.\n{written}".replace("Oslo", "Bonn"))


def test_functions_that_are_not_strict_take_any_object() -> None:
    assert takes(may_call(FAMILIES[0][0], {"now"}), OSLO.replace("Oslo", "Bonn"))
    assert not takes(may_call(FAMILIES[0][0], {"now"}), TIME.replace("{}", '{"city": "Oslo"}'))


def test_the_model_s_own_token_begins_a_call_and_no_text_holds_it() -> None:
    tokenizer = Marked()
    matcher = may_call(FAMILIES[0][0], {"weather"}, tokenizer, parallel=False)
    assert takes(matcher, "Let me <tool_call> see.\n")
    assert matcher.allows(Marked.CALL)
    assert not matcher.allows(Marked.OTHER)
    matcher.accept(Marked.CALL)
    assert not matcher.allows(tokenizer.end_of_turn_id)
    assert takes(matcher, OSLO.removeprefix("<tool_call>"))
    assert matcher.is_complete


# Calls that may be made instead of an answer in a form


def calls_or(form: GrammarSpec, template: str, strict: Collection[str] = ()) -> GrammarMatcher:
    family = choose(template)
    tools = tuple({"type": "function", "function": function} for function in (WEATHER, NOW))
    assert family is not None
    return matcher_of(family.keeps_to(form, Asked(tools=tools), strict, BYTES))


@pytest.mark.parametrize(("template", "_notation", "written", "_num_calls"), FAMILIES)
def test_an_answer_is_calls_or_keeps_to_its_form(
    template: str, _notation: CallNotation, written: str, _num_calls: int
) -> None:
    form = json_schema({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]})
    for text in ('{"a": 1}', written):
        matcher = calls_or(form, template)
        assert takes(matcher, text)
        assert matcher.is_complete or matcher.allows(BYTES.end_of_turn_id)
    for text in ("It is sunny.", '{"a": 2}', f"Let me see.{written}"):
        assert not takes(calls_or(form, template), text)
    assert not takes(calls_or(form, template, {"weather"}), written.replace("Oslo", "Bonn"))


@pytest.mark.parametrize(("form", "answer"), [
    (json_object(), '{"b": 2}'), (regex("a+", "x"), "aa"), (choice(["yes", "no"], "x"), "no"),
    (grammar('root ::= call "!"\ncall ::= "y"', "x"), "y!"), (grammar('start: calls\ncalls: "z"', "x"), "z"),
])
def test_rules_of_the_form_and_of_calls_do_not_meet(form: GrammarSpec, answer: str) -> None:
    for text in (answer, TIME):
        assert takes(calls_or(form, FAMILIES[0][0]), text)


def test_a_call_that_is_one_json_object_keeps_its_references_beside_a_form() -> None:
    place = {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "required": ["city"]}
    tool = {"name": "weather", "parameters": {**place, "$defs": {"City": {"enum": ["Oslo", "Rome"]}}}}
    family = choose('<|start_header_id|> {"name": function name, "parameters":')
    assert family is not None
    asked = Asked(tools=({"type": "function", "function": tool},))
    call = '{"name": "weather", "parameters": {"city": "Oslo"}}'
    form = json_schema({"type": "object", "properties": {"b": {"const": 2}}, "required": ["b"]})
    for text, is_right in ((call, True), (call.replace("Oslo", "Bonn"), False), ('{"b": 2}', True), ("{}", False)):
        assert takes(matcher_of(family.keeps_to(form, asked, {"weather"}, BYTES)), text) is is_right


def test_tools_and_a_form_that_are_too_large_together_are_refused() -> None:
    names = [f"{'n' * 60}{n}" for n in range(900)]
    large = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    family = choose(FAMILIES[0][0])
    assert family is not None
    asked = Asked(tools=({"type": "function", "function": {"name": "f", "parameters": large}},))
    with pytest.raises(InvalidRequest, match="larger than"):
        family.keeps_to(json_schema(large), asked, {"f"}, BYTES)
