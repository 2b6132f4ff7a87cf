"""The stream of an answer: absolute offsets, so that whatever is lost or comes twice does no harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import ExitStack
from typing import Any

import pytest

import ui.stream
from app.services.generation import Generation, GenerationState, utf16_length
from engine.backends.scripted import ScriptedBackend
from engine.backends.scripted_tokenizer import THINKING_TEMPLATE, ByteTokenizer
from store.tables import MessageStatus
from tests.ui.conftest import PARIS, Home, Person
from ui.answer_events import Place, followed
from ui.beat import Beat
from ui.stream import EventStream

FAMILY = "👨‍👩‍👧‍👦 漢字 ñ"


def _events(text: str) -> list[tuple[str, Any, str | None]]:
    """(name, data, id) of each event, comments left out."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            events.append((fields.get("event", "message"), json.loads(fields["data"]), fields.get("id")))
    return events


async def _answer(person: Person, question: str, *, model_id: str | None = None) -> str:
    """The id of a finished answer."""
    sent = await person.home.services.chat.send(person.id, None, question, model_id=model_id)
    generation = person.home.services.generations.get(sent.answer_id)
    assert generation is not None
    async for _ in generation.follow():
        pass
    return sent.answer_id


async def test_a_finished_answer_comes_whole_and_says_how_it_ended(ada: Person) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    async with ada.http() as browser:
        response = await browser.get(f"/ui/stream/{answer_id}")
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    *_, message, done = _events(response.text)
    assert message == ("message", [0, PARIS], str(len(PARIS)))
    name, state, _ = done
    assert name == "done"
    assert (state["status"], state["finish"], state["error"]) == ("complete", "stop", None)
    assert state["figures"]["tokens"] in (len(PARIS), len(PARIS) + 1)
    assert state["figures"]["model"] == "SmolLM2 135M Instruct, Q4_1"


async def test_the_thought_before_an_answer_comes_with_its_end(ada: Person) -> None:
    tokenizer = ByteTokenizer(chat_template=THINKING_TEMPLATE)
    await ada.home.shelf.put(
        ada.home.services, "thinker", lambda: ScriptedBackend("abc</think>42", tokenizer=tokenizer)
    )
    answer_id = await _answer(ada, "Think.", model_id="thinker")
    async with ada.http() as browser:
        response = await browser.get(f"/ui/stream/{answer_id}")
    *_, message, (name, state, _) = _events(response.text)
    assert message == ("message", [0, "42"], "2")
    assert (name, state["thought"]) == ("done", "abc")
    assert ("thought", [0, "abc"], None) in _events(response.text)
    again = await _get(ada, f"/ui/stream/{answer_id}?offset=1&thought=2")
    assert ("thought", [2, "c"], None) in again
    assert ("message", [1, "2"], "2") in again


async def test_several_answers_share_one_line(ada: Person, ben: Person) -> None:
    first, second = await _answer(ada, "What is the capital of France?"), await _answer(ada, "Draw a family.")
    of_ben = await _answer(ben, "What is the capital of France?")
    events = await _get(ada, f"/ui/stream/{first},{of_ben},{second}?offset=4,0,0")
    texts = [data for name, data, _ in events if name == "message"]
    assert sorted(texts, key=len) == [[4, PARIS[4:]], [0, FAMILY, 2]]
    done = [data.get("of", 0) for name, data, _ in events if name == "done"]
    assert sorted(done) == [0, 2]
    assert [data for name, data, _ in events if name == "gone"] == [{"of": 1}]      # another's does not exist


async def test_an_offset_that_is_no_number_is_refused_and_a_missing_one_is_the_beginning(ada: Person) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    events = await _get(ada, f"/ui/stream/{answer_id}?offset=,&thought=")
    assert [data for name, data, _ in events if name == "message"] == [[0, PARIS]]
    async with ada.http() as browser:
        for nonsense in ("-1", "x", "1;2", "9" * 20):
            assert (await browser.get(f"/ui/stream/{answer_id}", params={"offset": nonsense})).status_code == 400


async def _get(person: Person, address: str) -> list[tuple[str, Any, str | None]]:
    async with person.http() as browser:
        return _events((await browser.get(address)).text)


async def test_one_goes_on_from_any_offset(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_id = await _answer(ada, "Draw a family.")
    generations = ada.home.services.generations
    async with ada.http() as browser:
        for is_in_memory in (True, False):
            if not is_in_memory:        # as after half a minute, or a restart: the store answers
                monkeypatch.setattr(generations, "get", lambda message_id: None)
            for offset in range(utf16_length(FAMILY) + 2):
                response = await browser.get(f"/ui/stream/{answer_id}", params={"offset": offset})
                events = [data for name, data, _ in _events(response.text) if name == "message"]
                units = FAMILY.encode("utf-16-le")
                for start, piece in events:
                    assert start <= offset
                    assert units[2 * start:].decode("utf-16-le") == piece
                assert bool(events) == (offset < utf16_length(FAMILY))


async def test_a_browsers_own_last_event_wins_over_the_address(ada: Person) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    async with ada.http() as browser:
        response = await browser.get(f"/ui/stream/{answer_id}?offset=0", headers={"Last-Event-ID": "10"})
    assert [data for name, data, _ in _events(response.text) if name == "message"] == [[10, PARIS[10:]]]


async def test_another_persons_answer_does_not_exist(ada: Person, ben: Person, home: Home) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    async with ben.http() as browser:
        assert (await browser.get(f"/ui/stream/{answer_id}")).status_code == 404
        assert (await browser.get("/ui/stream/nonsense")).status_code == 404
    async with home.http() as nobody:
        assert (await nobody.get(f"/ui/stream/{answer_id}", headers={"Accept": "*/*"})).status_code == 401


async def test_while_it_waits_it_says_what_for(ada: Person) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    message = await ada.home.services.chat.message(ada.id, answer_id)
    generation = Generation(answer_id, message.conversation_id, ada.id, message.model_id or "")
    events = followed(ada.home.services, Beat(0), generation, Place())

    async def next_event() -> tuple[str, Any, str | None]:
        while not (found := _events(await anext(events))):
            pass
        return found[0]

    name, state, _ = await next_event()
    assert (name, state) == (
        "state", {"title": "loading", "detail": "", "model": "SmolLM2 135M Instruct", "about_s": None}
    )
    for position, title in ((2, "queue"), (1, "queue"), (None, "reading")):
        generation.state, generation.queue_position = GenerationState.WAITING, position
        generation.announce()
        state = (await next_event())[1]
        assert (state["title"], state.get("position")) == (title, position)
    generation.state = GenerationState.SUMMARISING
    generation.announce()
    assert (await next_event())[1]["title"] == "summarising"
    generation.state = GenerationState.WRITING
    generation.append("Hm")
    name, state, _ = await next_event()
    assert (name, state["title"]) == ("state", "")
    assert await next_event() == ("message", [0, "Hm"], "2")
    generation.state, generation.status = GenerationState.ENDED, MessageStatus.COMPLETE
    generation.announce()
    assert (await next_event())[0] == "done"


async def test_a_long_answer_costs_bytes_by_its_length_only(ada: Person) -> None:
    answer_id = await _answer(ada, "What is the capital of France?")
    message = await ada.home.services.chat.message(ada.id, answer_id)

    async def num_bytes(num_tokens: int) -> int:
        generation = Generation(answer_id, message.conversation_id, ada.id, message.model_id or "")
        generation.state = GenerationState.WRITING
        events = followed(ada.home.services, Beat(0), generation, Place())
        total = 0
        for _ in range(num_tokens):
            generation.append(" word")
            while "data: [" not in (event := await anext(events)):
                total += len(event)
            total += len(event.encode())
        return total

    short, long = await num_bytes(500), await num_bytes(2000)
    assert 3.8 < long / short < 4.3
    assert long / 2000 < 60


async def test_a_silent_line_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ui.stream, "PING_INTERVAL_S", 0.01)
    speak = asyncio.Event()

    async def slow() -> AsyncIterator[str]:
        await speak.wait()
        yield "data: 1\n\n"

    sent: list[bytes] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 3:
            speak.set()

    await EventStream(slow()).stream_response(send)     # type: ignore[arg-type]
    head, *lines = sent
    assert head == b"" and lines[0] == lines[1] == b": ping\n\n"
    assert [line for line in lines if line != b": ping\n\n"] == [b"data: 1\n\n", b""]


async def test_the_more_read_the_longer_the_pieces() -> None:
    beat = Beat()
    with ExitStack() as readers:
        intervals_s = []
        for _ in range(200):
            readers.enter_context(beat.reader())
            intervals_s.append(beat.interval_s)
    assert (intervals_s[0], intervals_s[49], intervals_s[-1]) == (0.05, 0.1, 0.2)
    assert intervals_s == sorted(intervals_s)
    assert beat.interval_s == 0.05


async def test_each_reader_of_one_answer_hears_all_of_it() -> None:
    generation, beat = Generation("m", "c", "u", "model"), Beat(0.01)

    async def read(*, is_slow: bool) -> str:
        heard = ""
        async for _, text in generation.follow():
            heard += text
            if is_slow and not generation.is_ended:
                await beat.next()
        return heard

    reading = [asyncio.create_task(read(is_slow=is_slow)) for is_slow in (False, True, False)]
    for word in FAMILY.split():
        generation.append(word)
        await beat.next()
    generation.state = GenerationState.ENDED
    generation.announce()
    assert await asyncio.gather(*reading) == [FAMILY.replace(" ", "")] * 3
