"""Grammars: what they let through, what is refused, and what nobody can do with them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from engine import grammar
from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.errors import InvalidRequest
from engine.grammar import MAX_SOURCE_CHARS, GrammarSpec
from engine.grammar_compiler import GrammarCompiler
from engine.grammar_matcher import Grammar
from tests.engine.grammars import PARAM, PERSON, compiled, matcher_of, regex, takes
from tests.pace import seconds_of

BYTES = ByteTokenizer()
END_OF_TURN = BYTES.end_of_turn_id
IM_START = 257


async def tried(spec: GrammarSpec) -> Grammar:
    return await GrammarCompiler(BYTES).compile(spec)


def schema(value: dict[str, Any]) -> GrammarSpec:
    return grammar.json_schema(value)


class TestWhatItAllows:
    def test_a_schema_lets_through_what_it_describes_and_nothing_else(self) -> None:
        person = compiled(schema(PERSON))
        assert takes(person.matcher(), '{"name": "Anna", "age": 41}')
        assert takes(person.matcher(), '{\n  "name": "Ben",\n  "age": 7\n}')
        assert not takes(person.matcher(), '{"name": "Eve"')
        assert not takes(person.matcher(), '{"age"')
        assert not takes(person.matcher(), '{"name": "Anna", "age": 100')
        assert not takes(person.matcher(), "Sure! {")

    def test_a_json_object_is_any(self) -> None:
        any_object = compiled(grammar.json_object())
        assert takes(any_object.matcher(), '{"a": [1, -2.5e3, null, {"b": "漢字 \\u0007"}]}')
        assert not takes(any_object.matcher(), "[")

    def test_a_regex_matches_the_whole_answer(self) -> None:
        date = matcher_of(regex(r"^\d{4}/\d\d$"))
        assert takes(date, "2026/0")
        assert not date.allows(END_OF_TURN)
        assert takes(date, "9")
        assert date.is_complete
        assert not takes(matcher_of(regex(r"\d")), "２")

    def test_a_choice_is_one_of_its_texts_as_they_stand(self) -> None:
        choice = compiled(grammar.choice(['say "yes"', "[no]"], PARAM))
        assert takes(choice.matcher(), 'say "yes"')
        assert takes(choice.matcher(), "[no]")
        assert not takes(choice.matcher(), "n")

    @pytest.mark.parametrize("source", ['start: "a" B+\nB: /[b-d]/', 'root ::= "a" b+\nb ::= [b-d]'])
    def test_a_grammar_is_lark_or_gbnf(self, source: str) -> None:
        matcher = matcher_of(grammar.grammar(source, PARAM))
        assert takes(matcher, "abd")
        assert not matcher.allows(ord("e"))

    def test_bytes_of_a_character_may_come_one_by_one_but_not_astray(self) -> None:
        matcher = matcher_of(regex("[漢字]+"))
        first, second, third = "漢".encode()
        assert [matcher.allows(first), matcher.allows(second)] == [True, False]
        matcher.accept(first)
        matcher.accept(second)
        assert not matcher.allows(END_OF_TURN)
        matcher.accept(third)
        assert matcher.allows(END_OF_TURN)

    def test_space_within_json_has_an_end(self) -> None:
        matcher = matcher_of(schema(PERSON))
        assert not takes(matcher, "{" + " " * 33)

    def test_a_generation_ends_only_where_the_grammar_may(self) -> None:
        matcher = matcher_of(regex("ab?"))
        assert not matcher.allows(END_OF_TURN)
        matcher.accept(ord("a"))
        assert matcher.allows(END_OF_TURN)
        assert not matcher.is_complete
        matcher.accept(END_OF_TURN)
        assert matcher.is_complete
        assert matcher.failure is None

    @pytest.mark.parametrize("source", ["start: <[*]>+", 'start: <[257]> | "a"'])
    def test_a_marker_is_no_text_whatever_the_grammar_says(self, source: str) -> None:
        matcher = matcher_of(grammar.grammar(source, PARAM))
        assert matcher.allows(ord("a"))
        assert not matcher.allows(IM_START)
        assert not matcher.mask(BYTES.vocab_size)[IM_START]

    def test_nor_can_an_answer_be_only_a_marker(self) -> None:
        with pytest.raises(InvalidRequest, match="no token to begin with"):
            matcher_of(grammar.grammar("start: <[257]>", PARAM))

    def test_the_mask_is_what_it_allows(self) -> None:
        tokenizer = ByteTokenizer(pieces=[b'{"', b'"name"', b'": "An', b" \n ", b"na", b"", "漢".encode()[:2]])
        matcher = matcher_of(schema(PERSON), tokenizer)
        for byte in b'{"name": "Anna", "age": 41}':
            allowed = [matcher.allows(token_id) for token_id in range(tokenizer.vocab_size)]
            assert matcher.mask(tokenizer.vocab_size).tolist() == allowed
            assert matcher.mask(tokenizer.vocab_size + 40).tolist() == allowed + [False] * 40
            matcher.accept(byte)

    def test_matchers_of_one_grammar_go_their_own_ways(self) -> None:
        both = compiled(regex("a|b"))
        one, other = both.matcher(), both.matcher()
        one.accept(ord("a"))
        assert one.is_complete
        assert other.allows(ord("b"))


class TestFailing:
    def test_a_token_that_it_forbids_fails_it_and_says_so(self) -> None:
        matcher = matcher_of(regex("a+"))
        matcher.accept(ord("b"))
        assert matcher.failure is not None
        assert matcher.failure.param == PARAM
        assert not matcher.is_complete

    def test_a_failed_one_stays_failed(self) -> None:
        matcher = matcher_of(regex("a+"))
        matcher.accept(IM_START)
        failure = matcher.failure
        matcher.accept(ord("a"))
        assert matcher.mask(BYTES.vocab_size).all()
        assert matcher.failure is failure

    def test_one_that_grows_too_complex_on_the_way_fails(self) -> None:
        matcher = matcher_of(regex("[ab]*a[ab]{30}"))
        rng = np.random.default_rng(1)
        for _ in range(100_000):
            allowed = np.flatnonzero(matcher.mask(BYTES.vocab_size)[:256])
            if matcher.failure is not None:
                break
            matcher.accept(int(rng.choice(allowed)))
        assert "too complex" in str(matcher.failure)


def ref_loop() -> dict[str, Any]:
    return {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        value = {"type": "array", "items": value}
    return value


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("a pattern that is none", {"type": "string", "pattern": "(["}),
    ("an unknown type", {"type": "blob"}),
    ("an unknown format", {"type": "string", "format": "isbn"}),
    ("a keyword that is not enforced", {"type": "array", "uniqueItems": True}),
    ("not", {"not": {"type": "string"}}),
    ("not, leniently", {"x-guidance": {"lenient": True}, "not": {"type": "string"}}),
    ("a loop of $refs", ref_loop()),
    ("a $ref to itself", {"$ref": "#"}),
    ("a $ref to nowhere", {"$ref": "#/$defs/nobody"}),
    ("a $ref to the network", {"$ref": "http://example.com/schema.json"}),
    ("nothing satisfies it", {"type": "object", "properties": {"a": False}, "required": ["a"]}),
    ("500 deep", nested(500)),
    ("a backreference", {"type": "string", "pattern": r"(a)\1"}),
    ("a lookahead", {"type": "string", "pattern": "(?=a)b"}),
    ("a pattern nested 10,000 deep", {"type": "string", "pattern": "(" * 10_000 + "a" + ")" * 10_000}),
]


@pytest.mark.parametrize("value", [row[1] for row in REFUSED], ids=[row[0] for row in REFUSED])
async def test_a_schema_that_cannot_be_enforced_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="response_format cannot be enforced: ") as refused:
        await tried(schema(value))
    assert refused.value.param == PARAM
    assert len(str(refused.value)) < 400


REFUSED_AT_ONCE: list[tuple[str, dict[str, Any]]] = [
    ("10,000 deep", nested(10_000)),
    ("10 MB of names", {"type": "object", "properties": {f"x{n:07}": {"type": "string"} for n in range(300_000)}}),
    ("10 MB in one name", {"enum": ["x" * 10_000_000]}),
    ("wrapped once too often", {"name": "person", "schema": PERSON}),
    ("half a character", {"const": "\ud800"}),
]


@pytest.mark.parametrize("value", [row[1] for row in REFUSED_AT_ONCE], ids=[row[0] for row in REFUSED_AT_ONCE])
def test_a_schema_without_sense_or_measure_is_refused_before_anything_is_compiled(value: dict[str, Any]) -> None:
    start_s = time.process_time()
    with pytest.raises(InvalidRequest) as refused:
        schema(value)
    assert refused.value.param == PARAM
    assert time.process_time() - start_s < seconds_of(100)


@pytest.mark.parametrize("value", [
    {"type": "object", "minProperties": 2},
    {"type": "object", "patternProperties": {"^x_[0-9]$": {}}, "additionalProperties": False, "minProperties": 2},
    {"type": "array", "items": {"anyOf": [{"type": "object", "required": ["a"], "minProperties": 2}]}},
])
def test_properties_that_one_written_twice_would_make_up_are_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=r"minProperties of 2 .* Name them in required") as refused:
        schema(value)
    assert refused.value.param == PARAM


@pytest.mark.parametrize(("value", "text"), [
    ({"type": "object", "minProperties": 1}, '{"a": 1}'),
    ({"type": "object", "required": ["a", "b"], "minProperties": 2}, '{"a": 1, "b": 2}'),
    ({"type": "object", "properties": {"minProperties": {"type": "integer"}}}, '{"minProperties": 3}'),
    ({"const": {"minProperties": 7}}, '{"minProperties": 7}'),
])
def test_properties_that_can_be_counted_are_taken(value: dict[str, Any], text: str) -> None:
    assert takes(matcher_of(schema(value)), text)


@pytest.mark.parametrize("value", [
    {"const": 1234567890123456789}, {"properties": {"id": {"enum": [None, {"of": [-(2**53) - 1]}]}}},
    {"type": "integer", "minimum": 2**53 + 1, "maximum": 2**54}, {"type": "integer", "maximum": 2**53 + 3},
    {"type": "integer", "minimum": 10**300, "maximum": 10**400}, {"type": "integer", "exclusiveMaximum": -(2**60)},
    {"type": "integer", "minimum": 1e19, "maximum": 1e20},
], ids=str)
def test_a_number_that_would_become_another_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="cannot be kept to exactly") as refused:
        schema(value)
    assert refused.value.param == PARAM


@pytest.mark.parametrize(("value", "text"), [
    ({"const": 2**53}, str(2**53)),
    ({"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, str(2**63 - 1)),
    ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1, "default": 2**64 - 1}, str(2**63 - 1)),
], ids=str)
def test_bounds_as_wide_as_the_numbers_of_64_bits_are_no_reason_to_refuse(value: dict[str, Any], text: str) -> None:
    assert takes(matcher_of(schema(value)), text)


def test_an_empty_choice_and_a_regex_without_measure_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="empty list"):
        grammar.choice([], PARAM)
    with pytest.raises(InvalidRequest, match="larger than"):
        regex("a" * (MAX_SOURCE_CHARS + 1))


@pytest.mark.parametrize(
    "source",
    [
        "start: r0\n" + "\n".join(f"r{n}: r{n + 1}" for n in range(6_000)) + '\nr6000: "a"',      # ends its process
        "root ::= " + "(" * 10_000 + '"a"' + ")" * 10_000,
        'start: "a',
        'root ::= "a',
        "start: start",
        "nothing",
        "",
    ],
)
async def test_a_grammar_that_cannot_be_compiled_is_refused_and_the_process_lives(source: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot be enforced"):
        await tried(grammar.grammar(source, PARAM))


async def test_what_takes_minutes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.grammar_trial._TIMEOUT_S", 1.5)
    slow = {"allOf": [{"type": "string", "pattern": f".*a.{{{n % 20}}}b.*"} for n in range(60)]}
    with pytest.raises(InvalidRequest, match="too"):
        await tried(schema(slow))


class TestTheCompiler:
    async def test_keeps_what_it_has_compiled(self) -> None:
        compiler = GrammarCompiler(BYTES)
        first = await compiler.compile(regex("a+"))
        assert await compiler.compile(regex("a+")) is first
        assert await compiler.compile(regex("b+")) is not first

    async def test_forgets_the_one_that_was_not_used_for_longest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("engine.grammar_compiler.MAX_KEPT", 2)
        compiler = GrammarCompiler(BYTES)
        a, b = await compiler.compile(regex("a")), await compiler.compile(regex("b"))
        assert await compiler.compile(regex("a")) is a
        await compiler.compile(regex("c"))
        assert await compiler.compile(regex("a")) is a
        assert await compiler.compile(regex("b")) is not b

    async def test_compiles_for_all_at_once_who_ask_for_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        children = _counted_children(monkeypatch)
        compiler = GrammarCompiler(BYTES)
        first, second = await asyncio.gather(compiler.compile(regex("a+")), compiler.compile(regex("a+")))
        assert first is second
        refusals = await asyncio.gather(
            *(compiler.compile(grammar.grammar("start: nobody", PARAM)) for _ in range(3)), return_exceptions=True
        )
        assert [type(each) for each in refusals] == [InvalidRequest] * 3
        assert len(children) == 2

    async def test_goes_on_for_who_stays_where_the_first_goes_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        children = _counted_children(monkeypatch)
        compiler = GrammarCompiler(BYTES)
        first, second = (asyncio.create_task(compiler.compile(regex("a+"))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert takes((await second).matcher(), "aa")
        assert first.cancelled()
        assert len(children) == 1

    async def test_gives_up_when_all_have_gone_and_begins_anew_for_the_next(self) -> None:
        compiler = GrammarCompiler(BYTES)
        gone = asyncio.create_task(compiler.compile(regex("a+")))
        await asyncio.sleep(0)
        gone.cancel()
        assert takes((await compiler.compile(regex("a+"))).matcher(), "aa")

    def test_works_for_a_model_without_an_end_of_turn(self) -> None:
        class Endless(ByteTokenizer):
            @property
            def eog_token_ids(self) -> frozenset[int]:
                return frozenset()

        matcher = matcher_of(regex("ab?"), Endless())
        matcher.accept(ord("a"))
        assert np.flatnonzero(matcher.mask(259)).tolist() == [ord("b")]
        matcher.accept(ord("b"))
        assert matcher.is_complete

    def test_its_library_is_not_loaded_at_start(self) -> None:
        code = "import sys, engine.local, engine.load; sys.exit('llguidance' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_text_of_a_random_walk_is_valid_json() -> None:
    rng = np.random.default_rng(7)
    small = {"type": "array", "items": {"type": ["integer", "boolean", "null"]}, "maxItems": 3}
    person = compiled(schema({**PERSON, "properties": {**PERSON["properties"], "more": small}}))
    for _ in range(30):
        matcher, text = person.matcher(), bytearray()
        while not matcher.is_complete and len(text) < 2_000:
            token_id = int(rng.choice(np.flatnonzero(matcher.mask(BYTES.vocab_size))))
            matcher.accept(token_id)
            text += BYTES.token_bytes(token_id)
        assert matcher.failure is None
        if matcher.is_complete:
            assert json.loads(text)["name"] in ("Anna", "Ben")


def _counted_children(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    start = asyncio.create_subprocess_exec
    children: list[tuple[str, ...]] = []

    async def count(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
        children.append(arguments)
        return await start(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", count)
    return children
