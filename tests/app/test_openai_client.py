"""The official `openai` package against the running server: what it is used for most, and how it maps our errors."""

from __future__ import annotations

import json

import openai
import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall as FunctionCall
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionNamedToolChoiceParam, ChatCompletionToolParam

from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import HERMES_TEMPLATE, ByteTokenizer
from tests.app.conftest import COUNTING, FAMILY, PARIS
from tests.app.house import House, Person

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture
def client(anna: Person) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{anna.url}/v1", api_key=anna.key, max_retries=0)


def test_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="parrot", messages=QUESTION)
    assert answer.choices[0].message.content == PARIS
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="parrot", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == PARIS
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_the_stream_helper_puts_the_same_answer_together(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="parrot", messages=QUESTION) as stream:
        stream.until_done()
        assert stream.get_final_completion().choices[0].message.content == PARIS


async def test_async_chat_and_stream(anna: Person) -> None:
    async with openai.AsyncOpenAI(base_url=f"{anna.url}/v1", api_key=anna.key, max_retries=0) as client:
        answer = await client.chat.completions.create(model="parrot", messages=QUESTION)
        assert answer.choices[0].message.content == PARIS
        stream = await client.chat.completions.create(model="parrot", messages=QUESTION, stream=True)
        assert "".join([c.choices[0].delta.content or "" async for c in stream]) == PARIS


def test_completions(client: openai.OpenAI) -> None:
    whole = client.completions.create(model="parrot", prompt="Let us count:", max_tokens=9)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (COUNTING[:9], "length")
    pieces = client.completions.create(model="parrot", prompt="Let us count:", max_tokens=9, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == COUNTING[:9]


def test_completions_are_16_tokens_long_unless_told_otherwise_and_several_prompts_are_answered_in_order(
    client: openai.OpenAI,
) -> None:
    answers = client.completions.create(model="parrot", prompt=["count", "France"], n=2, logprobs=1)
    assert [choice.text for choice in answers.choices] == [COUNTING[:16]] * 2 + [PARIS[:16]] * 2
    logprobs = answers.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens == list(COUNTING[:16])
    assert logprobs.text_offset == list(range(16))
    assert answers.usage is not None
    assert answers.usage.completion_tokens == 64


def test_a_tokens_place_in_a_completion_is_counted_in_characters_of_its_text(client: openai.OpenAI) -> None:
    """Each token here is a byte: those of one character begin where it begins, and count as one."""
    places = [place for place, char in enumerate(FAMILY) for _ in char.encode()]
    length = len(places)
    [whole] = client.completions.create(model="parrot", prompt="family", max_tokens=length, logprobs=1).choices
    assert whole.logprobs is not None
    assert (whole.text, whole.logprobs.text_offset) == (FAMILY, places)
    pieces = [
        piece.choices[0].logprobs
        for piece in client.completions.create(
            model="parrot", prompt="family", max_tokens=length, logprobs=1, stream=True
        )
    ]
    assert [place for piece in pieces if piece is not None for place in piece.text_offset or []] == places


WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
TWO_CALLS = "".join(
    f'<tool_call>{{"name": "get_weather", "arguments": {{"city": "{city}"}}}}</tool_call>' for city in ("Paris", "東京")
)


@pytest.fixture(scope="module")
def helper(house: House) -> str:
    tokenizer = ByteTokenizer(chat_template=HERMES_TEMPLATE)
    replies = {"18 degrees": "Warm.", "": TWO_CALLS}
    house.do(house.shelf.put(house.services, "caller", lambda: ScriptedBackend(replies, tokenizer=tokenizer)))
    return "caller"


def test_tools_are_called_and_their_answers_heard(client: openai.OpenAI, helper: str) -> None:
    answer = client.chat.completions.create(model=helper, messages=QUESTION, tools=[WEATHER])
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    calls = [call for call in choice.message.tool_calls or [] if isinstance(call, FunctionCall)]
    assert [call.function.arguments for call in calls] == ['{"city": "Paris"}', '{"city": "東京"}']
    told: list[ChatCompletionMessageParam] = [
        {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"} for call in calls
    ]
    heard: list[ChatCompletionMessageParam] = [
        *QUESTION,
        choice.message.to_dict(),      # type: ignore[list-item]
        *told,
    ]
    warm = client.chat.completions.create(model=helper, messages=heard, tools=[WEATHER])
    assert warm.choices[0].message.content == "Warm."


def test_the_stream_helper_puts_calls_together(client: openai.OpenAI, helper: str) -> None:
    with client.chat.completions.stream(model=helper, messages=QUESTION, tools=[WEATHER]) as stream:
        stream.until_done()
        message = stream.get_final_completion().choices[0].message
    assert [call.function.name for call in message.tool_calls or []] == ["get_weather"] * 2
    assert [call.function.arguments for call in message.tool_calls or []] == ['{"city": "Paris"}', '{"city": "東京"}']


def test_tools_that_must_be_called_are(client: openai.OpenAI, helper: str) -> None:
    heard: list[ChatCompletionMessageParam] = [{"role": "user", "content": "18 degrees"}]      # it would say Warm.
    time: ChatCompletionToolParam = {"type": "function", "function": {"name": "get_time"}}
    named: ChatCompletionNamedToolChoiceParam = {"type": "function", "function": {"name": "get_time"}}
    offers = client.chat.completions.create
    for answer in (
        offers(model=helper, messages=heard, tools=[time], tool_choice="required"),
        offers(model=helper, messages=heard, tools=[WEATHER, time], tool_choice=named),
    ):
        choice = answer.choices[0]
        [call] = choice.message.tool_calls or []
        assert isinstance(call, FunctionCall)
        assert (call.function.name, json.loads(call.function.arguments)) == ("get_time", {})
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)


def test_models(client: openai.OpenAI) -> None:
    assert "parrot" in [model.id for model in client.models.list()]
    assert client.models.retrieve("parrot").id == "parrot"


def test_errors_arrive_as_the_clients_own(anna: Person, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="parrot") as not_found:
        client.chat.completions.create(model="gpt-9", messages=QUESTION)
    assert not_found.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="parrot", messages=QUESTION, temperature=-1)
    assert bad.value.param == "temperature"
    with pytest.raises(openai.BadRequestError, match="maximum context length is") as too_long:
        client.chat.completions.create(model="parrot", messages=[{"role": "user", "content": "word " * 2000}])
    assert too_long.value.code == "context_length_exceeded"
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=f"{anna.url}/v1", api_key="sk-wrong", max_retries=0).models.list()
