"""An engine whose model is elsewhere, against a real server on this machine that does right, and all sorts of wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import pytest_asyncio

from engine import grammar
from engine.engine import ChatMessage, ChatRequest, Delta, EngineInfo
from engine.errors import (
    ContextLengthExceeded,
    EndpointBusy,
    EndpointError,
    EngineFailed,
    InvalidRequest,
)
from engine.params import SamplingParams
from engine.remote.endpoint import Address, Endpoint, ServerKind
from engine.remote.engine import RemoteEngine
from engine.remote.wire import Patience, Wire
from engine.request import FinishReason
from tests.engine.upstream import KEY, WORDS, Upstream

HURRY = Patience(connect_s=2.0, first_s=0.4, idle_s=0.4, short_s=2.0)
INFO = EngineInfo(
    model_id="big", name="Big", version="big", backend="vLLM", device="elsewhere", quantisation="", max_model_len=4096,
    max_num_seqs=8, has_chat_template=True, is_elsewhere=True,
)
TOOL = {"type": "function", "function": {"name": "weather", "description": "", "parameters": {"type": "object"}}}


@dataclass
class Far:
    """An engine over some servers, and what became of what they were asked."""

    upstreams: list[Upstream]
    wire: Wire
    kind: ServerKind = ServerKind.VLLM
    has_tokenizer: bool = False
    is_on: bool = True
    outcomes: list[tuple[str, EndpointError | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = RemoteEngine(
            INFO, self.wire, self.endpoints, lambda each, error, _: self.outcomes.append((each.address.name, error))
        )

    async def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                connection_id=f"c{index}", kind=self.kind, remote_id="big", has_tokenizer=self.has_tokenizer,
                address=Address(name=f"Server {index}", base_url=each.url, key=KEY, headers={"X-Team": "kitchen"}),
            )
            for index, each in enumerate(self.upstreams) if self.is_on
        ]


@pytest.fixture
def second() -> Iterator[Upstream]:
    server = Upstream(words="The second one.")
    yield server
    server.close()


@pytest_asyncio.fixture
async def wire() -> AsyncIterator[Wire]:
    opened = Wire(HURRY)
    yield opened
    await opened.close()


@pytest.fixture
def far(upstream: Upstream, wire: Wire) -> Far:
    return Far([upstream], wire)


def ask(text: str = "Hello", session: str = "", params: SamplingParams | None = None) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(role="user", content=text),), params=params or SamplingParams(), session=session
    )


async def all_of(engine: RemoteEngine, request: ChatRequest | None = None) -> list[Delta]:
    return [delta async for delta in engine.chat(request or ask())]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_an_answer_comes_as_it_is_written_with_how_it_ended(far: Far, upstream: Upstream) -> None:
    upstream.thinks = "Hm."
    deltas = await all_of(far.engine)
    assert text_of(deltas) == WORDS and "".join(each.reasoning for each in deltas) == "Hm."
    last = deltas[-1]
    assert last.finish_reason is FinishReason.STOP and last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.cached_tokens) == (11, 4, 4)
    assert [each.connection for each in deltas if each.connection] == ["Server 0"]
    assert far.engine.metrics().requests_total == {"stop": 1} and far.engine.metrics().num_running == 0


async def test_a_thought_that_a_server_leaves_in_the_text_is_told_apart(far: Far, upstream: Upstream) -> None:
    upstream.words = "<think> Hm, let me see. </think> \n\nParis <think> is text by now."
    deltas = await all_of(far.engine)
    assert text_of(deltas) == "Paris <think> is text by now."
    assert "".join(each.reasoning for each in deltas) == "Hm, let me see."
    raw = [delta async for delta in far.engine.complete("Once", SamplingParams())]
    assert text_of(raw) == upstream.words


async def test_it_is_asked_in_the_words_that_it_knows(far: Far, upstream: Upstream) -> None:
    params = SamplingParams(temperature=0.2, top_k=7, repetition_penalty=1.1, max_tokens=9, stop=("X",), seed=3)
    await all_of(far.engine, ask(params=params))
    far.kind = ServerKind.LLAMA_CPP
    await all_of(far.engine, ask(params=params))
    far.kind = ServerKind.OLLAMA
    await all_of(far.engine, ask(params=params))
    vllm, llama, ollama = [each.body for each in upstream.chats()]
    assert vllm["top_k"] == 7 and vllm["repetition_penalty"] == 1.1 and vllm["max_tokens"] == 9
    assert llama["repeat_penalty"] == 1.1 and "repetition_penalty" not in llama
    assert "top_k" not in ollama and ollama["stop"] == ["X"] and ollama["seed"] == 3
    headers = upstream.chats()[0].headers
    assert headers["authorization"] == f"Bearer {KEY}" and headers["x-team"] == "kitchen"


async def test_a_conversation_has_a_value_of_its_own_that_tells_nothing(far: Far, upstream: Upstream) -> None:
    for session in ("one", "one", "two", ""):
        await all_of(far.engine, ask(session=session))
    values = [each.headers.get("x-session-id") for each in upstream.chats()]
    assert values[0] == values[1] != values[2] and values[3] is None
    assert values[0] and "one" not in values[0] and len(values[0]) == 32


@pytest.mark.parametrize("fault", [
    "broken", "gone", "redirect", "garbage", "no json", "null", "list", "deep", "no utf-8", "half a character", "nan",
    "huge line", "empty", "empty done", "page", "packed", "slow", "silent",
])
async def test_what_goes_wrong_before_the_first_word_is_told_and_another_stands_in(
    fault: str, upstream: Upstream, second: Upstream, wire: Wire
) -> None:
    upstream.fault = fault
    alone = Far([upstream], wire)
    with pytest.raises(EndpointError) as caught:
        await all_of(alone.engine)
    assert str(caught.value).startswith("Server 0 ") and KEY not in str(caught.value)
    both = Far([upstream, second], wire)
    deltas = await all_of(both.engine)
    assert text_of(deltas) == "The second one." and deltas[0].connection == "Server 1"
    assert [(name, error is None) for name, error in both.outcomes] == [("Server 0", False), ("Server 1", True)]
    num_asked = len(upstream.chats())
    await all_of(both.engine)       # who failed lately comes last
    assert len(upstream.chats()) == num_asked


@pytest.mark.parametrize("fault", ["pings", "no deltas"])
async def test_one_that_only_keeps_its_line_open_is_given_up_and_another_stands_in(
    fault: str, upstream: Upstream, second: Upstream
) -> None:
    upstream.fault = fault
    wire = Wire(replace(HURRY, idle_s=60.0, first_s=60.0, words_s=1.0))
    try:
        with pytest.raises(EndpointError, match="Server 0 took the question and sent no word of an answer for 1 s"):
            await all_of(Far([upstream], wire).engine)
        both = Far([upstream, second], wire)
        assert text_of(await all_of(both.engine)) == "The second one."
        assert [(name, error is None) for name, error in both.outcomes] == [("Server 0", False), ("Server 1", True)]
        assert await asyncio.to_thread(upstream.gone.wait, 10)      # it is let go of, and can stop
    finally:
        await wire.close()


@pytest.mark.parametrize("fault", ["cut", "ends early", "error event", "endless"])
async def test_what_breaks_off_later_is_told_and_nobody_else_goes_on(
    fault: str, upstream: Upstream, second: Upstream, wire: Wire
) -> None:
    upstream.fault = fault
    far = Far([upstream, second], wire)
    got: list[Delta] = []
    with pytest.raises(EndpointError):
        async for delta in far.engine.chat(ask()):
            got.append(delta)
    assert text_of(got).startswith("The answer") and not second.chats()


async def test_one_that_has_too_much_to_do_says_how_long_to_wait(far: Far, upstream: Upstream) -> None:
    told = (("busy", "7", 7), ("loading", "soon", 5), ("busy", "999999", 3600), ("busy", "9" * 5000, 5))
    for fault, given, seconds in told:
        upstream.fault, upstream.retry_after = fault, given
        with pytest.raises(EndpointBusy) as caught:
            await all_of(far.engine)
        assert caught.value.retry_after_s == seconds


async def test_nobody_there(far: Far, upstream: Upstream) -> None:
    upstream.close()
    with pytest.raises(EndpointError, match="cannot be reached at 127"):
        await all_of(far.engine)


async def test_a_key_that_is_not_taken_is_never_repeated(far: Far, upstream: Upstream, wire: Wire) -> None:
    upstream.wants_key = True
    address = Address(name="Office", base_url=upstream.url, key="sk-another-key")
    with pytest.raises(EndpointError, match="does not take the key") as caught:
        await wire.json(address, "GET", f"{upstream.url}/models")
    assert "sk-another-key" not in str(caught.value) and "sk-another-key" not in repr(address)


async def test_a_header_is_sent_once_in_whatever_case_it_was_entered(upstream: Upstream, wire: Wire) -> None:
    address = Address(
        name="Office", base_url=upstream.url, headers={"user-agent": "kitchen", "X-Team": "one", "x-team": "two"}
    )
    await wire.json(address, "GET", f"{upstream.url}/models")
    names = [name.lower() for name in upstream.asked[-1].headers]
    assert names.count("user-agent") == names.count("x-team") == 1
    assert upstream.asked[-1].headers["user-agent"] == "kitchen"


async def test_a_request_that_is_wrong_is_wrong_everywhere(upstream: Upstream, second: Upstream, wire: Wire) -> None:
    far = Far([upstream, second], wire)
    upstream.fault = "wrong"
    with pytest.raises(InvalidRequest, match="Field required"):
        await all_of(far.engine)
    upstream.fault = "too long"
    with pytest.raises(ContextLengthExceeded) as caught:
        await all_of(far.engine)
    assert (caught.value.num_prompt_tokens, caught.value.max_model_len, caught.value.param) == (5000, 4096, "messages")
    with pytest.raises(ContextLengthExceeded, match="your prompt has 5000 tokens"):
        async for _ in far.engine.complete("x", SamplingParams()):
            pass
    assert not second.chats()


async def test_a_server_that_does_not_stream_answers_all_the_same(far: Far, upstream: Upstream) -> None:
    upstream.fault = "whole"
    deltas = await all_of(far.engine)
    assert text_of(deltas) == WORDS and deltas[-1].usage is not None and deltas[-1].usage.completion_tokens == 5


async def test_parameters_that_it_refuses_are_left_out_from_then_on(far: Far, upstream: Upstream) -> None:
    upstream.refuses = ("min_p", "stream_options")
    for _ in range(2):
        assert text_of(await all_of(far.engine, ask(params=SamplingParams(min_p=0.1, top_k=3)))) == WORDS
    assert len(upstream.chats()) == 4       # three to find out, one that knows
    assert "min_p" not in upstream.chats()[-1].body and upstream.chats()[-1].body["top_k"] == 3


async def test_a_server_may_refuse_all_of_them_one_by_one(far: Far, upstream: Upstream) -> None:
    upstream.refuses = (
        "max_tokens", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty",
        "frequency_penalty", "seed", "stream_options",
    )
    params = SamplingParams(
        max_tokens=5, temperature=0.5, top_p=0.9, top_k=7, min_p=0.1, repetition_penalty=1.1, presence_penalty=0.1,
        frequency_penalty=0.1, seed=3,
    )
    assert text_of(await all_of(far.engine, ask(params=params))) == WORDS
    assert set(upstream.chats()[-1].body) == {"model", "stream", "messages", "max_completion_tokens"}
    upstream.refuses = ("messages",)
    with pytest.raises(InvalidRequest, match="Unsupported parameter"):
        await all_of(far.engine, ask(params=params))


async def test_letting_go_of_an_answer_ends_it_there(far: Far, upstream: Upstream) -> None:
    upstream.fault = "held"
    async with aclosing(far.engine.chat(ask())) as deltas:
        assert (await anext(deltas)).text == "The"
    assert await asyncio.to_thread(upstream.gone.wait, 10)
    assert far.engine.metrics().num_running == 0


async def test_closing_the_engine_ends_its_answers(far: Far, upstream: Upstream) -> None:
    upstream.fault = "held"
    deltas = far.engine.chat(ask())
    await anext(deltas)
    waiting = asyncio.ensure_future(anext(deltas))
    await asyncio.sleep(0)
    await far.engine.close()
    with pytest.raises(EngineFailed):
        await waiting
    with pytest.raises(EngineFailed):
        await all_of(far.engine)
    assert await asyncio.to_thread(upstream.gone.wait, 10)


async def test_what_is_switched_off_is_asked_no_more(far: Far, upstream: Upstream) -> None:
    far.is_on = False
    with pytest.raises(EndpointError, match="No connection leads to Big"):
        await all_of(far.engine)
    assert not upstream.asked


async def test_what_is_switched_off_while_it_writes_is_read_no_further(
    far: Far, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.remote.engine.LOOKS_AGAIN_S", 0.0)
    upstream.fault = "held"
    async with aclosing(far.engine.chat(ask())) as deltas:
        await anext(deltas)
        far.is_on = False
        upstream.released.set()
        with pytest.raises(EngineFailed, match="Server 0 was switched off meanwhile"):
            async for _ in deltas:
                pass


async def test_tools_are_tried_before_they_are_relied_on(far: Far, upstream: Upstream) -> None:
    asked = replace(ask(), tools=(TOOL,))
    for _ in range(2):
        deltas = await all_of(far.engine, asked)
        calls = [call for delta in deltas for call in delta.tool_calls]
        assert [(call.id, call.name) for call in calls] == [("call_7", "weather"), ("", ""), ("", "")]
        assert json.loads("".join(call.arguments for call in calls)) == {"town": "Oslo"}
        assert deltas[-1].finish_reason is FinishReason.TOOL_CALLS
    assert len(upstream.chats()) == 3
    upstream.calls_tools = False
    with pytest.raises(InvalidRequest, match="does not support tools"):
        await all_of(Far([upstream], far.wire).engine, asked)


async def test_a_form_is_asked_for_only_where_it_binds(far: Far, upstream: Upstream) -> None:
    schema = {"type": "object", "properties": {"town": {"type": "string"}}}
    asked = ask(params=SamplingParams(grammar=grammar.json_schema(schema)))
    assert text_of(await all_of(far.engine, asked)) == WORDS
    sent = upstream.chats()[-1].body["response_format"]["json_schema"]["schema"]
    assert sent == schema
    with pytest.raises(InvalidRequest, match="does not take"):
        await all_of(far.engine, ask(params=SamplingParams(grammar=grammar.choice(["a", "b"], "choice"))))
    upstream.keeps_forms = False
    with pytest.raises(InvalidRequest, match="did not keep to a form"):
        await all_of(Far([upstream], far.wire).engine, asked)


async def test_an_answer_is_gone_on_with_only_where_the_server_can(far: Far, upstream: Upstream) -> None:
    begun = ChatMessage(role="assistant", content="The ans")
    asked = replace(ask(), messages=(*ask().messages, begun), continue_final_message=True, add_generation_prompt=False)
    await all_of(far.engine, asked)
    assert upstream.chats()[-1].body["continue_final_message"] is True
    far.kind = ServerKind.ANY
    with pytest.raises(InvalidRequest, match="cannot go on"):
        await all_of(far.engine, asked)


async def test_tokens_are_guessed_until_it_gets_narrow(far: Far, upstream: Upstream) -> None:
    upstream.routes["/tokenize"] = {"count": 3210, "max_model_len": 4096, "tokens": []}
    far.has_tokenizer = True
    assert 100 <= await far.engine.count_tokens(ask("word " * 100)) < 300
    assert not upstream.asked               # nothing leaves for a guess
    assert await far.engine.count_tokens(ask("word " * 2000)) == 3210


async def test_raw_text_is_continued(far: Far, upstream: Upstream) -> None:
    deltas = [delta async for delta in far.engine.complete("Once", SamplingParams(max_tokens=5))]
    assert text_of(deltas) == WORDS and upstream.asked[-1].body["prompt"] == "Once"


@pytest.mark.parametrize("encode", [
    lambda vector: vector.tolist(),
    lambda vector: __import__("base64").b64encode(vector.astype("<f4").tobytes()).decode(),
])
async def test_vectors_in_either_form_have_length_1(
    encode: Callable[[np.ndarray], object], far: Far, upstream: Upstream
) -> None:
    rows = [{"embedding": encode(np.array(each, dtype=np.float32))} for each in ([3.0, 4.0], [0.0, 2.0])]
    upstream.routes["/v1/embeddings"] = {"data": rows, "usage": {"prompt_tokens": 6}}
    embeddings = await far.engine.embed(["a", "b"])
    assert np.allclose(embeddings.vectors, [[0.6, 0.8], [0.0, 1.0]]) and embeddings.num_tokens == 6


async def test_vectors_come_in_the_order_of_their_texts(far: Far, upstream: Upstream) -> None:
    rows = [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]
    upstream.routes["/v1/embeddings"] = {"data": rows}
    assert (await far.engine.embed(["a", "b"])).vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    for row in rows:
        row["index"] = 0                # which says nothing
    assert (await far.engine.embed(["a", "b"])).vectors.tolist() == [[0.0, 1.0], [1.0, 0.0]]


async def test_closing_the_engine_ends_embeddings_that_are_waited_for(far: Far, upstream: Upstream) -> None:
    upstream.holds = "/v1/embeddings"
    waiting = asyncio.ensure_future(far.engine.embed(["a"]))
    assert await asyncio.to_thread(upstream.arrived.wait, 10)
    await asyncio.wait_for(far.engine.close(), 10)
    with pytest.raises(EngineFailed, match="unloaded"):
        await asyncio.wait_for(waiting, 10)


@pytest.mark.parametrize("answer", [
    {}, [], {"data": 3}, {"data": [{"embedding": [1.0]}]}, {"data": [{"embedding": []}, {"embedding": []}]},
    {"data": [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}]}, {"data": [{"embedding": "?"}, {"embedding": "?"}]},
    {"data": [{"embedding": ["a"]}, {"embedding": [None]}]}, {"data": [{"embedding": [10**400]}] * 2},
])
async def test_odd_vectors_are_refused(answer: object, far: Far, upstream: Upstream) -> None:
    upstream.routes["/v1/embeddings"] = answer
    with pytest.raises(EndpointError):
        await far.engine.embed(["a", "b"])
