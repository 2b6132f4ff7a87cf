"""The engine around a model that embeds: requests in, vectors out, and what becomes of those that are given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
import pytest
import pytest_asyncio

from engine.backends.embedder import Embedder, EmbedderInfo
from engine.embedding import EmbeddingEngine
from engine.engine import ChatRequest, EngineInfo
from engine.errors import ContextLengthExceeded, EngineFailed, InvalidRequest, ModelLoadError, QueueFull
from engine.params import SamplingParams
from engine.told import Told
from tests.engine.scripted_embedder import PATIENCE_S, ScriptedEmbedder

Start = Callable[..., Awaitable[tuple[EmbeddingEngine, ScriptedEmbedder]]]


def describe(info: EmbedderInfo) -> EngineInfo:
    return EngineInfo(
        model_id="vectors", name="Vectors", version="1", backend="scripted 1", device="cpu", quantisation="",
        max_model_len=info.max_model_len, max_num_seqs=info.max_num_inputs, has_chat_template=False,
        embedding_width=info.width,
    )


@pytest_asyncio.fixture
async def start() -> AsyncIterator[Start]:
    made: list[tuple[EmbeddingEngine, ScriptedEmbedder]] = []

    async def start_engine(*, is_held: bool = False, max_queue: int = 8) -> tuple[EmbeddingEngine, ScriptedEmbedder]:
        embedder = ScriptedEmbedder(is_held=is_held)
        engine = await EmbeddingEngine.start("vectors", lambda: embedder, describe, max_queue=max_queue)
        made.append((engine, embedder))
        return made[-1]

    yield start_engine
    for engine, embedder in made:
        embedder.open()
        await engine.close()
        assert embedder.is_closed


async def until_step(embedder: ScriptedEmbedder) -> None:
    assert await asyncio.to_thread(embedder.entered.acquire, timeout=PATIENCE_S)


async def turn() -> None:
    await asyncio.sleep(0)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await turn()


async def test_each_input_has_its_vector_of_length_one_in_its_place(start: Start) -> None:
    engine, embedder = await start()
    inputs = ["a" * length for length in (3, 9, 1, 2, 20, 45, 7)]
    embeddings = await engine.embed(inputs)
    plain = np.array([[len(text), ord("a"), 0] for text in inputs])
    assert np.allclose(embeddings.vectors, plain / np.linalg.norm(plain, axis=1, keepdims=True))
    assert embeddings.num_tokens == sum(map(len, inputs))
    assert embedder.steps == [[3, 9, 1, 2], [20], [45], [7]]
    metrics = engine.metrics()
    assert (metrics.num_running, metrics.num_waiting) == (0, 0)
    assert (metrics.prompt_tokens_total, metrics.steps_total, metrics.requests_total) == (87, 4, {"stop": 1})


async def test_token_ids_are_taken_as_they_are(start: Start) -> None:
    engine, _ = await start()
    assert np.array_equal((await engine.embed([[97, 98]])).vectors, (await engine.embed(["ab"])).vectors)


async def test_fewer_dimensions_are_the_first_ones_of_length_one_again(start: Start) -> None:
    engine, _ = await start()
    assert (await engine.embed(["aa"], dimensions=1)).vectors.tolist() == [[1.0]]
    assert (await engine.embed(["aa"], dimensions=3)).vectors.shape == (1, 3)
    for wrong in (0, 4):
        with pytest.raises(InvalidRequest, match="dimensions must be 1 to 3") as refused:
            await engine.embed(["aa"], dimensions=wrong)
        assert refused.value.param == "dimensions"


@pytest.mark.parametrize("inputs, param, words", [
    ([], "input", "There is no input"),
    (["a", ""], "input[1]", "is empty"),
    ([[1], []], "input[1]", "is empty"),
    (["a", "a" * 50, "a" * 51], "input[2]", r"maximum context length is 50 tokens\. However, input\[2\] has 51 tokens"),
    ([[97] * 51], "input[0]", "maximum context length is 50"),
    ([[97, -1]], "input[0]", "unknown token: ids of this model are 0 to"),
    ([[10**40]], "input[0]", "unknown token"),
])
async def test_what_cannot_be_embedded_is_refused_by_its_place(
    start: Start, inputs: list[str | list[int]], param: str, words: str
) -> None:
    engine, embedder = await start()
    with pytest.raises(InvalidRequest, match=words) as refused:
        await engine.embed(inputs)
    assert refused.value.param == param
    assert isinstance(refused.value, ContextLengthExceeded) == ("maximum" in words)
    assert embedder.steps == []


async def test_it_cannot_write_and_says_where_to_go(start: Start) -> None:
    engine, _ = await start()
    chat = ChatRequest(messages=(), params=SamplingParams())
    for ask in (engine.chat, lambda _: engine.complete("Hi", SamplingParams())):
        with pytest.raises(InvalidRequest, match=r"cannot write\. Send it texts at /v1/embeddings, or choose"):
            ask(chat)
    with pytest.raises(InvalidRequest, match="cannot write"):
        await engine.count_tokens(chat)


async def test_a_cancelled_request_leaves_the_queue_at_once_and_the_others_go_on(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    given_up = asyncio.create_task(engine.embed(["a" * 20] * 100, user="anna"))
    await until_step(embedder)
    waiting = asyncio.create_task(engine.embed(["b" * 20] * 2, user="anna"))
    await until(lambda: len(engine._vectors) == 2)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    embedder.open()
    assert (await waiting).vectors.shape == (2, 3)
    assert embedder.steps == [[20]] * 3                 # one that had begun, and those of the other request
    metrics = engine.metrics()
    assert (metrics.num_running, metrics.num_waiting) == (0, 0)
    assert metrics.requests_total == {"abort": 1, "stop": 1}


async def test_a_step_that_nobody_wants_any_more_is_given_up(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    given_up = asyncio.create_task(engine.embed(["a"]))
    await until_step(embedder)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    embedder.open()
    await until(lambda: engine.metrics().steps_total == 1)
    assert engine.metrics().prompt_tokens_total == 0
    assert engine.metrics().num_running == 0
    assert (await engine.embed(["b"])).num_tokens == 1


async def test_users_take_turns(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    busy = asyncio.create_task(engine.embed(["a" * 20] * 50, user="busy"))
    await until_step(embedder)
    other = asyncio.create_task(engine.embed(["b" * 19], user="other"))
    await until(lambda: len(engine._vectors) == 2)
    embedder.open()
    await other
    assert embedder.steps.index([19]) == 1
    assert (await busy).num_tokens == 1000


async def test_a_full_queue_says_when_to_come_back(start: Start) -> None:
    engine, embedder = await start(is_held=True, max_queue=2)
    inside = [asyncio.create_task(engine.embed(["a"])) for _ in range(2)]
    await until(lambda: len(engine._vectors) == 2)
    with pytest.raises(QueueFull, match="2 requests are waiting for vectors already") as refused:
        await engine.embed(["a"])
    assert refused.value.retry_after_s >= 1
    embedder.open()
    assert [(await each).num_tokens for each in inside] == [1, 1]
    assert (await engine.embed(["a"])).num_tokens == 1


async def test_a_text_without_numbers_fails_its_request_alone(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    bad = asyncio.create_task(engine.embed(["a", "!", "b", "!"]))
    await until_step(embedder)
    good = asyncio.create_task(engine.embed(["a"]))
    embedder.open()
    with pytest.raises(InvalidRequest, match=r"computed no numbers for input\[1\]"):
        await bad
    assert (await good).num_tokens == 1
    assert engine.metrics().requests_total == {"error": 1, "stop": 1}


async def test_a_step_that_raises_ends_the_engine_and_all_its_requests(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    first = asyncio.create_task(engine.embed(["b"]))
    await until_step(embedder)
    asked = [asyncio.create_task(engine.embed(texts)) for texts in (["*"], ["a" * 20] * 50)]
    await until(lambda: len(engine._vectors) == 3)
    embedder.open()
    assert (await first).num_tokens == 1
    for each in asked:
        with pytest.raises(EngineFailed, match=r"vectors stopped: The numbers ran out\. Load it again"):
            await each
    with pytest.raises(EngineFailed, match="The numbers ran out"):
        await engine.embed(["a"])
    assert embedder.is_closed
    assert engine.metrics().requests_total == {"stop": 1, "error": 2}


async def test_closing_ends_what_is_open(start: Start) -> None:
    engine, embedder = await start(is_held=True)
    asked = asyncio.create_task(engine.embed(["a" * 20] * 100))
    await until_step(embedder)
    closing = asyncio.create_task(engine.close())
    await until(lambda: engine._refusal is not None)
    embedder.open()
    await closing
    with pytest.raises(EngineFailed, match="was unloaded, or Inglenook ended, before the answer was complete"):
        await asked
    assert embedder.steps == [[20]]
    with pytest.raises(EngineFailed, match="has been unloaded"):
        await engine.embed(["a"])
    await engine.close()


async def test_what_making_the_model_raises_is_raised_at_the_start() -> None:
    def refuse() -> Embedder:
        raise ModelLoadError(Told("trial-failed", detail="The file is bad. Get it again."))

    with pytest.raises(ModelLoadError, match="The file is bad"):
        await EmbeddingEngine.start("vectors", refuse, describe, max_queue=1)
