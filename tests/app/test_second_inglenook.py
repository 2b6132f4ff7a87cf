"""The API over a second Inglenook, a real one in a process of its own: asked through the first as if it were here."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from app.services.connections import Entered
from tests.app.house import House, Person
from tests.e2e.conftest import PacedServer, free_port

pytestmark = pytest.mark.slow

ASK = {"model": "counter", "messages": [{"role": "user", "content": "count to 5"}]}


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PacedServer]:
    server = PacedServer(tmp_path_factory.mktemp("second"), free_port())
    server.add_user(admin=True)
    server.pace(0.005)
    server.start()
    yield server
    if server.process is not None and server.process.poll() is None:
        server.stop()


@pytest.fixture(scope="module")
def connected(house: House, upstream: PacedServer) -> Iterator[House]:
    key = upstream.command("keys", "create", "--user", upstream.add_user()).split()[0]
    house.do(house.services.connections.set_allowed(True))
    entry = house.do(house.services.connections.add(Entered(name="Second", base_url=upstream.url, key=key)))
    assert entry.connection.kind == "inglenook"
    yield house
    house.do(house.services.connections.remove(entry.connection.id))
    house.do(house.services.connections.set_allowed(False))


def test_its_models_are_listed_beside_those_here(connected: House, anna: Person) -> None:
    with anna.client() as client:
        listed = {each["id"] for each in client.get("/v1/models").json()["data"]}
    assert {"parrot", "counter", "other"} <= listed
    assert "smollm2-135m-instruct-elsewhere" in listed          # the one here keeps its name


def test_an_answer_comes_through_both_whole_and_streamed(connected: House, anna: Person) -> None:
    with anna.client() as client:
        whole = client.post("/v1/chat/completions", json=ASK).json()
        asked = ASK | {"stream": True, "stream_options": {"include_usage": True}, "prompt_cache_key": "mine"}
        with client.stream("POST", "/v1/chat/completions", json=asked) as response:
            events = [line[6:] for line in response.iter_lines() if line.startswith("data: ")]
    assert whole["choices"][0]["message"]["content"].strip() == "1 2 3 4 5"
    assert whole["choices"][0]["finish_reason"] == "stop" and whole["model"] == "counter"
    assert whole["usage"]["completion_tokens"] > 0 and whole["usage"]["prompt_tokens"] > 0
    assert events[-1] == "[DONE]"
    chunks = [json.loads(each) for each in events[:-1]]
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert text.strip() == "1 2 3 4 5" and chunks[-1]["usage"]["prompt_tokens"] == whole["usage"]["prompt_tokens"]


def test_another_answer_comes_after_a_client_went_in_the_midst(connected: House, anna: Person) -> None:
    asked = ASK | {"stream": True, "messages": [{"role": "user", "content": "count to 2000"}]}
    with anna.client() as client:
        with client.stream("POST", "/v1/chat/completions", json=asked) as response:
            next(line for line in response.iter_lines() if '"content":"1"' in line)
        answer = client.post("/v1/chat/completions", json=ASK, timeout=120).json()
    assert answer["choices"][0]["message"]["content"].strip() == "1 2 3 4 5"


def test_raw_text_forms_and_faults_of_the_request(connected: House, anna: Person) -> None:
    with anna.client() as client:
        raw = client.post("/v1/completions", json={"model": "counter", "prompt": "count to 3", "max_tokens": 9}).json()
        schema = {
            "type": "object", "properties": {"town": {"enum": ["Oslo"]}}, "required": ["town"],
            "additionalProperties": False,          # of which a model that counts would write without end
        }
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        kept = client.post("/v1/chat/completions", json=ASK | {"response_format": form}).json()
        vectors = client.post("/v1/embeddings", json={"model": "counter", "input": "a"})
    assert raw["choices"][0]["text"].strip() == "1 2 3"
    assert json.loads(kept["choices"][0]["message"]["content"]) == {"town": "Oslo"}
    assert vectors.status_code in (400, 502)


def test_a_key_is_needed_and_says_nothing_of_who_asks_there(connected: House, anna: Person, ben: Person) -> None:
    with anna.client() as client:
        nobody = {"Authorization": "Bearer sk-nobody"}
        assert client.post("/v1/chat/completions", json=ASK, headers=nobody).status_code == 401
    with ben.client() as client:
        assert client.post("/v1/chat/completions", json=ASK).status_code == 200


def test_what_is_switched_off_is_not_there(connected: House, anna: Person) -> None:
    entry = connected.do(connected.services.connections.named("Second"))
    connected.do(connected.services.connections.set_on(entry.connection.id, False))
    with anna.client() as client:
        refused = client.post("/v1/chat/completions", json=ASK)
        assert "counter" not in {each["id"] for each in client.get("/v1/models").json()["data"]}
        assert client.get("/v1/models/counter").status_code == 404
    connected.do(connected.services.connections.set_on(entry.connection.id, True))
    assert refused.status_code == 404 and refused.json()["error"]["code"] == "model_not_found"


def test_one_that_is_gone_is_told_as_such(connected: House, upstream: PacedServer, anna: Person) -> None:
    """Last: it ends the second one."""
    upstream.stop()
    with anna.client() as client:
        refused = client.post("/v1/chat/completions", json=ASK)
    assert refused.status_code == 502 and refused.json()["error"]["code"] == "endpoint_failed"
    assert "Second cannot be reached" in refused.json()["error"]["message"]
