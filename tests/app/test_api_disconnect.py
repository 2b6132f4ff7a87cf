"""A client that goes away: its place in the engine is free at once, whatever it asked, however far that got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from engine.backends.scripted import Gate, ScriptedBackend
from tests.app.conftest import COUNTING
from tests.app.house import House, Person

PATIENCE_S = 60
LONG = "word " * 600        # 3000 tokens: several steps of prefill


@pytest_asyncio.fixture
async def gate(house: House) -> AsyncIterator[Gate]:
    """Of the model `gated`, which runs two requests at a time, 512 tokens a step, a step when the gate lets it."""
    gate = Gate()
    house.do(house.services.engines.unload("gated"))
    await asyncio.to_thread(
        house.do,
        house.shelf.put(house.services, "gated", lambda: ScriptedBackend(COUNTING, gate=gate, max_num_seqs=2)),
    )
    await asyncio.to_thread(house.do, house.services.engines.load("gated"))
    yield gate
    gate.open()


class Ask:
    """A request over a socket of our own, which we can cut as a killed client does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_in_body = False

    @classmethod
    async def send(cls, person: Person, path: str = "/v1/chat/completions", **body: Any) -> Ask:
        question: dict[str, Any] = {"messages": [{"role": "user", "content": LONG}]}
        if path == "/v1/completions":
            question = {"prompt": LONG}
        data = json.dumps({"model": "gated", "max_tokens": 100} | question | body).encode()
        host, port = person.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {person.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        await writer.drain()
        return cls(reader, writer)

    def cut(self) -> None:
        self._writer.transport.abort()

    async def read(self) -> bytes:
        """To the end of the answer's first piece, which has more than the head."""
        text = b""
        while not text.partition(b"\r\n\r\n")[2]:
            piece = await asyncio.wait_for(self._reader.read(65536), PATIENCE_S)
            if not piece:
                break
            text += piece
            if self._is_in_body:
                break
        self._is_in_body = True
        return text


async def until(house: House, is_so: Callable[[], bool]) -> None:
    """Lets the server's loop turn until it is so there."""

    async def look() -> bool:
        return is_so()

    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(house.do, look()):
            pass


def num_requests(house: House) -> int:
    return house.services.engines.status("gated").num_requests


def is_idle(house: House) -> bool:
    metrics = house.services.engines.loaded()["gated"].metrics()
    return metrics.num_running == metrics.num_waiting == 0 and metrics.steps_total > 0


FORMS = [
    pytest.param({}, id="whole"),
    pytest.param({"stream": True}, id="streamed"),
    pytest.param({"n": 2}, id="n=2"),
    pytest.param({"n": 2, "stream": True}, id="n=2, streamed"),
    pytest.param({"path": "/v1/completions"}, id="completions"),
    pytest.param({"path": "/v1/completions", "stream": True}, id="completions, streamed"),
]


@pytest.mark.parametrize("form", FORMS)
async def test_gone_while_its_prompt_is_read(house: House, anna: Person, gate: Gate, form: dict[str, Any]) -> None:
    ask = await Ask.send(anna, **form)
    await until(house, lambda: num_requests(house) == form.get("n", 1))
    await asyncio.to_thread(gate.wait_until_held)
    gate.allow(1)
    await asyncio.to_thread(gate.wait_until_held)
    ask.cut()
    await until(house, lambda: num_requests(house) == 0)
    gate.open()
    await until(house, lambda: is_idle(house))
    check_nothing_was_written(house)
    assert len(house.shelf.backends["gated"].steps) == 1        # of the six and more that the prompt would have taken


async def test_gone_in_mid_stream(house: House, anna: Person, gate: Gate) -> None:
    ask = await Ask.send(anna, stream=True, messages=[{"role": "user", "content": "count"}])
    await asyncio.to_thread(gate.wait_until_held)
    gate.allow(4)
    assert b"text/event-stream" in await ask.read()
    await asyncio.to_thread(gate.wait_until_held)
    ask.cut()
    await until(house, lambda: num_requests(house) == 0)
    gate.open()
    await until(house, lambda: is_idle(house))
    assert house.services.engines.loaded()["gated"].metrics().requests_total == {"abort": 1}
    assert len(house.shelf.backends["gated"].steps) == 5


async def test_what_was_queued_and_dropped_never_starts_and_the_next_one_is_served(
    house: House, anna: Person, gate: Gate
) -> None:
    running = [await Ask.send(anna, stream=True) for _ in range(2)]
    await asyncio.to_thread(gate.wait_until_held)
    queued = [await Ask.send(anna, stream=index % 2 == 0) for index in range(50)]
    await until(house, lambda: num_requests(house) == 52)
    for ask in (*queued, *running):
        ask.cut()
    await until(house, lambda: num_requests(house) == 0)
    gate.open()
    await until(house, lambda: is_idle(house))
    check_nothing_was_written(house)
    assert house.shelf.backends["gated"].steps == []            # the one that had begun was cut short
    last = await Ask.send(anna, messages=[{"role": "user", "content": "count"}], max_tokens=9)
    assert json.dumps(COUNTING[:9]).encode() in await last.read()


async def test_a_full_queue_answers_429_with_a_time_to_come_back(house: House, anna: Person, gate: Gate) -> None:
    engines = house.services.engines
    await asyncio.to_thread(house.do, engines.unload("gated"))
    usual, engines.limits = engines.limits, replace(engines.limits, max_queue=1)
    try:
        asks = [await Ask.send(anna) for _ in range(4)]     # two run, one waits
        answers = [asyncio.create_task(ask.read()) for ask in asks]
        [refused], others = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
    finally:
        engines.limits = usual
        gate.open()
    assert refused.result().startswith(b"HTTP/1.1 429")
    assert b"retry-after: " in refused.result().lower()
    assert b'"rate_limit_error"' in refused.result()
    assert [(await other)[:12] for other in others] == [b"HTTP/1.1 200"] * 3


async def test_while_it_waits_a_stream_is_kept_alive_by_comments(
    house: House, anna: Person, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.sse.SILENCE_S", 0.01)
    ask = await Ask.send(anna, stream=True, messages=[{"role": "user", "content": "count"}], max_tokens=3)
    text = b""
    while b": ping\n\n" not in text:
        text += await ask.read()
    gate.open()
    while b"data: [DONE]\n\n" not in text:
        text += await ask.read()
    assert text.startswith(b"HTTP/1.1 200")
    assert b"data: : ping" not in text
    assert text.index(b'"role":"assistant"') < text.index(b": ping")


async def test_a_revoked_keys_stream_is_cut(house: House, admin: Person, gate: Gate) -> None:
    fritz = await asyncio.to_thread(house.person, "Fritz")
    ask = await Ask.send(fritz, stream=True, messages=[{"role": "user", "content": "count"}])
    await asyncio.to_thread(gate.wait_until_held)
    gate.allow(4)
    assert b"data: " in await ask.read()
    await asyncio.to_thread(house.do, house.services.accounts.revoke_key(fritz.user_id, fritz.key_id))
    await until(house, lambda: num_requests(house) == 0)
    while await ask.read():
        pass


def check_nothing_was_written(house: House) -> None:
    metrics = house.services.engines.loaded()["gated"].metrics()
    assert metrics.output_tokens_total == 0
    assert metrics.num_free_blocks == metrics.num_blocks
