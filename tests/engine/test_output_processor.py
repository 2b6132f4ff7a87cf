import asyncio
from collections.abc import AsyncGenerator, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.batch import SampledToken
from engine.core import CoreOutput
from engine.engine import Delta, ToolCallDelta, Usage
from engine.errors import EngineFailed
from engine.output_processor import OutputProcessor
from engine.params import SamplingParams
from engine.parsers.base import Asked, Parser
from engine.parsers.choose import choose
from engine.reading_pace import LEAST_PAUSE_S, READER_S, ReadingPace
from engine.request import FinishReason, Request


class Answer:
    """A processor with what the core would tell it, and what it told the core."""

    def __init__(
        self, *stop: str, parser: Parser | None = None, pace: ReadingPace | None = None, logprobs: int | None = None
    ) -> None:
        self.ended_for: list[FinishReason] = []
        request = Request(
            request_id="r",
            prompt_token_ids=(1, 2, 3),
            params=SamplingParams(stop=stop, logprobs=logprobs),
            seed=0,
            max_tokens=100,
            arrival_s=0.0,
        )
        self._processor = OutputProcessor(request, ByteTokenizer(), self.ended_for.append, parser, pace=pace)
        self.deltas: AsyncGenerator[Delta, None] = self._processor.deltas()

    def tell(
        self,
        text: str | bytes = b"",
        finish: FinishReason | None = None,
        *,
        logprobs: bool = False,
        position: int | None = None,
        error: EngineFailed | None = None,
    ) -> None:
        data = text.encode() if isinstance(text, str) else text
        described = [SampledToken(byte, -0.5, ((byte, -0.5), (0, -1.5))) for byte in data]
        self._processor.process(
            CoreOutput(
                request_id="r",
                tokens=tuple(described if logprobs else map(SampledToken, data)),
                finish_reason=finish,
                num_cached_tokens=2,
                queue_position=position,
                error=error,
            )
        )

    async def all(self) -> list[Delta]:
        return [delta async for delta in self.deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_what_came_since_the_last_look_is_one_delta() -> None:
    answer = Answer()
    answer.tell("He")
    answer.tell("llo")
    assert await anext(answer.deltas) == Delta(text="Hello", num_tokens=5)
    answer.tell("!", FinishReason.LENGTH)
    usage = Usage(prompt_tokens=3, completion_tokens=6, cached_tokens=2)
    assert await answer.all() == [Delta(text="!", num_tokens=1, finish_reason=FinishReason.LENGTH, usage=usage)]


class TestWhereManyRead:
    async def test_the_first_piece_comes_at_once_and_then_several_tokens_together(self) -> None:
        pace = ReadingPace()
        pace.num_readers = 5000         # beside this one: four seconds between two pieces
        answer = Answer(pace=pace)
        answer.tell("a")
        assert (await anext(answer.deltas)).text == "a"
        next_piece = asyncio.ensure_future(anext(answer.deltas))
        answer.tell("b")
        answer.tell("c")
        done, _ = await asyncio.wait({next_piece}, timeout=0.05)
        assert not done
        pace.num_readers = 1
        answer.tell("d", FinishReason.LENGTH)                   # the end waits for nobody
        last = await asyncio.wait_for(next_piece, 60)
        assert (last.text, last.num_tokens, last.finish_reason) == ("bcd", 3, FinishReason.LENGTH)

    async def test_a_piece_comes_when_its_time_has_come(self) -> None:
        pace = ReadingPace()
        pace.num_readers = round(LEAST_PAUSE_S / READER_S) + 20
        answer = Answer(pace=pace)
        answer.tell("a")
        assert (await anext(answer.deltas)).text == "a"
        begun_s = asyncio.get_running_loop().time()
        answer.tell("b")
        assert (await asyncio.wait_for(anext(answer.deltas), 60)).text == "b"
        assert asyncio.get_running_loop().time() - begun_s > LEAST_PAUSE_S / 2

    async def test_an_error_and_a_place_in_the_queue_are_told(self) -> None:
        pace = ReadingPace()
        pace.num_readers = 5000
        answer = Answer(pace=pace)
        answer.tell(position=3)
        assert (await anext(answer.deltas)).queue_position == 3
        answer.tell("a", position=None)
        assert (await asyncio.wait_for(anext(answer.deltas), 60)).text == "a"
        answer.tell(finish=FinishReason.ERROR, error=EngineFailed("gone"))
        with pytest.raises(EngineFailed, match="gone"):
            await asyncio.wait_for(anext(answer.deltas), 60)

    async def test_who_has_read_to_the_end_or_left_counts_no_more(self) -> None:
        pace = ReadingPace()
        answers = [Answer(pace=pace) for _ in range(2)]
        for answer in answers:
            answer.tell("a")
            await anext(answer.deltas)
        assert pace.num_readers == 2
        answers[0].tell("b", FinishReason.STOP)
        assert len(await answers[0].all()) == 1
        await answers[1].deltas.aclose()
        assert pace.num_readers == 0
        assert pace.pause_s == 0.0


async def test_a_reader_that_waits_is_woken_by_text_and_not_by_half_a_character() -> None:
    answer = Answer()
    reader = asyncio.ensure_future(anext(answer.deltas))
    answer.tell(b"\xc3")
    await asyncio.sleep(0)
    assert not reader.done()
    answer.tell(b"\xb1")
    assert await reader == Delta(text="ñ", num_tokens=2)


async def test_half_a_character_at_the_end_is_dropped() -> None:
    answer = Answer()
    answer.tell(b"Hi \xf0\x9f\x91", FinishReason.LENGTH)
    assert text_of(await answer.all()) == "Hi "


async def test_a_stop_string_ends_the_answer_and_aborts_once() -> None:
    answer = Answer("own fox")
    answer.tell("The quick brown f")
    answer.tell("ox jumps")
    answer.tell(" over", FinishReason.ABORT)              # computed before the abort arrived
    deltas = await answer.all()
    assert text_of(deltas) == "The quick br"
    assert deltas[-1].finish_reason is FinishReason.STOP
    assert deltas[-1].usage == Usage(prompt_tokens=3, completion_tokens=19, cached_tokens=2)
    assert answer.ended_for == [FinishReason.STOP]


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.LENGTH])
async def test_held_text_comes_with_the_end(reason: FinishReason) -> None:
    answer = Answer("TRE\nAAAAAAAA")
    answer.tell("UNO DUE TRE")
    assert (await anext(answer.deltas)).text == "UNO DUE "
    answer.tell(finish=reason)
    last = (await answer.all())[-1]
    assert (last.text, last.finish_reason) == ("TRE", reason)
    assert answer.ended_for == []


async def test_a_match_that_waited_for_a_longer_one_is_a_stop_and_not_a_lack_of_room() -> None:
    answer = Answer("abcd", "bc")
    answer.tell("xabc", FinishReason.LENGTH)
    deltas = await answer.all()
    assert text_of(deltas) == "xa"
    assert deltas[-1].finish_reason is FinishReason.STOP


async def test_places_in_the_queue_are_told_until_it_runs() -> None:
    answer = Answer()
    answer.tell(position=2)
    assert await anext(answer.deltas) == Delta(queue_position=2)
    answer.tell(position=1)
    assert await anext(answer.deltas) == Delta(queue_position=1)
    answer.tell()
    assert await anext(answer.deltas) == Delta()
    answer.tell("a")
    assert await anext(answer.deltas) == Delta(text="a", num_tokens=1)


async def test_logprobs_are_merged_and_none_is_lost() -> None:
    answer = Answer(logprobs=1)
    answer.tell("a", logprobs=True)
    answer.tell("ñ", FinishReason.STOP, logprobs=True)
    (delta,) = await answer.all()
    assert [entry.bytes for entry in delta.logprobs] == [b"a", b"\xc3", b"\xb1"]
    assert [entry.token for entry in delta.logprobs] == ["a", "\ufffd", "\ufffd"]
    assert delta.logprobs[0].logprob == -0.5
    assert [(entry.token, entry.logprob) for entry in delta.logprobs[0].top] == [("a", -0.5), ("\0", -1.5)]


async def test_logprobs_come_with_their_text_and_not_for_the_stop_string() -> None:
    answer = Answer("STOP")
    answer.tell("a ST", logprobs=True)
    assert [entry.token for entry in (await anext(answer.deltas)).logprobs] == ["a", " "]
    answer.tell("OP", logprobs=True)
    assert [entry.token for delta in await answer.all() for entry in delta.logprobs] == []


async def test_logprobs_of_held_text_come_when_it_is_shown() -> None:
    answer = Answer("STOP")
    answer.tell("ST", FinishReason.STOP, logprobs=True)
    (delta,) = await answer.all()
    assert (delta.text, [entry.token for entry in delta.logprobs]) == ("ST", ["S", "T"])


async def test_text_comes_before_the_error_that_ends_it() -> None:
    answer = Answer("xyz")
    answer.tell("Hello x")
    answer.tell(finish=FinishReason.ERROR, error=EngineFailed("The engine stopped."))
    assert (await anext(answer.deltas)).text == "Hello x"
    with pytest.raises(EngineFailed, match="The engine stopped"):
        await anext(answer.deltas)


async def test_an_abort_by_somebody_else_is_an_error() -> None:
    answer = Answer()
    answer.tell(finish=FinishReason.ABORT)
    with pytest.raises(EngineFailed, match="stopped before its answer was complete"):
        await anext(answer.deltas)


# Thought and calls


TOOLS = ({"type": "function", "function": {"name": "f"}},)
HERMES = '<think></think> <tool_call>{"name": <name>, "arguments": <object>}</tool_call>'
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'


def parsed_answer(*stop: str, prompt: str = "", tools: tuple[dict[str, Any], ...] = TOOLS) -> Answer:
    family = choose(HERMES)
    assert family is not None
    return Answer(*stop, parser=family.open(Asked(prompt=prompt, tools=tools)))


async def test_thought_text_and_calls_come_apart_and_calls_are_the_reason_it_ended() -> None:
    answer = parsed_answer()
    answer.tell(f"<think>Hm.</think>\n\nLook.\n{CALL}", FinishReason.STOP)
    (delta,) = await answer.all()
    assert (delta.reasoning, delta.text, delta.finish_reason) == ("Hm.", "Look.", FinishReason.TOOL_CALLS)
    first, rest = delta.tool_calls
    assert (first.index, first.name, first.arguments) == (0, "f", "")
    assert rest == ToolCallDelta(index=0, arguments='{"a": 1}')
    assert first.id


async def test_arguments_come_as_they_are_written() -> None:
    answer = parsed_answer()
    answer.tell('<tool_call>{"name": "f", "arguments": {"te')
    first = await anext(answer.deltas)
    assert [(piece.name, piece.arguments) for piece in first.tool_calls] == [("f", ""), ("", '{"te')]
    answer.tell('xt": "Hi')
    assert (await anext(answer.deltas)).tool_calls == (ToolCallDelta(index=0, arguments='xt": "Hi'),)


async def test_a_call_that_is_cut_by_its_length_says_so() -> None:
    answer = parsed_answer()
    answer.tell('<tool_call>{"name": "f", "arguments": {"te', FinishReason.LENGTH)
    (delta,) = await answer.all()
    assert (delta.text, delta.finish_reason) == ("", FinishReason.LENGTH)
    assert delta.tool_calls[1].arguments == '{"te'


async def test_reasoning_tokens_are_those_up_to_the_end_of_the_thought() -> None:
    answer = parsed_answer(prompt="<think>\n")
    answer.tell("abc</think>42", FinishReason.STOP)
    (delta,) = await answer.all()
    assert (delta.reasoning, delta.text) == ("abc", "42")
    assert delta.usage is not None
    assert (delta.usage.completion_tokens, delta.usage.reasoning_tokens) == (13, 11)


async def test_stop_strings_count_in_the_text_alone() -> None:
    answer = parsed_answer("a", "Hm")
    answer.tell(f"<think>Hm, a b.</think>{CALL}x a y")
    deltas = await answer.all()
    assert "".join(delta.reasoning for delta in deltas) == "Hm, a b."
    assert deltas[-1].tool_calls[-1].arguments == '{"a": 1}'
    assert text_of(deltas) == "x "
    assert answer.ended_for == [FinishReason.STOP]


async def test_every_token_of_thought_text_and_calls_has_its_logprob_once() -> None:
    answer = parsed_answer()
    written = f"<think>Hm.</think> Look. {CALL} So."
    for character in written:
        answer.tell(character, logprobs=True)
    answer.tell(finish=FinishReason.STOP)
    deltas = await answer.all()
    assert "".join(entry.token for delta in deltas for entry in delta.logprobs) == written


@given(written=st.binary(max_size=40) | st.text(max_size=20).map(str.encode), cuts=st.lists(st.integers(0, 80)))
@settings(deadline=None, derandomize=True)
def test_any_bytes_cut_anywhere_mean_the_same(written: bytes, cuts: list[int]) -> None:
    def meant(pieces: Iterable[bytes]) -> tuple[str, str, str]:
        answer = parsed_answer()
        for piece in pieces:
            answer.tell(piece)
        answer.tell(finish=FinishReason.STOP)
        deltas = asyncio.run(answer.all())
        calls = "".join(piece.name + piece.arguments for delta in deltas for piece in delta.tool_calls)
        return text_of(deltas), "".join(delta.reasoning for delta in deltas), calls

    written = b"<think>" + written + b"</think>" + CALL.encode() + written
    places = [0, *sorted(cuts), len(written)]
    assert meant(written[start:end] for start, end in pairwise(places)) == meant([written])
