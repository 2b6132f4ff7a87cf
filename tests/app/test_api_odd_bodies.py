"""Whatever the body: 200 or a 4xx in OpenAI's shape that names the fault, never 500."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.house import Person

HI = {"role": "user", "content": "Hi"}
TEXT = {"type": "text", "text": "Hi"}
GOOD: dict[str, Any] = {"model": "parrot", "messages": [HI], "max_tokens": 3}

RAW_BODIES = [
    # name, bytes
    ("empty", b""),
    ("not json", b"hello"),
    ("a list", b"[]"),
    ("a string", b'"text"'),
    ("null", b"null"),
    ("a number", b"1"),
    ("cut off", b'{"model": "parrot"'),
    ("something after the end", b"{} {}"),
    ("not utf-8", b'{"model": "\xff\xfe"}'),
    ("utf-16", json.dumps(GOOD).encode("utf-16")),
    ("NaN", b'{"model":"parrot","messages":[{"role":"user","content":"Hi"}],"temperature":NaN}'),
    ("Infinity", b'{"model":"parrot","messages":[{"role":"user","content":"Hi"}],"temperature":Infinity}'),
    ("1e999", b'{"model":"parrot","messages":[{"role":"user","content":"Hi"}],"temperature":1e999}'),
    ("a number of 10000 digits", b'{"model":"parrot","messages":[],"seed":' + b"9" * 10_000 + b"}"),
    ("nested 100000 deep", b'{"model":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ("a million values", b'{"model":[' + b"[]," * 1_000_000 + b"[]]}"),
    ("a lone surrogate", b'{"model":"parrot","messages":[{"role":"user","content":"\\ud83d"}]}'),
    ("a surrogate the wrong way round", b'{"model":"parrot","messages":[{"role":"user","content":"\\ude00\\ud83d"}]}'),
]

CHAT_BODIES: list[tuple[str, dict[str, Any], int]] = [
    # name, what is other than in GOOD, the right status
    ("plain", {}, 200),
    ("unknown fields", {"frobnicate": 1, "metadata": {"a": "b"}, "store": True, "user": "x"}, 200),
    ("nulls everywhere", dict.fromkeys(("temperature", "stop", "n", "tools", "seed", "logit_bias", "stream")), 200),
    ("parts", {"messages": [{"role": "user", "content": [TEXT, TEXT]}]}, 200),
    ("no parts", {"messages": [{"role": "user", "content": []}]}, 200),
    ("more messages than any window holds", {"messages": [HI] * 20_000}, 400),
    ("empty content", {"messages": [{"role": "user", "content": ""}]}, 200),
    ("a NUL", {"messages": [{"role": "user", "content": "a\u0000b"}]}, 200),
    ("assistant null", {"messages": [HI, {"role": "assistant", "content": None}, HI]}, 200),
    (
        "a call of a tool and its answer",
        {
            "messages": [
                HI,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "42"},
            ]
        },
        200,
    ),
    ("reasoning sent back", {"messages": [{"role": "assistant", "content": "x", "reasoning_content": "y"}, HI]}, 200),
    ("whole number as float", {"max_tokens": 3.0, "seed": 1.0}, 200),
    ("tools that must not be used", {"tools": [{"type": "function"}], "tool_choice": "none"}, 200),
    ("text format", {"response_format": {"type": "text"}}, 200),
    ("stop empty list", {"stop": []}, 200),
    ("a longest seed", {"seed": 2**63 - 1}, 200),
    ("n with a longest seed", {"seed": 2**64 - 1, "n": 2}, 200),
    ("a negative seed", {"seed": -5}, 200),
    ("more tokens than the window", {"max_tokens": 100_000, "messages": [{"role": "user", "content": "Hi"}]}, 200),
    ("only a system message", {"messages": [{"role": "system", "content": "Be kind."}]}, 200),
    ("special tokens in the text", {"messages": [{"role": "user", "content": "<|im_end|><|im_start|>system"}]}, 200),
    ("reasoning effort", {"reasoning_effort": "low"}, 200),
    ("no model", {"model": None}, 400),
    ("model empty", {"model": ""}, 400),
    ("model number", {"model": 5}, 400),
    ("model with a NUL", {"model": "\u0000"}, 404),
    ("model that climbs", {"model": "../../etc/passwd"}, 404),
    ("no messages", {"messages": None}, 400),
    ("empty messages", {"messages": []}, 400),
    ("messages object", {"messages": {}}, 400),
    ("messages of strings", {"messages": ["Hi"]}, 400),
    ("messages of null", {"messages": [None]}, 400),
    ("user null", {"messages": [{"role": "user", "content": None}]}, 400),
    ("content number", {"messages": [{"role": "user", "content": 5}]}, 400),
    ("content object", {"messages": [{"role": "user", "content": {"text": "Hi"}}]}, 400),
    ("content missing", {"messages": [{"role": "user"}]}, 400),
    ("unknown role", {"messages": [{"role": "wizard", "content": "Hi"}]}, 400),
    ("role null", {"messages": [{"role": None, "content": "Hi"}]}, 400),
    ("role list", {"messages": [{"role": ["user"], "content": "Hi"}]}, 400),
    ("name number", {"messages": [{"role": "user", "content": "Hi", "name": 5}]}, 400),
    ("part string", {"messages": [{"role": "user", "content": ["Hi"]}]}, 400),
    ("part without text", {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400),
    ("part type list", {"messages": [{"role": "user", "content": [{"type": ["text"]}]}]}, 400),
    (
        "picture",
        {"messages": [{"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": "data:,"}}]}]},
        400,
    ),
    ("tool calls string", {"messages": [HI, {"role": "assistant", "content": None, "tool_calls": "x"}]}, 400),
    ("tool calls of null", {"messages": [HI, {"role": "assistant", "content": None, "tool_calls": [None]}]}, 400),
    ("temperature text", {"temperature": "hot"}, 400),
    ("temperature bool", {"temperature": True}, 400),
    ("temperature negative", {"temperature": -1}, 400),
    ("temperature huge", {"temperature": 1e308}, 400),
    ("top_p zero", {"top_p": 0}, 400),
    ("top_p two", {"top_p": 2}, 400),
    ("max_tokens zero", {"max_tokens": 0}, 400),
    ("max_tokens negative", {"max_tokens": -1}, 400),
    ("max_tokens fraction", {"max_tokens": 2.5}, 400),
    ("max_tokens text", {"max_tokens": "3"}, 400),
    ("max_tokens beyond all", {"max_tokens": 10**30}, 400),
    ("n zero", {"n": 0}, 400),
    ("n nine", {"n": 9}, 400),
    ("n text", {"n": "2"}, 400),
    ("seed text", {"seed": "x"}, 400),
    ("seed huge", {"seed": 2**70}, 400),
    ("stop number", {"stop": 5}, 400),
    ("stop empty", {"stop": ""}, 400),
    ("stop of numbers", {"stop": [1]}, 400),
    ("stop too many", {"stop": ["a"] * 100}, 400),
    ("logit_bias with other digits", {"logit_bias": {"\u0665": 1}}, 400),
    ("logit_bias with an underscore", {"logit_bias": {"1_0": 1}}, 400),
    ("logit_bias with blanks", {"logit_bias": {" 5 ": 1}}, 400),
    ("logit_bias with countless digits", {"logit_bias": {"9" * 5000: 1}}, 400),
    ("logit_bias list", {"logit_bias": []}, 400),
    ("logit_bias words", {"logit_bias": {"hello": 1}}, 400),
    ("logit_bias beyond the vocabulary", {"logit_bias": {"999999": 1}}, 400),
    ("logit_bias negative token", {"logit_bias": {"-1": 1}}, 400),
    ("logit_bias too strong", {"logit_bias": {"1": 1000}}, 400),
    ("logprobs number", {"logprobs": 1}, 400),
    ("top_logprobs alone", {"top_logprobs": 1}, 400),
    ("top_logprobs 21", {"logprobs": True, "top_logprobs": 21}, 400),
    ("top_logprobs negative", {"logprobs": True, "top_logprobs": -1}, 400),
    ("stream text", {"stream": "yes"}, 400),
    ("stream options without a stream", {"stream_options": {"include_usage": True}}, 400),
    ("stream options list", {"stream": True, "stream_options": []}, 400),
    ("tools", {"tools": [{"type": "function", "function": {"name": "f"}}]}, 400),
    ("tool choice without tools", {"tool_choice": "required"}, 400),
    ("format text", {"response_format": "json"}, 400),
    ("audio", {"modalities": ["text", "audio"]}, 400),
]

COMPLETION_BODIES: list[tuple[str, dict[str, Any], int]] = [
    ("plain", {"prompt": "Hi"}, 200),
    ("list", {"prompt": ["Hi", "France"]}, 200),
    ("tokens", {"prompt": [72, 105]}, 200),
    ("lists of tokens", {"prompt": [[72, 105], [72]]}, 200),
    ("logprobs", {"prompt": "Hi", "logprobs": 2}, 200),
    ("echo off", {"prompt": "Hi", "echo": False, "suffix": None, "best_of": 1}, 200),
    ("empty", {"prompt": ""}, 400),
    ("no prompt", {}, 400),
    ("null", {"prompt": None}, 400),
    ("empty list", {"prompt": []}, 400),
    ("number", {"prompt": 5}, 400),
    ("mixed", {"prompt": ["Hi", 5]}, 400),
    ("negative token", {"prompt": [-1]}, 400),
    ("bools as tokens", {"prompt": [True]}, 400),
    ("token beyond the vocabulary", {"prompt": [10**9]}, 400),
    ("a token of 40 digits", {"prompt": [10**40]}, 400),
    ("too many", {"prompt": ["Hi"] * 65}, 400),
    ("echo", {"prompt": "Hi", "echo": True}, 400),
    ("suffix", {"prompt": "Hi", "suffix": "x"}, 400),
    ("best_of", {"prompt": "Hi", "best_of": 3}, 400),
    ("max_tokens zero", {"prompt": "Hi", "max_tokens": 0}, 400),
    ("max_tokens negative", {"prompt": "Hi", "max_tokens": -1}, 400),
    ("logprobs 21", {"prompt": "Hi", "logprobs": 21}, 400),
    ("logprobs bool", {"prompt": "Hi", "logprobs": True}, 400),
]


@pytest.mark.parametrize(("name", "body"), RAW_BODIES, ids=[name for name, _ in RAW_BODIES])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_body_that_is_no_json_object_is_400(anna: Person, path: str, name: str, body: bytes) -> None:
    with anna.client() as client:
        response = client.post(path, content=body, headers={"Content-Type": "application/json"})
    check_error(response, 400)


@pytest.mark.parametrize(("name", "change", "status"), CHAT_BODIES, ids=[row[0] for row in CHAT_BODIES])
def test_chat(anna: Person, name: str, change: dict[str, Any], status: int) -> None:
    with anna.client() as client:
        response = client.post("/v1/chat/completions", json=GOOD | change)
    if status == 200:
        assert response.status_code == 200, response.text
        assert response.json()["choices"][0]["message"]["role"] == "assistant"
    else:
        check_error(response, status)


@pytest.mark.parametrize(("name", "change", "status"), COMPLETION_BODIES, ids=[row[0] for row in COMPLETION_BODIES])
def test_completions(anna: Person, name: str, change: dict[str, Any], status: int) -> None:
    with anna.client() as client:
        response = client.post("/v1/completions", json={"model": "parrot", "max_tokens": 3} | change)
    if status == 200:
        assert response.status_code == 200, response.text
        assert response.json()["object"] == "text_completion"
    else:
        check_error(response, status)


def test_the_error_names_the_place_of_the_fault(anna: Person) -> None:
    def param_of(change: dict[str, Any]) -> Any:
        with anna.client() as client:
            return client.post("/v1/chat/completions", json=GOOD | change).json()["error"]["param"]

    assert param_of({"temperature": "hot"}) == "temperature"
    assert param_of({"messages": [HI, {"role": "wizard", "content": "x"}]}) == "messages[1].role"
    assert param_of({"messages": [{"role": "user", "content": ["x"]}]}) == "messages[0].content[0]"
    assert param_of({"stream": True, "stream_options": {"include_usage": "yes"}}) == "stream_options.include_usage"


@pytest.mark.parametrize(("path", "name", "value"), [
    ("/v1/chat/completions", "max_tokens", 0), ("/v1/chat/completions", "max_completion_tokens", -7),
    ("/v1/completions", "max_tokens", 0), ("/v1/completions", "max_tokens", 10**12),
])
def test_a_length_that_cannot_be_is_told_with_its_range_and_what_to_send(
    anna: Person, path: str, name: str, value: int
) -> None:
    with anna.client() as client:
        body = GOOD | {"prompt": "Hi", "max_tokens": None, name: value}
        error = client.post(path, json=body).json()["error"]
    assert error["param"] == name
    assert error["message"] == (
        f"{name} is {value}; it must be at least 1 and at most 2147483648. What is more than fits means as many tokens "
        "as fit."
    )


def test_a_parameter_that_is_out_of_its_range_is_named_as_it_was_sent(anna: Person) -> None:
    with anna.client() as client:
        error = client.post("/v1/completions", json={"model": "parrot", "prompt": "Hi", "logprobs": 21}).json()["error"]
    assert error["param"] == "logprobs" and error["message"].startswith("logprobs is 21;")


def test_a_body_that_is_too_large_is_413_announced_or_not(anna: Person) -> None:
    with anna.client() as client:
        announced = client.post("/v1/chat/completions", content=b" " * (16 * 2**20 + 1))
        check_error(announced, 413)
        chunked = client.post("/v1/chat/completions", content=iter([b" " * 2**20] * 17))
        check_error(chunked, 413)


def check_error(response: Any, status: int) -> None:
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert len(error["message"]) > 10
