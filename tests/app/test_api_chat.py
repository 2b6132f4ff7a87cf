"""POST /v1/chat/completions, read as clients read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.app.conftest import COUNTING, FAMILY, PARIS
from tests.app.house import House, Person

CHAT = "/v1/chat/completions"


def ask(person: Person, text: str = "What is the capital of France?", **parameters: Any) -> Any:
    body = {"model": "parrot", "messages": [{"role": "user", "content": text}], **parameters}
    with person.client() as client:
        response = client.post(CHAT, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def stream(person: Person, text: str = "What is the capital of France?", **parameters: Any) -> list[Any]:
    """The data of each event, parsed; [DONE] as it is."""
    body = {"model": "parrot", "messages": [{"role": "user", "content": text}], "stream": True, **parameters}
    with person.client() as client, client.stream("POST", CHAT, json=body) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    assert all(line.startswith(("data: ", ":")) for line in lines)
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [each if each == "[DONE]" else json.loads(each) for each in data]


def text_of(events: list[Any], index: int = 0) -> str:
    return "".join(
        choice["delta"].get("content") or ""
        for event in events[:-1]
        for choice in event.get("choices", [])
        if choice["index"] == index
    )


def test_a_whole_answer_has_openais_shape(anna: Person) -> None:
    answer = ask(anna)
    assert answer["object"] == "chat.completion"
    assert answer["id"].startswith("chatcmpl-")
    assert answer["model"] == "parrot"
    assert isinstance(answer["created"], int)
    [choice] = answer["choices"]
    assert choice["index"] == 0
    assert choice["finish_reason"] == "stop"
    assert choice["logprobs"] is None
    assert choice["message"] == {"role": "assistant", "content": PARIS, "refusal": None}


def test_usage_adds_up_and_is_the_same_whether_streamed_or_not(anna: Person) -> None:
    usage = ask(anna, "family, please")["usage"]
    assert usage["completion_tokens"] >= len(FAMILY.encode())
    assert usage["prompt_tokens"] > len("family, please")
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    events = stream(anna, "family, please", stream_options={"include_usage": True})
    streamed = events[-2]["usage"]
    assert streamed["prompt_tokens"] == usage["prompt_tokens"]
    assert streamed["completion_tokens"] == usage["completion_tokens"]


def test_a_repeated_prompt_counts_as_cached(anna: Person) -> None:
    ask(anna, "France, a question that is long enough to fill some blocks of the cache")
    usage = ask(anna, "France, a question that is long enough to fill some blocks of the cache")["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] >= 64


def test_a_stream_is_role_text_reason_done(anna: Person) -> None:
    events = stream(anna)
    assert events[-1] == "[DONE]"
    chunks = events[:-1]
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in chunks}) == 1
    assert chunks[0]["object"] == "chat.completion.chunk"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all("role" not in chunk["choices"][0]["delta"] for chunk in chunks[1:])
    assert chunks[-1]["choices"][0]["delta"] == {}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert text_of(events) == PARIS
    assert all("usage" not in chunk for chunk in chunks)


def test_usage_comes_in_one_chunk_of_its_own_where_it_is_asked_for(anna: Person) -> None:
    *chunks, last, done = stream(anna, stream_options={"include_usage": True})
    assert done == "[DONE]"
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks)


def test_characters_of_many_bytes_arrive_whole(anna: Person) -> None:
    assert ask(anna, "family")["choices"][0]["message"]["content"] == FAMILY
    assert text_of(stream(anna, "family")) == FAMILY


def test_an_answer_cut_in_the_middle_of_a_character_holds_no_broken_one(anna: Person) -> None:
    for length in range(1, len(FAMILY.encode())):
        choice = ask(anna, "family", max_tokens=length)["choices"][0]
        assert choice["finish_reason"] == "length"
        assert "\ufffd" not in choice["message"]["content"]
        assert FAMILY.startswith(choice["message"]["content"])


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("stop", "text"),
    [
        ("own fox", "The quick br"),
        (["nothing", "quick"], "The "),
        (["brown fox", "own", "wn fox", "k br"], "The quic"),
        ("fox\nAAAA", "The quick brown fox"),
    ],
)
def test_stop_strings_end_the_text_before_them(anna: Person, stop: Any, text: str, is_streamed: bool) -> None:
    if is_streamed:
        events = stream(anna, "fox", stop=stop)
        assert text_of(events) == text
        assert events[-2]["choices"][0]["finish_reason"] == "stop"
    else:
        choice = ask(anna, "fox", stop=stop)["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == (text, "stop")


def test_the_newer_length_parameter_wins(anna: Person) -> None:
    choice = ask(anna, "count", max_tokens=50, max_completion_tokens=4)["choices"][0]
    assert choice["message"]["content"] == COUNTING[:4]
    assert choice["finish_reason"] == "length"


def test_several_choices_come_side_by_side_and_the_prompt_counts_once(anna: Person) -> None:
    one, three = ask(anna)["usage"], ask(anna, n=3)
    assert [choice["index"] for choice in three["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in three["choices"]} == {PARIS}
    assert three["usage"]["prompt_tokens"] == one["prompt_tokens"]
    assert three["usage"]["completion_tokens"] == 3 * one["completion_tokens"]
    events = stream(anna, n=3)
    assert [text_of(events, index) for index in range(3)] == [PARIS] * 3
    reasons = [c["finish_reason"] for e in events[:-1] for c in e["choices"] if c["finish_reason"]]
    assert reasons == ["stop"] * 3


def test_logprobs_of_each_token_and_its_rivals(anna: Person) -> None:
    content = ask(anna, "France", logprobs=True, top_logprobs=2, max_tokens=3)["choices"][0]["logprobs"]["content"]
    assert [token["token"] for token in content] == list("The")
    assert all(token["logprob"] <= 0 and len(token["top_logprobs"]) == 2 for token in content)
    assert bytes(byte for token in content for byte in token["bytes"]) == b"The"
    content = ask(anna, "France", logprobs=True, max_tokens=1)["choices"][0]["logprobs"]["content"]
    assert content[0]["top_logprobs"] == []
    events = stream(anna, "France", logprobs=True, top_logprobs=0, max_tokens=3)
    tokens = [t["token"] for e in events[:-1] for c in e["choices"] if c["logprobs"] for t in c["logprobs"]["content"]]
    assert tokens == list("The")


def test_a_prompt_that_is_too_long_is_refused_in_the_words_that_clients_look_for(anna: Person) -> None:
    body = {"model": "parrot", "messages": [{"role": "user", "content": "word " * 2000}]}
    for extra in ({}, {"stream": True}):
        with anna.client() as client:
            response = client.post(CHAT, json=body | extra)
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["code"] == "context_length_exceeded"
        assert error["type"] == "invalid_request_error"
        assert "maximum context length is 4096 tokens" in error["message"]
        assert (error["n_ctx"], error["n_prompt_tokens"] > 10_000) == (4096, True)
        assert error["param"] == "messages"


@pytest.mark.parametrize(("route", "param", "words"), [
    (CHAT, "messages", "your messages have"), ("/v1/completions", "prompt", "your prompt has"),
])
def test_what_fills_the_window_leaves_no_room_for_an_answer_and_is_told_so(
    anna: Person, route: str, param: str, words: str
) -> None:
    def send(num_letters: int) -> Any:
        text = "x" * num_letters
        asked = {param: text if param == "prompt" else [{"role": "user", "content": text}]}
        with anna.client() as client:
            return client.post(route, json={"model": "parrot", "max_tokens": 5, **asked}).json()

    others = send(5000)["error"]["n_prompt_tokens"] - 5000
    assert send(4095 - others)["usage"]["completion_tokens"] == 1
    error = send(4096 - others)["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", param)
    assert f"{words} 4096 tokens, and the answer needs at least one more. Shorten the {param}," in error["message"]


def test_an_unknown_model_is_404_and_the_known_ones_are_named(anna: Person) -> None:
    with anna.client() as client:
        response = client.post(CHAT, json={"model": "gpt-9", "messages": [{"role": "user", "content": "Hi"}]})
    assert response.status_code == 404
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert "parrot" in error["message"]


def test_a_model_that_breaks_in_mid_stream_ends_with_an_error_event_and_the_process_lives(
    house: House, anna: Person
) -> None:
    from engine.backends.scripted import ScriptedBackend

    house.do(house.shelf.put(house.services, "glass", lambda: ScriptedBackend(COUNTING, fail_at_step=5)))
    events = stream(anna, "count", model="glass")
    assert events[-1] != "[DONE]"
    assert events[-1]["error"]["code"] == "engine_failed"
    with anna.client() as client:
        body = {"model": "glass", "messages": [{"role": "user", "content": "Hi"}]}
        response = client.post(CHAT, json=body)
        assert response.status_code == 503          # failed a moment ago: not tried again by each request
        assert int(response.headers["retry-after"]) > 0
        assert response.json()["error"]["type"] == "unavailable_error"
    assert ask(anna)["choices"][0]["message"]["content"] == PARIS


def test_a_system_prompt_of_ones_own_reaches_the_model_as_it_is(anna: Person) -> None:
    messages = [
        {"role": "developer", "content": "Always count."},
        {"role": "user", "content": [{"type": "text", "text": "Go"}]},
    ]
    with anna.client() as client:
        response = client.post(CHAT, json={"model": "parrot", "messages": messages, "max_tokens": 5})
    assert response.json()["choices"][0]["message"]["content"] == COUNTING[:5]
