"""POST /v1/embeddings, over a real server and a real, tiny model: shapes, the official client, odd bodies."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from engine.backends.llama_cpp.embedder import EmbedderConfig, LlamaCppEmbedder
from tests.app.house import House, Person
from tests.app.test_api_disconnect import Ask, until
from tests.app.test_api_odd_bodies import RAW_BODIES, check_error
from tests.engine.reference_embedding import embed as reference
from tests.engine.scripted_embedder import PATIENCE_S, ScriptedEmbedder
from tests.engine.tiny_bert import CONTEXT_TOKENS, EMBEDDING, HEADS, write_tiny_bert

TEXTS = ["the quick brown fox", "jumps over the lazy dog.", "a"]


@pytest.fixture(scope="module")
def bert(house: House, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the model `bert`."""
    path = write_tiny_bert(tmp_path_factory.mktemp("models") / "bert.gguf")
    config = EmbedderConfig(
        path=path, pooling="mean", max_model_len=CONTEXT_TOKENS, max_num_batched_tokens=256, bytes_per_token=1,
        num_threads=1,
    )
    house.do(house.shelf.put_embedder(house.services, "bert", lambda: LlamaCppEmbedder(config)))
    return path


@pytest.fixture
def http(anna: Person, bert: Path) -> Iterator[httpx.Client]:
    with anna.client() as client:
        yield client


def ask(http: httpx.Client, **body: Any) -> Any:
    response = http.post("/v1/embeddings", json={"model": "bert"} | body)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_answer_has_openais_shape(http: httpx.Client) -> None:
    body = ask(http, input=TEXTS)
    assert set(body) == {"object", "data", "model", "usage"}
    assert (body["object"], body["model"]) == ("list", "bert")
    assert [set(each) for each in body["data"]] == [{"object", "index", "embedding"}] * 3
    assert [(each["object"], each["index"]) for each in body["data"]] == [("embedding", index) for index in range(3)]
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] > 3 * 3
    vectors = np.array([each["embedding"] for each in body["data"]])
    assert vectors.shape == (3, EMBEDDING)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


def test_vectors_are_the_models(http: httpx.Client, bert: Path) -> None:
    token_ids = [[2, 5, 6, 7, 8, 3], [2, 12, 3]]
    body = ask(http, input=token_ids)
    for each, tokens in zip(body["data"], token_ids, strict=True):
        assert np.abs(np.array(each["embedding"]) - reference(bert, tokens, "mean", num_heads=HEADS)).max() < 2e-3
    assert body["usage"]["prompt_tokens"] == 9


def test_base64_is_the_same_numbers_as_32_bit_floats(http: httpx.Client) -> None:
    plain = ask(http, input=TEXTS)
    packed = ask(http, input=TEXTS, encoding_format="base64")
    for each, other in zip(plain["data"], packed["data"], strict=True):
        numbers = np.frombuffer(base64.b64decode(other["embedding"], validate=True), "<f4")
        assert np.array_equal(numbers, np.array(each["embedding"], np.float32))


def test_fewer_dimensions_are_cut_and_of_length_one_again(http: httpx.Client) -> None:
    whole, cut = ask(http, input="a")["data"][0], ask(http, input="a", dimensions=16)["data"][0]
    first = np.array(whole["embedding"])[:16]
    assert np.allclose(cut["embedding"], first / np.linalg.norm(first), atol=1e-6)
    assert ask(http, input="a", dimensions=EMBEDDING) == ask(http, input="a")


def test_the_official_client(anna: Person, bert: Path) -> None:
    client = openai.OpenAI(base_url=f"{anna.url}/v1", api_key=anna.key, max_retries=0)
    answer = client.embeddings.create(model="bert", input=TEXTS)         # it asks for base64, and unpacks it
    plain = client.embeddings.create(model="bert", input=TEXTS, encoding_format="float")
    assert [each.index for each in answer.data] == [0, 1, 2]
    assert [each.embedding for each in answer.data] == [
        np.array(each.embedding, np.float32).tolist() for each in plain.data
    ]
    assert answer.usage.prompt_tokens == plain.usage.total_tokens > 0
    assert len(client.embeddings.create(model="bert", input="a", dimensions=8).data[0].embedding) == 8
    assert client.embeddings.create(model="bert", input=[[5, 6], [7]]).usage.total_tokens == 3
    with pytest.raises(openai.BadRequestError, match="maximum context length is 512 tokens") as too_long:
        client.embeddings.create(model="bert", input=["a", "dog " * 600])
    assert (too_long.value.code, too_long.value.param) == ("context_length_exceeded", "input[1]")
    with pytest.raises(openai.BadRequestError, match=r"makes embeddings and cannot write.*/v1/embeddings") as no_chat:
        client.chat.completions.create(model="bert", messages=[{"role": "user", "content": "Hi"}])
    assert no_chat.value.param == "model"
    with pytest.raises(openai.BadRequestError, match="cannot write"):
        client.completions.create(model="bert", prompt="Hi", stream=True)
    with pytest.raises(openai.BadRequestError, match=r"makes no embeddings\. Choose a model made for embeddings"):
        client.embeddings.create(model="parrot", input="Hi")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="gpt-9", input="Hi")


def test_it_takes_2048_texts_and_counts(http: httpx.Client) -> None:
    body = ask(http, input=["dog"] * 2048)
    assert len(body["data"]) == 2048
    assert body["usage"]["total_tokens"] == 3 * 2048
    assert 'inglenook_prompt_tokens_total{model="bert"}' in http.get("/metrics").text


BODIES: list[tuple[str, dict[str, Any], int]] = [
    ("text", {"input": "a"}, 200),
    ("texts", {"input": ["a", "b"]}, 200),
    ("tokens", {"input": [5, 6]}, 200),
    ("lists of tokens", {"input": [[5, 6], [7]]}, 200),
    ("texts and tokens", {"input": ["a", [7]]}, 200),
    ("a blank", {"input": " "}, 200),
    ("a NUL", {"input": "\u0000"}, 200),
    ("markers in the text", {"input": "[SEP] [CLS] [MASK]"}, 200),
    ("no letters that it knows", {"input": "漢字 👩‍👩‍👧 \U0010ffff"}, 200),
    ("float", {"input": "a", "encoding_format": "float"}, 200),
    ("nulls", {"input": "a", "encoding_format": None, "dimensions": None, "user": None}, 200),
    ("a user", {"input": "a", "user": "x"}, 200),
    ("unknown fields", {"input": "a", "input_type": "query", "truncate": "END"}, 200),
    ("dimensions as a float", {"input": "a", "dimensions": 8.0}, 200),
    ("as long as may be", {"input": [[5] * CONTEXT_TOKENS]}, 200),
    ("no input", {}, 400),
    ("null", {"input": None}, 400),
    ("number", {"input": 5}, 400),
    ("object", {"input": {"text": "a"}}, 400),
    ("empty text", {"input": ""}, 400),
    ("empty list", {"input": []}, 400),
    ("an empty text among others", {"input": ["a", ""]}, 400),
    ("an empty list among others", {"input": [[5], []]}, 400),
    ("null among texts", {"input": ["a", None]}, 400),
    ("number among texts", {"input": ["a", 5]}, 400),
    ("text among tokens", {"input": [5, "a"]}, 400),
    ("negative token", {"input": [-1]}, 400),
    ("bools as tokens", {"input": [True]}, 400),
    ("fractions as tokens", {"input": [1.5]}, 400),
    ("token beyond the vocabulary", {"input": [89]}, 400),
    ("a token of 40 digits", {"input": [10**40]}, 400),
    ("lists in lists of tokens", {"input": [[[5]]]}, 400),
    ("too many", {"input": ["a"] * 2049}, 400),
    ("too long a text", {"input": "dog " * 600}, 400),
    ("too long a text without a gap", {"input": "a" * 100_000}, 400),
    ("too many tokens", {"input": [[5] * (CONTEXT_TOKENS + 1)]}, 400),
    ("format list", {"input": "a", "encoding_format": ["float"]}, 400),
    ("format int8", {"input": "a", "encoding_format": "int8"}, 400),
    ("dimensions zero", {"input": "a", "dimensions": 0}, 400),
    ("dimensions negative", {"input": "a", "dimensions": -1}, 400),
    ("dimensions beyond the model's", {"input": "a", "dimensions": EMBEDDING + 1}, 400),
    ("dimensions huge", {"input": "a", "dimensions": 10**30}, 400),
    ("dimensions text", {"input": "a", "dimensions": "8"}, 400),
    ("dimensions bool", {"input": "a", "dimensions": True}, 400),
    ("user number", {"input": "a", "user": 5}, 400),
    ("no model", {"input": "a", "model": None}, 400),
    ("model number", {"input": "a", "model": 5}, 400),
    ("a model that writes", {"input": "a", "model": "parrot"}, 400),
    ("model unknown", {"input": "a", "model": "../../etc/passwd"}, 404),
]


@pytest.mark.parametrize(("name", "change", "status"), BODIES, ids=[row[0] for row in BODIES])
def test_odd_bodies(http: httpx.Client, name: str, change: dict[str, Any], status: int) -> None:
    response = http.post("/v1/embeddings", json={"model": "bert"} | change)
    if status == 200:
        assert response.status_code == 200, response.text
        assert response.json()["object"] == "list"
    else:
        check_error(response, status)


@pytest.mark.parametrize(("name", "body"), RAW_BODIES, ids=[name for name, _ in RAW_BODIES])
def test_a_body_that_is_no_json_object_is_400(http: httpx.Client, name: str, body: bytes) -> None:
    check_error(http.post("/v1/embeddings", content=body, headers={"Content-Type": "application/json"}), 400)


def test_the_error_names_the_input(http: httpx.Client) -> None:
    def error_of(**body: Any) -> Any:
        return http.post("/v1/embeddings", json={"model": "bert"} | body).json()["error"]

    assert error_of(input=["a", ""])["param"] == "input[1]"
    assert error_of(input=[[5], [89]])["param"] == "input[1]"
    too_long = error_of(input=["a", "a", "dog " * 600])
    assert (too_long["param"], too_long["code"], too_long["n_prompt_tokens"], too_long["n_ctx"]) == (
        "input[2]", "context_length_exceeded", 602, CONTEXT_TOKENS,
    )
    assert error_of(input="a", dimensions=65)["param"] == "dimensions"


async def test_a_client_that_goes_away_frees_the_queue(house: House, anna: Person) -> None:
    embedder = ScriptedEmbedder(is_held=True)
    await asyncio.to_thread(house.do, house.shelf.put_embedder(house.services, "held-vectors", lambda: embedder))
    asked = await Ask.send(anna, path="/v1/embeddings", model="held-vectors", input=["a" * 20] * 50)
    assert await asyncio.to_thread(embedder.entered.acquire, timeout=PATIENCE_S)
    engines = house.services.engines
    asked.cut()
    await until(house, lambda: engines.status("held-vectors").num_requests == 0)
    embedder.open()
    await until(house, lambda: engines.loaded()["held-vectors"].metrics().requests_total == {"abort": 1})
    assert embedder.steps == [[20]]
    last = await Ask.send(anna, path="/v1/embeddings", model="held-vectors", input="a")
    assert json.loads((await last.read()).partition(b"\r\n\r\n")[2])["usage"]["total_tokens"] == 1


def test_a_model_that_stops_is_marked_as_failed_and_the_server_goes_on(house: House, http: httpx.Client) -> None:
    house.do(house.shelf.put_embedder(house.services, "bomb", ScriptedEmbedder))
    response = http.post("/v1/embeddings", json={"model": "bomb", "input": "*"})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "engine_failed")
    assert house.services.engines.status("bomb").state == "failed"
    assert len(ask(http, input="a")["data"]) == 1
