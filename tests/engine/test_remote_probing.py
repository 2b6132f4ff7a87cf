"""What a server elsewhere is found to be, by what it says of itself; and addresses and headers that may be kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from engine.errors import EndpointError
from engine.remote.endpoint import Address, Endpoint, ServerKind, checked_url, is_good_header, is_good_key
from engine.remote.probing import probe, try_out
from engine.remote.wire import Patience, Wire
from tests.engine.upstream import KEY, Upstream

PLAIN = {"object": "list", "data": [{"id": "big", "object": "model", "created": 1, "owned_by": "library"}]}
HURRY = Patience(connect_s=2.0, first_s=2.0, idle_s=2.0, short_s=2.0)


@pytest_asyncio.fixture
async def wire() -> AsyncIterator[Wire]:
    opened = Wire(HURRY)
    yield opened
    await opened.close()


def address(upstream: Upstream, url: str = "") -> Address:
    return Address(name="Office", base_url=url or upstream.url, key=KEY)


async def test_vllm_and_its_tokenizer(upstream: Upstream, wire: Wire) -> None:
    upstream.about = {"max_model_len": 32768}
    upstream.routes["/tokenize"] = {"count": 1, "tokens": [1], "max_model_len": 32768}
    found = await probe(wire, address(upstream))
    assert found.kind is ServerKind.VLLM and found.has_tokenizer and found.latency_s > 0
    assert [(each.remote_id, each.window) for each in found.models] == [("big", 32768)]
    assert not upstream.chats()             # nothing that costs anything


async def test_llama_server_s_window_is_that_of_a_conversation(upstream: Upstream, wire: Wire) -> None:
    upstream.owner, upstream.about = "llamacpp", {"meta": {"n_ctx_train": 131072}}
    assert (await probe(wire, address(upstream))).models[0].window == 131072
    upstream.routes["/props"] = {"default_generation_settings": {"n_ctx": 8192}}
    found = await probe(wire, address(upstream))
    assert found.kind is ServerKind.LLAMA_CPP and found.models[0].window == 8192 and not found.has_tokenizer


async def test_ollama_tells_of_each_model_and_reads_as_much_as_it_is_set_to(upstream: Upstream, wire: Wire) -> None:
    upstream.owner = "library"
    shown: dict[str, Any] = {
        "capabilities": ["completion", "tools"], "model_info": {"qwen3.context_length": 40960},
        "details": {"quantization_level": "Q4_K_M"}, "parameters": "temperature 0.6\nnum_ctx 16384",
    }
    upstream.routes |= {"/api/show": shown, "/api/version": {"version": "0.12.3"}, "/api/tags": {"models": []}}
    model = (await probe(wire, address(upstream))).models[0]
    assert (model.window, model.quantisation, model.calls_tools, model.embeds) == (16384, "Q4_K_M", True, False)
    for parameters in ("", f"num_ctx {'9' * 5000}", "num_ctx -1"):
        shown["parameters"] = parameters
        assert (await probe(wire, address(upstream))).models[0].window == 4096  # beyond that it drops the head
    upstream.routes["/api/ps"] = {"models": [{"model": "big", "context_length": 8192}]}
    shown["capabilities"] = ["embedding"]
    model = (await probe(wire, address(upstream))).models[0]
    assert model.window == 8192 and model.embeds


async def test_lm_studio(upstream: Upstream, wire: Wire) -> None:
    upstream.owner = "organization_owner"
    upstream.routes["/api/v0/models"] = {"data": [
        {"id": "big", "type": "embeddings", "max_context_length": 2048, "quantization": "F16"}, {"id": 7}, None,
    ]}
    found = await probe(wire, address(upstream))
    model = found.models[0]
    assert found.kind is ServerKind.LM_STUDIO
    assert (model.window, model.embeds, model.quantisation) == (2048, True, "F16")


@pytest.mark.parametrize("owner", ["library", "organization_owner", "organization-owner", "me", ""])
@pytest.mark.parametrize("routes", [
    {},
    {"/api/v0/models": PLAIN, "/api/version": PLAIN, "/api/tags": PLAIN},       # any path is answered so
    {"/api/version": {"version": "1.0"}, "/api/v0/models": {"data": []}},
    {"/api/v0/models": {"data": [None, 7, {}, {"type": "model", "max_context_length": 1}, {"type": "llm"}]}},
])
async def test_a_plain_server_is_never_taken_for_another(
    owner: str, routes: dict[str, Any], upstream: Upstream, wire: Wire
) -> None:
    upstream.owner = owner
    upstream.routes |= routes
    found = await probe(wire, address(upstream))
    assert found.kind is ServerKind.ANY and [each.remote_id for each in found.models] == ["big"]


async def test_an_address_without_v1_is_completed_and_a_server_without_a_name_is_any(
    upstream: Upstream, wire: Wire
) -> None:
    upstream.owner = "somebody"
    found = await probe(wire, address(upstream, upstream.root))
    assert found.base_url == upstream.url and found.kind is ServerKind.ANY


@pytest.mark.parametrize("listed", [{}, [], {"data": {}}, "no", 7, None, {"models": []}])
async def test_what_lists_no_models_is_no_such_server(listed: Any, upstream: Upstream, wire: Wire) -> None:
    upstream.routes["/v1/models"] = listed
    with pytest.raises(EndpointError, match="lists no models"):
        await probe(wire, address(upstream))


async def test_odd_models_are_passed_over(upstream: Upstream, wire: Wire) -> None:
    odd = [None, {}, {"id": 1}, {"id": ""}, {"id": "x" * 201}, {"id": "a\nb"}, {"id": "good", "max_model_len": "many"}]
    upstream.routes["/v1/models"] = {"data": odd}
    found = await probe(wire, address(upstream))
    assert [(each.remote_id, each.window) for each in found.models] == [("good", 0)]


HALF = b"\\ud83d"                # of a character


@pytest.mark.parametrize("odd", [
    b'{"id": "a' + HALF + b'"}', b'{"id": "a\xff"}', b'{"id": "good", "max_model_len": NaN}',
    b'{"id": "good", "max_model_len": ' + b"9" * 5000 + b"}", b'{"id": "good", "about": "' + HALF + b'"}',
    b'{"id": "good", "' + HALF + b'": 1}', b'{"id": "\x00"}',
])
async def test_an_entry_that_is_no_json_costs_no_other(odd: bytes, upstream: Upstream, wire: Wire) -> None:
    upstream.raw_routes["/v1/models"] = b'{"data": [' + odd + b', {"id": "other"}, {"id": "bird \\ud83d\\udc26"}]}'
    found = await probe(wire, address(upstream))
    good = ["good"] if b"good" in odd else []
    assert [each.remote_id for each in found.models] == [*good, "other", "bird \U0001f426"]
    assert found.num_left_out == 1 - len(good)


@pytest.mark.parametrize("listed", [b"[" * 100_000, b'{"data": [', b"<html>", b""])
async def test_a_list_that_is_none_is_refused(listed: bytes, upstream: Upstream, wire: Wire) -> None:
    upstream.raw_routes["/v1/models"] = listed
    with pytest.raises(EndpointError, match="no JSON"):
        await probe(wire, address(upstream))


async def test_trying_it_out_asks_for_one_small_answer(upstream: Upstream, wire: Wire) -> None:
    endpoint = Endpoint(connection_id="c", address=address(upstream), kind=ServerKind.VLLM, remote_id="big")
    assert (await try_out(wire, endpoint)).first_token_s > 0
    assert [each.body["max_tokens"] for each in upstream.chats()] == [8]


@pytest.mark.parametrize(("typed", "kept"), [
    ("http://gpu.lan:8000/v1/", "http://gpu.lan:8000/v1"), (" https://api.example/v1 ", "https://api.example/v1"),
    ("gpu.lan:8000", "http://gpu.lan:8000"), ("http://[::1]:8080", "http://[::1]:8080"),
    ("https://api.example/v1/chat/completions", "https://api.example/v1"),
    ("ftp://gpu.lan", None), ("file:///etc/passwd", None), ("http://", None), ("http://me:secret@gpu.lan", None),
    ("http://gpu.lan/v1?key=1", None), ("http://gpu.lan/#x", None), ("http://gpu.lan:99999", None),
    ("http://a b", None), ("http://a\nb", None), ("http://a..b/v1", None),
    (f"http://{'a' * 70}", None), ("http://%00", None), ("http://a<b>/", None), ("http://gpu.lan./v1", "http://gpu.lan./v1"),
    ("javascript:alert(1)", None), ("", None), ("a" * 600, None),
])
def test_addresses(typed: str, kept: str | None) -> None:
    assert checked_url(typed) == kept


def test_headers_and_keys() -> None:
    assert is_good_header("X-Team", "kitchen") and is_good_header("api-key", "a b")
    for name in ("Host", "content-length", "Transfer-Encoding", "Cookie", "X Y", "", "X\r\nY"):
        assert not is_good_header(name, "v")
    assert not is_good_header("X-A", "a\r\nEvil: 1") and not is_good_header("X-A", "ä")
    assert is_good_key(KEY) and is_good_key("") and not is_good_key("a b") and not is_good_key("a\n")
