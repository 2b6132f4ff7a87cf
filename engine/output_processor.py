"""From sampled tokens to deltas, one processor a request: detokenise, tell thought, calls and text apart, look for stop
strings, gather. Event loop only.

`EngineCore` calls `process` after each step, `LocalEngine` reads `deltas`. A reader that is slower than the model finds
everything since its last look in one delta, so memory is bounded by the answer, and nothing is lost. Where many read at
once, each is woken no more often than `ReadingPace` says; the first piece and the end come at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from engine.backends.base import Tokenizer
from engine.batch import SampledToken
from engine.core import CoreOutput
from engine.detokenizer import Detokenizer
from engine.engine import Delta, TokenLogprob, ToolCallDelta, Usage
from engine.errors import EngineError, EngineFailed
from engine.parsers.base import Parsed, Parser
from engine.reading_pace import ReadingPace
from engine.request import FinishReason, Request
from engine.stop import StopChecker
from engine.told import Told

_REASONS_TO_SHOW = frozenset({FinishReason.STOP, FinishReason.LENGTH})


class OutputProcessor:
    """`end` ends the request in the core: called once, when a stop string has ended the answer. Without a `parser` all
    is text; with one, `marks` are what it reads of the control tokens.
    """

    def __init__(
        self,
        request: Request,
        tokenizer: Tokenizer,
        end: Callable[[FinishReason], None],
        parser: Parser | None = None,
        marks: Mapping[int, str] | None = None,
        pace: ReadingPace | None = None,
    ) -> None:
        self._pace = pace or ReadingPace()
        self._num_prompt_tokens = len(request.prompt_token_ids)
        self._tokenizer = tokenizer
        self._end = end
        self._detokenizer = Detokenizer(tokenizer, marks)
        self._parser = parser
        self._stops = StopChecker(request.params.stop)
        # Nothing is to be known of single tokens, so those that come together are one piece of text.
        self._is_plain = parser is None and not request.params.stop and request.params.logprobs is None
        self._num_chars = 0                                              # of all that was written, shown or not
        self._num_chars_shown = 0
        self._num_output_tokens = 0
        self._num_reasoning_tokens = 0
        self._num_cached_tokens = 0
        self._queue_position: int | None = None
        self._held_logprobs: deque[tuple[int, TokenLogprob]] = deque()   # with the place in the text where each begins

        self._news = asyncio.Event()                                     # set: the reader has something to take
        self._next_look_s = 0.0                                          # by the loop's clock; 0: as soon as there is
        self._next_look: asyncio.TimerHandle | None = None               # where there is something, but it is too soon
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._tool_calls: list[ToolCallDelta] = []
        self._logprobs: list[TokenLogprob] = []
        self._num_tokens = 0
        self._finish_reason: FinishReason | None = None
        self._error: EngineError | None = None

    def process(self, output: CoreOutput) -> None:
        """Take in what a step brought for this request."""
        if self._has_ended:
            return                               # computed between a stop string and the abort that it caused
        self._num_cached_tokens = output.num_cached_tokens
        if output.queue_position != self._queue_position:
            self._queue_position = output.queue_position
            self._wake()
        if self._is_plain:
            self._add_text(output.tokens)
        else:
            for sampled in output.tokens:
                self._add(sampled)
                if self._stops.matched is not None:
                    self._finish(FinishReason.STOP)
                    self._end(FinishReason.STOP)
                    return
        if output.finish_reason in _REASONS_TO_SHOW:
            self._end_text(is_cut=output.finish_reason is FinishReason.LENGTH)
            self._finish(output.finish_reason if self._stops.matched is None else FinishReason.STOP)
        elif output.finish_reason is not None:
            self._end_text(is_cut=True)
            self._error = output.error or EngineFailed(Told("answer-stopped"))
            self._wake(at_once=True)

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Pieces of the answer as they come; the last has a finish reason. Raises EngineFailed after the last piece."""
        self._pace.num_readers += 1
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                if self._error is None or self._text or self._reasoning or self._tool_calls:
                    delta = self._take()
                    yield delta
                    if delta.finish_reason is not None:
                        return
                if self._error is not None:
                    raise self._error
        finally:
            self._pace.num_readers -= 1
            self._let_next_look_be()

    def _wake(self, *, at_once: bool = False) -> None:
        """There is something to take: the reader is told, if it is time."""
        if at_once or not self._next_look_s or self._next_look_s <= asyncio.get_running_loop().time():
            self._news.set()
        elif self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_at(self._next_look_s, self._news.set)

    def _let_next_look_be(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    @property
    def _has_ended(self) -> bool:
        return self._finish_reason is not None or self._error is not None

    def _add_text(self, tokens: Sequence[SampledToken]) -> None:
        self._num_tokens += len(tokens)
        self._num_output_tokens += len(tokens)
        text = self._detokenizer.push(*(sampled.token_id for sampled in tokens))
        self._num_chars += len(text)
        self._show(text)

    def _add(self, sampled: SampledToken) -> None:
        self._num_tokens += 1
        self._num_output_tokens += 1
        if sampled.logprob is not None:
            top = tuple(self._describe(token_id, logprob) for token_id, logprob in sampled.top_logprobs)
            self._held_logprobs.append((self._num_chars, self._describe(sampled.token_id, sampled.logprob, top)))
        text = self._detokenizer.push(sampled.token_id)
        self._num_chars += len(text)
        if self._parser is not None:
            text = self._parse(self._parser, text)
        self._show(self._stops.push(text))

    def _parse(self, parser: Parser, text: str) -> str:
        """What of it belongs to the answer's text, where alone stop strings count."""
        is_reasoning = parser.is_reasoning
        num_open = parser.num_held + len(text)
        parsed = parser.push(text)
        self._num_reasoning_tokens += is_reasoning or parser.is_reasoning
        self._set_aside(parsed, num_open - parser.num_held)
        return parsed.text

    def _set_aside(self, parsed: Parsed, num_decided: int) -> None:
        self._num_chars_shown += num_decided - len(parsed.text)
        if parsed.reasoning or parsed.tool_calls:
            self._reasoning.append(parsed.reasoning)
            self._tool_calls += parsed.tool_calls
            self._wake()

    def _end_text(self, *, is_cut: bool) -> None:
        if self._parser is not None:
            num_open = self._parser.num_held
            parsed = self._parser.flush(is_cut=is_cut)
            self._set_aside(parsed, num_open)
            self._show(self._stops.push(parsed.text))
        self._show(self._stops.flush())

    def _show(self, text: str) -> None:
        """Text that is certain, with the logprobs of the tokens that begin in it. Those of a stop string never come."""
        if text:
            self._text.append(text)
            self._num_chars_shown += len(text)
            self._wake()
        nothing_held = self._num_chars_shown == self._num_chars
        while self._held_logprobs and (nothing_held or self._held_logprobs[0][0] < self._num_chars_shown):
            self._logprobs.append(self._held_logprobs.popleft()[1])
            self._wake()

    def _finish(self, reason: FinishReason) -> None:
        if reason is FinishReason.STOP and self._parser is not None and self._parser.has_calls:
            reason = FinishReason.TOOL_CALLS
        self._finish_reason = reason
        self._wake(at_once=True)

    def _take(self) -> Delta:
        delta = Delta(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(_joined(self._tool_calls)),
            logprobs=tuple(self._logprobs),
            num_tokens=self._num_tokens,
            queue_position=self._queue_position,
            finish_reason=self._finish_reason,
            usage=None if self._finish_reason is None else self._usage(),
        )
        for gathered in (self._text, self._reasoning, self._tool_calls, self._logprobs):
            gathered.clear()
        self._num_tokens = 0
        self._let_next_look_be()
        pause_s = self._pace.pause_s if delta.num_tokens else 0.0
        self._next_look_s = asyncio.get_running_loop().time() + pause_s if pause_s else 0.0
        return delta

    def _usage(self) -> Usage:
        return Usage(
            prompt_tokens=self._num_prompt_tokens,
            completion_tokens=self._num_output_tokens,
            cached_tokens=self._num_cached_tokens,
            reasoning_tokens=self._num_reasoning_tokens,
        )

    def _describe(self, token_id: int, logprob: float, top: tuple[TokenLogprob, ...] = ()) -> TokenLogprob:
        token_bytes = self._tokenizer.token_bytes(token_id)
        return TokenLogprob(token_bytes.decode("utf-8", "replace"), logprob, token_bytes, top)


def _joined(pieces: Iterable[ToolCallDelta]) -> Iterator[ToolCallDelta]:
    """Arguments that came one after another are one piece."""
    for (index, call_id, name), same in groupby(pieces, key=lambda piece: (piece.index, piece.id, piece.name)):
        arguments = "".join(piece.arguments for piece in same)
        yield ToolCallDelta(index=index, id=call_id, name=name, arguments=arguments)
