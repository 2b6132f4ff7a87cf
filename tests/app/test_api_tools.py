"""Tools and reasoning over /v1/chat/completions, streamed and whole, as clients read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import HERMES_TEMPLATE, THINKING_TEMPLATE, ByteTokenizer
from tests.app.house import House, Person

CHAT = "/v1/chat/completions"
CODE = '```c\n#include <stdio.h>\nint main() { printf("Hello {world}"); return 0; }\n```'


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


REPLIES = {
    "hello": CODE,
    "Paris?": call("get_weather", '{"city": "Paris"}'),
    "both": "I look.\n" + call("get_weather", '{"city": "Paris"}') + "\n" + call("get_time", "{}"),
    "family": call("get_weather", '{"city": "👨‍👩‍👧‍👦 漢字 \\"ñ\\" }"}'),
    "18 degrees": "It is warm.",
    "": "Hm?",
}


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = [tool("get_weather"), tool("get_time")]
TIME = {"type": "function", "function": {"name": "get_time"}}
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
ENUM = {"name": "get_weather", "parameters": CITY | {"additionalProperties": False}}


@pytest.fixture(scope="module", autouse=True)
def models(house: House) -> None:
    """`helper` calls tools as its REPLIES say; `thinker` begins each answer with a thought; `coder` writes no JSON."""
    hermes, thinking = ByteTokenizer(chat_template=HERMES_TEMPLATE), ByteTokenizer(chat_template=THINKING_TEMPLATE)
    thoughts = {"endless": "abc {", "": "abc</think>42"}
    house.do(house.shelf.put(house.services, "helper", lambda: ScriptedBackend(REPLIES, tokenizer=hermes)))
    coder = ByteTokenizer(chat_template="{{ tools }} {{ messages }} <tool_call><function=")
    house.do(house.shelf.put(house.services, "thinker", lambda: ScriptedBackend(thoughts, tokenizer=thinking)))
    house.do(house.shelf.put(house.services, "coder", lambda: ScriptedBackend("Hm?", tokenizer=coder)))


@dataclass
class Answer:
    content: str | None
    reasoning: str | None
    calls: list[dict[str, Any]]
    finish_reason: str
    usage: dict[str, Any]


@dataclass
class Asking:
    person: Person
    is_streamed: bool

    def __call__(self, text: str | list[dict[str, Any]], model: str = "helper", **parameters: Any) -> Answer:
        messages = [{"role": "user", "content": text}] if isinstance(text, str) else text
        body = {"model": model, "messages": messages, **parameters}
        if self.is_streamed:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        with self.person.client() as client:
            response = client.post(CHAT, json=body)
        assert response.status_code == 200, response.text
        return joined(response.text) if self.is_streamed else whole(response.json())


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def ask(request: pytest.FixtureRequest, anna: Person) -> Asking:
    return Asking(anna, request.param)


def whole(body: dict[str, Any]) -> Answer:
    [choice] = body["choices"]
    message = choice["message"]
    calls = message.get("tool_calls", [])
    return Answer(message["content"], message.get("reasoning_content"), calls, choice["finish_reason"], body["usage"])


def joined(text: str) -> Answer:
    """As clients join a stream, with an eye on its form."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert data.pop() == "[DONE]"
    *chunks, last = map(json.loads, data)
    content, reasoning = "", ""
    calls: list[dict[str, Any]] = []
    reasons: list[str] = []
    for chunk in chunks:
        [choice] = chunk["choices"]
        delta = choice["delta"]
        content += delta.get("content") or ""
        reasoning += delta.get("reasoning_content", "")
        reasons += [choice["finish_reason"]] if choice["finish_reason"] else []
        for piece in delta.get("tool_calls", []):
            if "id" in piece:
                assert piece.keys() == {"index", "id", "type", "function"}
                assert piece["function"].keys() == {"name", "arguments"}
                assert piece["function"]["arguments"] == ""
                assert piece["index"] == len(calls)
                calls.append({key: piece[key] for key in ("id", "type", "function")})
            else:
                assert piece.keys() == {"index", "function"}
                assert piece["function"].keys() == {"arguments"}
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
        assert len(delta.get("tool_calls", [])) < 2
    [reason] = reasons
    return Answer(content or (None if calls else ""), reasoning or None, calls, reason, last["usage"])


def functions(answer: Answer) -> list[dict[str, str]]:
    ids = [each["id"] for each in answer.calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert {each["type"] for each in answer.calls} <= {"function"}
    return [each["function"] for each in answer.calls]


def test_a_call_has_no_content_and_is_the_reason_of_the_end(ask: Asking) -> None:
    answer = ask("Paris?", tools=TOOLS)
    assert functions(answer) == [{"name": "get_weather", "arguments": '{"city": "Paris"}'}]
    assert (answer.content, answer.finish_reason) == (None, "tool_calls")


def test_code_with_braces_is_content_where_tools_are_offered(ask: Asking) -> None:
    answer = ask("hello", tools=TOOLS, tool_choice="auto")
    assert (answer.content, answer.calls, answer.finish_reason) == (CODE, [], "stop")


def test_two_calls_side_by_side_and_the_text_before_them(ask: Asking) -> None:
    answer = ask("both", tools=TOOLS)
    assert [function["name"] for function in functions(answer)] == ["get_weather", "get_time"]
    assert (answer.content, answer.finish_reason) == ("I look.", "tool_calls")


def test_one_call_where_no_more_were_allowed(ask: Asking) -> None:
    assert [each["name"] for each in functions(ask("both", tools=TOOLS, parallel_tool_calls=False))] == ["get_weather"]


def test_unicode_arguments_are_a_json_text(ask: Asking) -> None:
    [function] = functions(ask("family", tools=TOOLS))
    assert json.loads(function["arguments"]) == {"city": '👨‍👩‍👧‍👦 漢字 "ñ" }'}


def test_half_a_call_ends_for_its_length_and_leaks_nothing(ask: Asking) -> None:
    written = REPLIES["Paris?"]
    for length in range(1, len(written)):
        answer = ask("Paris?", tools=TOOLS, max_tokens=length)
        assert answer.finish_reason == "length"
        if answer.calls:
            [function] = functions(answer)
            assert answer.content is None
            assert '{"city": "Paris"}'.startswith(function["arguments"])
        else:
            assert answer.content in ("", written[:length])      # the mark itself, letter by letter, may be any text
            assert len(answer.content) < len("<tool_call>")


def test_a_call_that_must_be_made_is_made_whatever_the_model_would_say(ask: Asking) -> None:
    answer = ask("18 degrees", tools=[tool("get_weather") | {"function": ENUM}, TIME], tool_choice="required")
    [function] = functions(answer)
    assert function["name"] in ("get_weather", "get_time")
    assert (answer.content, answer.finish_reason) == (None, "tool_calls")


def test_the_function_that_is_named_is_called_once(ask: Asking) -> None:
    for name, arguments in (("get_time", ({},)), ("get_weather", ({"city": "Paris"}, {"city": "Rome"}))):
        choice = {"type": "function", "function": {"name": name}}
        answer = ask("Paris?", tools=[tool("get_weather") | {"function": ENUM}, TIME], tool_choice=choice)
        [function] = functions(answer)
        assert function["name"] == name
        assert json.loads(function["arguments"]) in arguments
        assert answer.finish_reason == "tool_calls"


def test_a_call_that_must_be_made_is_one_whatever_form_an_answer_would_have(ask: Asking) -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    for choice in ("required", {"type": "function", "function": {"name": "get_time"}}):
        answer = ask("18 degrees", tools=[TIME], tool_choice=choice, response_format=form, parallel_tool_calls=False)
        [function] = functions(answer)
        assert (function["name"], json.loads(function["arguments"])) == ("get_time", {})
        assert (answer.content, answer.finish_reason) == (None, "tool_calls")


def test_one_call_must_be_made_and_no_more_may(ask: Asking) -> None:
    called = ask("both", tools=TOOLS, tool_choice="required", parallel_tool_calls=False, max_tokens=400)
    assert len(functions(called)) == 1


def test_a_strict_function_is_called_by_its_schema_or_not_at_all(ask: Asking) -> None:
    rome = CITY | {"properties": {"city": {"enum": ["Rome"]}}, "additionalProperties": False}
    strict = {"type": "function", "function": {"name": "get_weather", "parameters": rome, "strict": True}}
    answer = ask("both", tools=[strict, tool("get_time")], parallel_tool_calls=False)
    assert (answer.content, answer.finish_reason) == ("I look.", "tool_calls")
    assert [json.loads(each["arguments"]) for each in functions(answer)] == [{"city": "Rome"}]
    assert ask("18 degrees", tools=[strict]).content == "It is warm."
    assert ask("hello", tools=[strict]).content == CODE


def test_no_tools_reach_the_model_where_none_may_be_called(ask: Asking) -> None:
    answer = ask("Paris?", tools=TOOLS, tool_choice="none")
    assert (answer.content, answer.calls, answer.finish_reason) == (REPLIES["Paris?"], [], "stop")
    assert answer.usage["prompt_tokens"] == ask("Paris?").usage["prompt_tokens"]


def test_calls_and_their_answers_are_said_to_the_model_again(ask: Asking) -> None:
    answer = ask("Paris?", tools=TOOLS)
    assistant = {"role": "assistant", "content": None, "tool_calls": answer.calls, "reasoning_content": "18 degrees"}
    result = {"role": "tool", "tool_call_id": answer.calls[0]["id"], "content": "18 degrees"}
    question = {"role": "user", "content": "Paris?"}
    assert ask([question, assistant, result], tools=TOOLS).content == "It is warm."
    assert ask([question, assistant | {"content": "Hm"}, result | {"content": "?"}], tools=TOOLS).content is None


def test_a_thought_comes_apart_from_the_answer(ask: Asking) -> None:
    answer = ask("Hi", model="thinker")
    assert (answer.reasoning, answer.content, answer.finish_reason) == ("abc", "42", "stop")
    assert answer.usage["completion_tokens_details"] == {"reasoning_tokens": len("abc</think>")}


def test_a_thought_without_an_end_is_all_reasoning(ask: Asking) -> None:
    answer = ask("endless", model="thinker")
    assert (answer.reasoning, answer.content) == ("abc {", "")
    cut = ask("Hi", model="thinker", max_tokens=2)
    assert (cut.reasoning, cut.content, cut.finish_reason) == ("ab", "", "length")


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    # name, what is other, the parameter, words of the message
    ("required of one that cannot be made to", {"model": "coder", "tool_choice": "required"}, "tool_choice", "decides"),
    (
        "required with parameters that are no schema",
        {
            "tools": [TOOLS[0], {"type": "function", "function": {"name": "f", "parameters": {"city": "string"}}}],
            "tool_choice": "required",
        },
        "tools[f].function.parameters",
        "no keyword",
    ),
    ("named but not offered", {"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice", "among"),
    ("an unknown choice", {"tool_choice": "sometimes"}, "tool_choice", "auto"),
    ("a choice of a number", {"tool_choice": 5}, "tool_choice", "auto"),
    ("a choice without tools", {"tools": None, "tool_choice": "required"}, "tool_choice", "together with tools"),
    ("tools as an object", {"tools": {"a": 1}}, "tools", "list"),
    ("a tool of a string", {"tools": ["x"]}, "tools[0]", "object"),
    ("another type", {"tools": [{"type": "web_search"}]}, "tools[0]", "function"),
    ("no name", {"tools": [TOOLS[0], {"type": "function", "function": {}}]}, "tools[1].function.name", "string"),
    (
        "a description of numbers",
        {"tools": [{"type": "function", "function": {"name": "f", "description": 5}}]},
        "tools[0].function.description",
        "string",
    ),
    (
        "parameters as a list",
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
        "tools[0].function.parameters",
        "schema",
    ),
    (
        "a strict function of one that cannot be held to it",
        {"model": "coder", "tools": [{"type": "function", "function": {"name": "f", "strict": True}}]},
        "tools",
        "Leave strict out",
    ),
    (
        "a form of one that cannot be held to it beside its calls",
        {"model": "coder", "response_format": {"type": "json_object"}},
        "tools",
        "Leave one of them out",
    ),
    (
        "strict as a word",
        {"tools": [{"type": "function", "function": {"name": "f", "strict": "yes"}}]},
        "tools[0].function.strict",
        "true or false",
    ),
    ("parallel as a word", {"parallel_tool_calls": "no"}, "parallel_tool_calls", "true or false"),
    ("the older functions", {"functions": [{"name": "f"}]}, "functions", "tools"),
    ("the older choice", {"function_call": {"name": "f"}}, "function_call", "tool_choice"),
    ("a model without a place for tools", {"model": "parrot"}, "tools", "Parrot does not support tools"),
]


@pytest.mark.parametrize(("name", "change", "param", "words"), BAD, ids=[row[0] for row in BAD])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_what_cannot_be_done_is_400_and_says_why(
    anna: Person, name: str, change: dict[str, Any], param: str, words: str, is_streamed: bool
) -> None:
    question = {"role": "user", "content": "Paris?"}
    body = {"model": "helper", "messages": [question], "tools": TOOLS, "stream": is_streamed} | change
    with anna.client() as client:
        response = client.post(CHAT, json=body)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert words in error["message"]
