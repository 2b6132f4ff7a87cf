"""GET /v1/models, /healthz and /metrics."""

from __future__ import annotations

import httpx
import pytest

from engine.backends.scripted import ScriptedBackend
from tests.app.house import House, Person
from tests.app.prometheus_text import Family, read_prometheus


def test_the_list_has_openais_shape(anna: Person) -> None:
    with anna.client() as client:
        body = client.get("/v1/models").json()
    assert body["object"] == "list"
    model = next(model for model in body["data"] if model["id"] == "parrot")
    assert set(model) - {"max_model_len"} == {"id", "object", "created", "owned_by"}      # that, once it is known
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


def test_an_alias_is_listed_and_answers(house: House, anna: Person) -> None:
    house.do(house.shelf.put(house.services, "magpie", "Chack."))
    house.do(house.services.model_settings.change("magpie", {"aliases": ["gpt-4o-mini", "org/pie:latest"]}))
    with anna.client() as client:
        listed = [model["id"] for model in client.get("/v1/models").json()["data"]]
        assert listed[listed.index("magpie") :][:3] == ["magpie", "gpt-4o-mini", "org/pie:latest"]
        assert client.get("/v1/models/org/pie:latest").json()["id"] == "org/pie:latest"
        ask = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
        answer = client.post("/v1/chat/completions", json=ask).json()
    assert (answer["model"], answer["choices"][0]["message"]["content"]) == ("magpie", "Chack.")


def test_health_needs_nobody(house: House) -> None:
    response = httpx.get(f"{house.url}/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def read_metrics(person: Person) -> dict[str, Family]:
    with person.client() as client:
        response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return read_prometheus(response.text)


def test_metrics_are_prometheus_text_and_count(house: House, anna: Person) -> None:
    quoted = 'a "quoted" name\\'
    house.do(house.shelf.put(house.services, quoted, lambda: ScriptedBackend("Ok")))
    ask = {"model": quoted, "messages": [{"role": "user", "content": "Hi"}]}
    with anna.client() as client:
        assert client.post("/v1/chat/completions", json=ask).status_code == 200
        before = read_metrics(anna)
        assert client.post("/v1/chat/completions", json=ask).status_code == 200
    after = read_metrics(anna)
    assert before["inglenook_output_tokens_total"].of(quoted) == 2
    assert after["inglenook_output_tokens_total"].of(quoted) == 4
    assert after["inglenook_requests_total"].of(quoted, reason="stop") == 2
    assert after["inglenook_requests_running"].of(quoted) == after["inglenook_requests_waiting"].of(quoted) == 0
    assert after["inglenook_kv_blocks_held"].of(quoted) == 0
    assert after["inglenook_kv_blocks_free"].of(quoted) == after["inglenook_kv_blocks"].of(quoted) == 512
    assert after["inglenook_proposed_tokens_total"].of(quoted) == 0
    first, between = (after[f"inglenook_{name}_seconds"] for name in ("time_to_first_token", "inter_token"))
    assert first.value("_count", model=quoted) == 2
    assert between.value("_count", model=quoted) == 2
    assert first.value("_sum", model=quoted) > 0
    assert first.value("_bucket", model=quoted, le="60.0") == 2
    assert 0 < after["inglenook_output_tokens_per_second"].of(quoted) <= 4 / 5
    house.do(house.services.models.remove(quoted))


@pytest.mark.parametrize(
    "text",
    [
        "# HELP a_total A.\n# TYPE a_total counter\na_total 1",
        "a_total 1\n",
        "# HELP a A.\n# TYPE a counter\na 1\n",
        "# HELP a A.\n# TYPE a gauge\na 1\na 1\n",
        '# HELP a A.\n# TYPE a gauge\na{b="\\c"} 1\n',
        "# HELP a A.\n# TYPE a gauge\na None\n",
        '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
        '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 2\na_sum 1\na_count 1\n',
        '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n',
        '# HELP a A.\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 1\n',
    ],
)
def test_the_reader_of_metrics_is_strict(text: str) -> None:
    with pytest.raises(ValueError, match=r"Prometheus would not|does not end"):
        read_prometheus(text)
