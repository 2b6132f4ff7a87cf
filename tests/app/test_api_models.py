"""GET /v1/models, /healthz and /metrics."""

from __future__ import annotations

import re

import httpx

from engine.backends.scripted import ScriptedBackend
from tests.app.house import House, Person


def test_the_list_has_openais_shape(anna: Person) -> None:
    with anna.client() as client:
        body = client.get("/v1/models").json()
    assert body["object"] == "list"
    model = next(model for model in body["data"] if model["id"] == "parrot")
    assert set(model) == {"id", "object", "created", "owned_by"}
    assert model["object"] == "model"
    assert isinstance(model["created"], int)


def test_the_starter_model_is_listed_by_its_id(anna: Person) -> None:
    with anna.client() as client:
        assert client.get("/v1/models/smollm2-135m-instruct").json()["id"] == "smollm2-135m-instruct"


def test_an_id_may_hold_slashes(house: House, anna: Person) -> None:
    house.do(house.shelf.put(house.services, "org/bird v1.0", lambda: ScriptedBackend("Tweet.")))
    with anna.client() as client:
        for path in ("/v1/models/org/bird v1.0", "/v1/models/org%2Fbird%20v1.0"):
            assert client.get(path).json()["id"] == "org/bird v1.0"
        missing = client.get("/v1/models/org/fish")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "model_not_found"


def test_health_needs_nobody(house: House) -> None:
    response = httpx.get(f"{house.url}/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_metrics_are_prometheus_text_and_count(house: House, anna: Person) -> None:
    def read() -> dict[str, float]:
        with anna.client() as client:
            response = client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        samples = {}
        declared = set()
        for line in response.text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                assert kind in ("gauge", "counter")
                assert name not in declared
                declared.add(name)
            elif not line.startswith("#"):
                found = re.fullmatch(r'(\w+)(\{(\w+="([^"\\\n]|\\.)*",?)+\})? ([0-9.e+-]+)', line)
                assert found, line
                assert found[1] in declared
                samples[found[1] + (found[2] or "")] = float(found[5])
        return samples

    quoted = 'a "quoted" name\\'
    house.do(house.shelf.put(house.services, quoted, lambda: ScriptedBackend("Ok")))
    ask = {"model": quoted, "messages": [{"role": "user", "content": "Hi"}]}
    with anna.client() as client:
        assert client.post("/v1/chat/completions", json=ask).status_code == 200
        before = read()
        assert client.post("/v1/chat/completions", json=ask).status_code == 200
    after = read()
    label = '{model="a \\"quoted\\" name\\\\"}'
    assert after["inglenook_output_tokens_total" + label] == 2 * before["inglenook_output_tokens_total" + label] > 0
    assert after["inglenook_requests_running" + label] == 0
    house.do(house.services.models.remove(quoted))
