"""Each family's way of writing, in golden files: what a model wrote and what it means, however it was cut in pieces."""

import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.parsers.base import Asked, Parsed, Parser
from engine.parsers.choose import Family, choose

GOLDEN = {path.stem: tomllib.loads(path.read_text()) for path in Path(__file__).with_name("golden").glob("*.toml")}
CASES = [(family, case) for family, golden in sorted(GOLDEN.items()) for case in golden["case"]]


def tool(name: str, **types: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


TOOLS = (
    tool("get_weather", city="string", days="integer"),
    tool("get_time"),
    tool("write_file", path="string", text="string", mode="integer", tags="array"),
    {"type": "function", "function": {"name": "mixed", "parameters": {
        "$defs": {"node": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "string"}]}},
        "properties": {
            "zip": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "none": {"type": ["string", "null"]},
            "flag": {"type": "boolean"},
            "unit": {"enum": ["7", "8"]},
            "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "node": {"$ref": "#/$defs/node"},
            "ratio": {"type": "number"},
        },
    }}},
)


@dataclass
class Meant:
    text: str = ""
    reasoning: str = ""
    calls: list[list[str]] = field(default_factory=list)      # name, arguments


def family_of(name: str) -> Family:
    family = choose(GOLDEN[name]["template"])
    assert family is not None
    return family


def opened(family: str, case: dict[str, Any]) -> Parser:
    asked = Asked(
        prompt=case.get("prompt", GOLDEN[family].get("default_prompt", "")),
        tools=TOOLS if case.get("offered", True) else (),
        parallel_tool_calls=case.get("parallel", True),
    )
    parser = family_of(family).open(asked)
    assert parser is not None
    return parser


def read(parser: Parser, pieces: Iterable[str], *, is_cut: bool) -> Meant:
    meant, ids = Meant(), set()
    for parsed in all_parsed(parser, pieces, is_cut=is_cut):
        meant.text += parsed.text
        meant.reasoning += parsed.reasoning
        for piece in parsed.tool_calls:
            if piece.id:
                assert piece.index == len(meant.calls)
                assert piece.name
                assert piece.id not in ids
                ids.add(piece.id)
                meant.calls.append([piece.name, ""])
            assert not (piece.name and not piece.id)
            meant.calls[piece.index][1] += piece.arguments
    assert parser.num_held == 0
    return meant


def all_parsed(parser: Parser, pieces: Iterable[str], *, is_cut: bool) -> Iterator[Parsed]:
    for piece in pieces:
        yield parser.push(piece)
    yield parser.flush(is_cut=is_cut)


@pytest.mark.parametrize(("family", "case"), CASES, ids=[f"{family}: {case['name']}" for family, case in CASES])
def test_golden(family: str, case: dict[str, Any]) -> None:
    right = Meant(case.get("text", ""), case.get("reasoning", ""), case.get("calls", []))
    written, is_cut = case["written"], case.get("is_cut", False)
    assert read(opened(family, case), written, is_cut=is_cut) == right
    assert read(opened(family, case), [written], is_cut=is_cut) == right


def golden_parts(family: str) -> st.SearchStrategy[str]:
    """Golden texts, whole and cut at either end, one behind the other."""
    def part(written: str) -> st.SearchStrategy[str]:
        places = st.integers(0, len(written))
        return st.just(written) | st.tuples(places, places).map(lambda cut: written[min(cut) : max(cut)])

    written = st.sampled_from([case["written"] for case in GOLDEN[family]["case"]])
    return st.lists(written.flatmap(part), max_size=4).map("".join)


def fragments() -> st.SearchStrategy[str]:
    """Text made of what families give a meaning to, whole and in parts."""
    marks = sorted({mark for name in GOLDEN for mark in family_of(name).marks})
    signs = [*'{}[]",:;\\ \n', '{"name": "get_time", ', '"arguments": ', '"parameters": {}}', "```json\n", "get_time"]
    parts = [mark[:3] for mark in marks] + ["call:", "<function=", "<parameter=", "to=functions.f", "analysis", "ñ漢👨"]
    return st.lists(st.sampled_from([*marks, *signs, *parts]) | st.text(max_size=4), max_size=24).map("".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    family_and_text=st.sampled_from(sorted(GOLDEN)).flatmap(
        lambda family: st.tuples(st.just(family), fragments() | golden_parts(family))
    ),
    cuts=st.lists(st.integers(0, 200), max_size=8),
    offered=st.booleans(),
    prompt=st.sampled_from(["", "<think>", "<|start|>assistant"]),
    is_cut=st.booleans(),
)
def test_any_text_cut_anywhere_means_the_same(
    family_and_text: tuple[str, str], cuts: Sequence[int], offered: bool, prompt: str, is_cut: bool
) -> None:
    family, written = family_and_text
    needs_tools = family_of(family).open(Asked()) is None
    case = {"offered": offered or needs_tools, "prompt": prompt}
    whole = read(opened(family, case), [written], is_cut=is_cut)
    places = [0, *sorted(cuts), len(written)]
    pieces = [written[start:end] for start, end in pairwise(places)]
    assert read(opened(family, case), pieces, is_cut=is_cut) == whole
    assert read(opened(family, case), written, is_cut=is_cut) == whole


ENDLESS = [
    ("hermes", "", " "),
    ("hermes", "a", "\n"),
    ("hermes", '<tool_call>{"name": "f", "arguments": {"a": "', "x"),
    ("deepseek", "<｜tool▁call▁begin｜>", "x"),
    ("harmony", "<|channel|>", "x"),
]


@pytest.mark.parametrize(("family", "begin", "more"), ENDLESS)
def test_a_model_that_writes_without_end_is_read_in_time_that_grows_with_the_text(
    family: str, begin: str, more: str
) -> None:
    """Read as it comes: what is looked over again and again takes a hundred times as long for ten times the text."""
    def cpu_s(num_chars: int) -> float:
        began_s = time.process_time()
        read(opened(family, {}), begin + more * num_chars, is_cut=True)
        return time.process_time() - began_s

    cpu_s(1000)
    assert cpu_s(60_000) < 40 * cpu_s(6_000)
