"""Answers in a form that was asked for, through the API: every spelling, the official client, and what is refused."""

from __future__ import annotations

import json
import time
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from engine.backends.scripted import ScriptedBackend
from tests.app.house import House, Person

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
COLOUR: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


class Invoice(BaseModel):
    customer: Literal["Anna", "Ben"]
    total: int = Field(ge=0, le=999)
    paid: bool


@pytest.fixture(scope="module", autouse=True)
def clerk(house: House) -> None:
    """A model that answers as it likes, unless it is asked for a form: then it would have known it."""
    replies = {
        "invoice": '{"customer": "Ben", "total": 120, "paid": true}',
        "chatter": "Sure! Here is what you asked for.",
        "": '{"colour": "green"}',
    }
    house.do(house.shelf.put(house.services, "clerk", lambda: ScriptedBackend(replies)))


def post(person: Person, path: str = CHAT, text: str = "Which colour?", **parameters: Any) -> Any:
    asked = {"prompt": text} if path == COMPLETIONS else {"messages": [{"role": "user", "content": text}]}
    with person.client() as client:
        return client.post(path, json={"model": "clerk", "max_tokens": 200} | asked | parameters)


def answer(person: Person, path: str = CHAT, text: str = "Which colour?", **parameters: Any) -> str:
    response = post(person, path, text, **parameters)
    assert response.status_code == 200, response.text
    [choice] = response.json()["choices"]
    assert choice["finish_reason"] == "stop"
    said: str = choice["text"] if path == COMPLETIONS else choice["message"]["content"]
    return said


def response_format(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


SCHEMAS: list[dict[str, Any]] = [
    {"response_format": response_format(COLOUR)},
    {"response_format": {"type": "json_object", "schema": COLOUR}},
    {"structured_outputs": {"json": COLOUR}},
    {"structured_outputs": {"json": json.dumps(COLOUR), "regex": None, "json_object": False}},
    {"guided_json": COLOUR},
    {"json_schema": COLOUR},
]


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("parameters", SCHEMAS, ids=["-".join(each) for each in SCHEMAS])
def test_a_schema_in_every_spelling_is_kept_to(anna: Person, path: str, parameters: dict[str, Any]) -> None:
    assert json.loads(answer(anna, path, "chatter", **parameters)) in ({"colour": "red"}, {"colour": "green"})


OTHERS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"structured_outputs": {"regex": "[0-9]{3}"}}, tuple(f"{n:03}" for n in range(1000))),
    ({"guided_regex": "[0-9]{3}"}, tuple(f"{n:03}" for n in range(1000))),
    ({"structured_outputs": {"choice": ["yes", "no"]}}, ("yes", "no")),
    ({"guided_choice": ["yes", "no"]}, ("yes", "no")),
    ({"structured_outputs": {"grammar": 'start: "a" | "b"'}}, ("a", "b")),
    ({"guided_grammar": 'start: "a" | "b"'}, ("a", "b")),
    ({"grammar": 'root ::= "a" | "b"'}, ("a", "b")),
]


@pytest.mark.parametrize(("parameters", "right"), OTHERS, ids=["-".join(each) for each, _ in OTHERS])
def test_a_pattern_a_choice_and_a_grammar_are_kept_to(
    anna: Person, parameters: dict[str, Any], right: tuple[str, ...]
) -> None:
    assert answer(anna, text="chatter", **parameters) in right


def test_a_json_object_is_one(anna: Person) -> None:
    assert json.loads(answer(anna, response_format={"type": "json_object"})) == {"colour": "green"}
    assert json.loads(answer(anna, structured_outputs={"json_object": True})) == {"colour": "green"}


@pytest.mark.parametrize(
    "parameters", [{"response_format": {"type": "text"}}, {"response_format": None}, {"grammar": ""}]
)
def test_text_is_what_the_model_says(anna: Person, parameters: dict[str, Any]) -> None:
    assert answer(anna, text="chatter", **parameters) == "Sure! Here is what you asked for."


def test_a_stream_has_the_same_text(anna: Person) -> None:
    with anna.client() as client:
        body = {
            "model": "clerk",
            "messages": [{"role": "user", "content": "Which colour?"}],
            "stream": True,
            "response_format": response_format(COLOUR),
        }
        lines = [line for line in client.post(CHAT, json=body).text.splitlines() if line.startswith("data: {")]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == '{"colour": "green"}'


def test_each_of_several_answers_keeps_to_it(anna: Person) -> None:
    response = post(anna, text="chatter", n=3, response_format=response_format(COLOUR))
    texts = [choice["message"]["content"] for choice in response.json()["choices"]]
    assert [set(json.loads(text)) for text in texts] == [{"colour"}] * 3


class TestTheOfficialClient:
    @pytest.fixture
    def client(self, anna: Person) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{anna.url}/v1", api_key=anna.key, max_retries=0)

    def test_parses_into_a_model(self, client: openai.OpenAI) -> None:
        completion = client.chat.completions.parse(
            model="clerk", messages=[{"role": "user", "content": "the invoice"}], response_format=Invoice
        )
        assert completion.choices[0].message.parsed == Invoice(customer="Ben", total=120, paid=True)

    def test_parses_what_a_model_that_only_chats_was_held_to(self, client: openai.OpenAI) -> None:
        completion = client.chat.completions.parse(
            model="clerk", messages=[{"role": "user", "content": "chatter"}], response_format=Invoice
        )
        assert isinstance(completion.choices[0].message.parsed, Invoice)

    def test_hears_which_parameter_is_wrong(self, client: openai.OpenAI) -> None:
        wish: Any = response_format({"type": "string", "pattern": "(["})
        with pytest.raises(openai.BadRequestError, match="unclosed character class") as refused:
            client.chat.completions.create(
                model="clerk",
                messages=[{"role": "user", "content": "chatter"}],
                response_format=wish,
            )
        assert refused.value.param == "response_format.json_schema.schema"


LOOP = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a bad pattern", {"response_format": response_format({"type": "string", "pattern": "(["})}, "schema"),
    ("an unknown type", {"response_format": response_format({"type": "blob"})}, "schema"),
    ("not nested", {"response_format": {"type": "json_schema", "json_schema": COLOUR}}, "json_schema"),
    ("not nested at all", {"response_format": {"type": "json_schema", "schema": COLOUR}}, "json_schema"),
    ("nested twice", {"response_format": response_format({"name": "x", "schema": COLOUR})}, "schema"),
    ("no schema", {"response_format": response_format(None)}, "json_schema"),
    ("a schema that is a list", {"response_format": response_format([])}, "schema"),
    ("a loop", {"response_format": response_format(LOOP)}, "schema"),
    ("too large", {"response_format": response_format({"enum": [f"x{n:0100}" for n in range(100_000)]})}, "schema"),
    ("another type", {"response_format": {"type": "xml"}}, "response_format"),
    ("text", {"response_format": "json_object"}, "response_format"),
    ("two at once", {"response_format": {"type": "json_object"}, "guided_regex": "a"}, "guided_regex"),
    ("two in one", {"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs"),
    ("none in one", {"structured_outputs": {}}, "structured_outputs"),
    ("a tag", {"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs.structural_tag"),
    ("a list", {"structured_outputs": ["regex"]}, "structured_outputs"),
    ("a regex", {"structured_outputs": {"regex": "(["}}, "structured_outputs.regex"),
    ("a regex that is a number", {"guided_regex": 5}, "guided_regex"),
    ("an empty choice", {"guided_choice": []}, "guided_choice"),
    ("a choice of numbers", {"guided_choice": [1]}, "guided_choice"),
    ("JSON that is none", {"guided_json": "{"}, "guided_json"),
    ("a grammar", {"grammar": 'root ::= "a'}, "grammar"),
    ("space of one's own", {"guided_json": COLOUR, "guided_whitespace_pattern": " "}, "whitespace_pattern"),
]


@pytest.mark.parametrize(("name", "parameters", "param"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_kept_to_is_400_and_never_free_text(
    anna: Person, name: str, parameters: dict[str, Any], param: str
) -> None:
    response = post(anna, **parameters)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"].endswith(param)
    assert len(error["message"]) < 500


def test_a_schema_10_000_deep_is_400_in_bounded_time(anna: Person) -> None:
    deep = '{"items":' * 10_000 + "{}" + "}" * 10_000
    body = '{"model":"clerk","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema",'
    body += f'"json_schema":{{"name":"x","schema":{deep}}}}}}}'
    start_s = time.monotonic()
    with anna.client() as client:
        response = client.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert time.monotonic() - start_s < 60


def test_the_server_answers_after_all_that(anna: Person) -> None:
    assert answer(anna) == '{"colour": "green"}'
