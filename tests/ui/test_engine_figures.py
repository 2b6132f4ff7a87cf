"""The figures of a loaded model: what they say, and that an open page keeps them current for as long as it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from nicegui.element import Element
from nicegui.testing import User

from app.services.models import STARTER_ID
from engine.engine import EngineInfo, EngineMetrics
from engine.histogram import Histogram
from tests.ui.conftest import Home, Person
from tests.ui.using import elements, until
from ui.components.engine_figures import Figure, figures_of
from ui.models import figures

MIB = 2**20
INFO = EngineInfo(
    model_id="m", name="M", version="1", backend="scripted", device="cpu", quantisation="", max_model_len=4096,
    max_num_seqs=8, has_chat_template=True, kv_bytes=60 * MIB, cache_bytes=40 * MIB,
)


def texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if (text := getattr(element, "text", None)) is not None]


def value_of(tab: User, label: str) -> str:
    shown = texts(tab)
    return shown[shown.index(label) + 1]


def test_a_model_that_has_said_nothing_yet() -> None:
    assert figures_of(INFO, EngineMetrics(), 100.0) == [
        Figure("Being answered", "0", "0 in line"),
        Figure("Writing speed", "0 tok/s", "all together, now"),
        Figure("First token after", "–", "nothing written yet"),
        Figure("Then one every", "–", "nothing written yet"),
        Figure("Read before", "–", "of all prompts"),
        Figure("Chats use", "0 MiB", "of 100 MiB"),
    ]


def test_a_busy_model_that_guesses_ahead() -> None:
    metrics = EngineMetrics(
        num_running=8, num_waiting=2, held_bytes=90 * MIB, prompt_tokens_total=1000, cached_prompt_tokens_total=624,
        proposed_tokens_total=200, accepted_tokens_total=142, output_tokens_by_second=((98, 20), (99, 23)),
        time_to_first_token=Histogram((0.5, 1.0, 2.0), (10, 0, 10, 0), 0.0),
        inter_token=Histogram((0.02, 0.03), (0, 94, 6), 0.0),
    )
    assert figures_of(INFO, metrics, 100.0) == [
        Figure("Being answered", "8", "2 in line"),
        Figure("Writing speed", "8.6 tok/s", "all together, now"),
        Figure("First token after", "500 ms", "slowest 5 %: 1.9 s"),
        Figure("Then one every", "25 ms", "slowest 5 %: over 30 ms"),
        Figure("Read before", "62 %", "of all prompts"),
        Figure("Chats use", "90 MiB", "of 100 MiB"),
        Figure("Guessed right", "71 %", "of tokens tried ahead"),
    ]


async def test_an_open_page_follows_what_the_model_does(
    home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "LOOK_INTERVAL_S", 0.01)
    tab = await ada.at("/models")
    assert value_of(tab, "First token after") == "–"
    await home.services.chat.send(ada.id, None, "What is the capital of France?")
    await until(lambda: value_of(tab, "First token after") != "–")
    engine = home.services.engines.loaded()[STARTER_ID]
    whole = engine.metrics()
    monkeypatch.setattr(engine, "metrics", lambda: whole._replace(proposed_tokens_total=4, accepted_tokens_total=3))
    await until(lambda: "Guessed right" in texts(tab) and value_of(tab, "Guessed right") == "75 %")


async def test_the_figures_go_with_the_model_and_come_back(home: Home, ada: Person) -> None:
    tab = await ada.at("/models")
    await home.services.engines.unload(STARTER_ID)
    await until(lambda: "Being answered" not in texts(tab))
    await home.services.engines.load(STARTER_ID)
    await until(lambda: "Being answered" in texts(tab))


async def test_nothing_looks_any_more_once_the_page_is_gone(home: Home, ada: Person) -> None:
    tab = await ada.at("/models")
    assert _num_looking() == 1
    assert tab.client is not None
    tab.client.delete()
    await until(lambda: _num_looking() == 0)


async def test_a_page_at_rest_is_sent_nothing(home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "LOOK_INTERVAL_S", 0.01)
    tab = await ada.at("/models")
    assert tab.client is not None
    looks = _count_looks(home, monkeypatch)
    sent: list[object] = []
    monkeypatch.setattr(tab.client.outbox, "enqueue_update", sent.append)
    await until(lambda: looks() > 5)
    assert sent == []


def _num_looking() -> int:
    return sum(task.get_name() == "figures of models" for task in asyncio.all_tasks())


def _count_looks(home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    engine = home.services.engines.loaded()[STARTER_ID]
    ask = engine.metrics
    looks: list[EngineMetrics] = []

    def metrics() -> EngineMetrics:
        looks.append(ask())
        return looks[-1]

    monkeypatch.setattr(engine, "metrics", metrics)
    return lambda: len(looks)
