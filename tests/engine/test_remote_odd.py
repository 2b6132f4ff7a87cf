"""What servers elsewhere may send, but hardly do: numbers without end, lines in crumbs, false counts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.errors import EndpointError
from engine.remote.answering import LEAST_LOGPROB, Reader
from engine.remote.endpoint import Address
from engine.remote.events import MAX_LINE_BYTES, events
from engine.remote.wire import Wire, plain
from engine.request import FinishReason
from tests.engine.upstream import KEY, Upstream
from tests.pace import seconds_of

OFFICE = Address(name="Office", base_url="http://gpu.lan/v1", key=KEY, headers={"X-Auth": f"Basic {'x' * 12}"})


async def crumbs(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def read(data: bytes, size: int) -> list[Any]:
    return [each async for each in events(OFFICE, crumbs(data, size))]


async def test_a_long_line_in_crumbs_costs_no_more_than_its_length() -> None:
    began_s = time.process_time()
    with pytest.raises(EndpointError, match="too long"):
        await read(b"data: " + b"x" * (MAX_LINE_BYTES + 10), 8)
    assert time.process_time() - began_s < seconds_of(100)


async def test_an_event_of_lines_without_end_is_given_up() -> None:
    began_s = time.process_time()
    with pytest.raises(EndpointError, match="too long"):
        await read(b"data:\n" * (MAX_LINE_BYTES + 10), 2**16)
    assert time.process_time() - began_s < seconds_of(100)


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_events_are_the_same_however_they_are_cut(size: int) -> None:
    text = b': ping\r\n\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: x\ndata:[2]\n\ndata: [DONE]\n\nnever read'
    assert await read(text, size) == [{"a": 1}, [2], None]


@pytest.mark.parametrize(("said", "known"), [
    ([240, 159], b"\xf0\x9f"), ([], b""), (None, b"\xef\xbf\xbd"), ("no", b"\xef\xbf\xbd"), ([256], b"\xef\xbf\xbd"),
    ([True], b"\xef\xbf\xbd"), ([1.0], b"\xef\xbf\xbd"), ([65] * 5000, b"\xef\xbf\xbd"),
])
def test_the_bytes_of_a_part_of_a_character_are_those_that_were_said(said: object, known: bytes) -> None:
    choice = {"delta": {"content": "a"}, "logprobs": {"content": [{"token": "\ufffd", "bytes": said, "logprob": -1}]}}
    delta = Reader(OFFICE).take({"choices": [choice]})
    assert delta is not None and delta.logprobs[0].bytes == known


@pytest.mark.parametrize(("said", "known"), [
    (-0.5, -0.5), (-1, -1.0), (3, 0.0), (10**400, 0.0), (-(10**400), LEAST_LOGPROB), (float("inf"), 0.0),
    (float("nan"), LEAST_LOGPROB), (None, LEAST_LOGPROB), ("-1", LEAST_LOGPROB),
])
def test_a_logprob_is_a_number_of_at_most_zero(said: object, known: float) -> None:
    choice = {"delta": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": said}]}}
    delta = Reader(OFFICE).take({"choices": [choice]})
    assert delta is not None and delta.logprobs[0].logprob == known


@pytest.mark.parametrize("usage", [
    None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": -1, "completion_tokens": 10**400},
    {"prompt_tokens": "7", "completion_tokens": 2.0}, {"prompt_tokens": True, "completion_tokens": None},
])
def test_words_come_of_tokens_whatever_the_server_counts(usage: object) -> None:
    reader = Reader(OFFICE)
    for word in ("one", " two"):
        reader.take({"choices": [{"delta": {"content": word}}], "usage": usage})
    end = reader.end(is_whole=True, num_prompt_tokens=9)
    assert end.usage is not None and (end.usage.prompt_tokens, end.usage.completion_tokens) == (9, 2)


def test_calls_with_odd_places_are_counted_from_zero() -> None:
    reader = Reader(OFFICE)
    indices = [10**300, -5, None, "x", 2**63]
    deltas = [
        reader.take({"choices": [{"delta": {"tool_calls": [{"index": each, "function": {"name": "f"}}]}}]})
        for each in indices
    ]
    found = [call.index for delta in deltas if delta is not None for call in delta.tool_calls]
    assert found == list(range(len(found)))


def test_calls_that_all_stand_at_one_place_are_told_apart_by_their_ids() -> None:
    reader = Reader(OFFICE)
    pieces = [("a", "f", '{"x"'), ("a", "f", ": 1}"), ("b", "g", "{}"), ("", "", " ")]
    deltas = [
        reader.take({"choices": [{"delta": {"tool_calls": [
            {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}}
        ]}}]})
        for call_id, name, arguments in pieces
    ]
    calls = [call for delta in deltas if delta is not None for call in delta.tool_calls]
    assert [(call.index, call.id, call.name, call.arguments) for call in calls] == [
        (0, "a", "f", '{"x"'), (0, "", "", ": 1}"), (1, "b", "g", "{}"), (1, "", "", " ")
    ]


def test_of_two_answers_at_once_one_is_read() -> None:
    reader = Reader(OFFICE)
    events_of_both: list[list[Any]] = [
        [{"index": 0, "delta": {"content": "One"}}, {"index": 1, "delta": {"content": "Two"}}],
        [{"index": 1, "delta": {"content": " or two"}}], [{"index": 0, "delta": {"content": " and"}}],
        [{"index": 1, "delta": {}, "finish_reason": "length"}], [None, "x", {"delta": {"content": " all"}}],
        [{"index": 0, "delta": None, "finish_reason": "stop"}],
    ]
    deltas = [reader.take({"choices": each}) for each in events_of_both]
    assert "".join(each.text for each in deltas if each is not None) == "One and all"
    assert reader.end(is_whole=False, num_prompt_tokens=1).finish_reason is FinishReason.STOP


@pytest.mark.parametrize("text", [
    f"bad key {KEY}", f"bad key {'x' * 12}", f"Authorization: Bearer {KEY}", f"Basic {'x' * 12} is wrong",
])
def test_no_part_of_what_was_sent_in_confidence_is_shown(text: str) -> None:
    shown = plain(OFFICE, text)
    assert KEY not in shown and "xxx" not in shown and "…" in shown


def test_a_key_is_not_shown_by_halves_where_words_are_cut() -> None:
    long = Address(name="Office", base_url="http://gpu.lan/v1", key="k" * 4000)
    assert "kk" not in plain(long, f"wrong: {long.key}")


@pytest.mark.parametrize("location", [
    "file:///etc/passwd", "http://[", "http://[::1", "//", f"http://me:{KEY}@other.lan/", "\x00", "http://a\tb/",
    "https://xn--/", "x" * 5000,
])
async def test_nothing_is_followed_wherever_it_leads(location: str) -> None:
    upstream, wire = Upstream(fault="redirect", location=location), Wire()
    try:
        address = Address(name="Office", base_url=upstream.url, key=KEY)
        with pytest.raises(EndpointError) as caught:
            await wire.json(address, "POST", f"{upstream.url}/chat/completions", {"stream": True})
        assert KEY not in str(caught.value) and "etc" not in str(caught.value)
        assert len(upstream.asked) == 1
    finally:
        await wire.close()
        upstream.close()


@pytest.mark.parametrize("url", ["http://a..b", "http://" + "a" * 70, "http://xn--", "http://[v1.a]", "http://%00"])
async def test_a_host_that_cannot_be_looked_up_is_told(url: str) -> None:
    wire = Wire()
    with pytest.raises(EndpointError, match="cannot be reached"):
        await wire.json(Address(name="Office", base_url=url), "GET", f"{url}/models")
    await wire.close()
