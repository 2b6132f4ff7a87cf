"""What a watcher gets of an answer: all of it, once, in a browser's units."""

from __future__ import annotations

import asyncio

import pytest

from app.services.generation import Generation, GenerationState, utf16_length
from tests.app.house import turn

FAMILY = "👨‍👩‍👧‍👦 漢字 ñ"


@pytest.fixture
def generation() -> Generation:
    return Generation("message", "conversation", "user", "model")


def end(generation: Generation) -> None:
    generation.state = GenerationState.ENDED
    generation.announce()


async def watch(generation: Generation, offset: int = 0) -> str:
    """The text as a page puts it together."""
    text = ""
    async for at, piece in generation.follow(offset):
        assert at == offset + utf16_length(text)
        text += piece
    return text


def test_lengths_are_those_of_javascript() -> None:
    assert utf16_length("abc") == 3
    assert utf16_length("ñ漢") == 2
    assert utf16_length("😀") == 2
    assert utf16_length(FAMILY) == 16


def test_text_from_an_offset(generation: Generation) -> None:
    generation.append("a😀b")
    assert generation.text_from(0) == (0, "a😀b")
    assert generation.text_from(1) == (1, "😀b")
    assert generation.text_from(2) == (1, "😀b")        # the middle of a pair
    assert generation.text_from(3) == (3, "b")
    assert generation.text_from(4) == (4, "")
    assert generation.text_from(99) == (4, "")
    assert generation.text_from(-5) == (0, "a😀b")


async def test_watchers_of_all_speeds_see_the_same_text(generation: Generation) -> None:
    quick = asyncio.create_task(watch(generation))
    for character in FAMILY:
        generation.append(character)
        await turn()
    late = asyncio.create_task(watch(generation))
    rest = asyncio.create_task(watch(generation, 11))
    generation.append(FAMILY)
    end(generation)
    assert await quick == await late == FAMILY * 2
    assert await rest == (FAMILY * 2).encode("utf-16-le")[22:].decode("utf-16-le")
    assert await watch(generation) == FAMILY * 2


async def test_a_change_of_state_wakes_watchers_without_text(generation: Generation) -> None:
    pieces = generation.follow()
    assert await anext(pieces) == (0, "")
    following = asyncio.ensure_future(anext(pieces))
    await turn()
    generation.state, generation.queue_position = GenerationState.WAITING, 3
    generation.announce()
    assert await following == (0, "")
    await pieces.aclose()


async def test_a_watcher_that_leaves_disturbs_nobody(generation: Generation) -> None:
    leaving, staying = asyncio.create_task(watch(generation)), asyncio.create_task(watch(generation))
    generation.append("one ")
    await turn()
    leaving.cancel()
    generation.append("two")
    end(generation)
    assert await staying == "one two"


def test_a_continued_answer_begins_with_what_it_had() -> None:
    generation = Generation("message", "conversation", "user", "model", text="😀 and")
    generation.append(" so on")
    assert generation.text == "😀 and so on"
    assert generation.text_from(6) == (6, " so on")
