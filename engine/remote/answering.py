"""An answer from elsewhere, event by event, as deltas of ours. One `Reader` an answer; it reads no network.

Thoughts come as a field of their own; where a server leaves them in the text, between <think> and </think>, they are
told apart here. A stranger's JSON is taken field by field: what is of another type than it should be is as if it were
not there, so that no odd field can break more than itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from engine.engine import Delta, TokenLogprob, ToolCallDelta, Usage
from engine.errors import EndpointError
from engine.parsers.base import Asked, Parsed, Parser, Thinking
from engine.remote.endpoint import Address
from engine.remote.wire import cut, garbage, message_in, plain
from engine.request import FinishReason
from engine.told import Told

MAX_CALLS = 128
MAX_TOKENS = 2**31
MAX_TOKEN_BYTES = 4096
LEAST_LOGPROB = -9999.0         # where there is none, or no number; OpenAI's own

_THINKING = Thinking("<think>", "</think>")
_REASONS = {
    "stop": FinishReason.STOP, "length": FinishReason.LENGTH, "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS, "content_filter": FinishReason.CONTENT_FILTER,
    "max_tokens": FinishReason.LENGTH,
}


class Reader:
    """`take` gives what an event brings, `end` the last delta. Both raise EndpointError. `is_raw`: no chat, so that
    nothing of the text means a thought.
    """

    def __init__(self, address: Address, *, is_raw: bool = False) -> None:
        self._address = address
        self._parser = None if is_raw else Parser(Asked(), _THINKING)
        self._calls: dict[int, tuple[int, str]] = {}    # by the server's index: ours, and the id that it gave
        self._num_calls = 0
        self._choice: int | None = None                 # which of several answers is ours, by the server's index
        self._reason: FinishReason | None = None
        self._usage: Usage | None = None
        self._num_pieces = 0                            # that brought words: about as many tokens

    def take(self, event: Any) -> Delta | None:
        """None where it brings no words."""
        if not isinstance(event, dict):
            raise garbage(self._address, "an event is no object")
        if event.get("error"):
            detail = plain(self._address, message_in(event)) or "-"
            raise EndpointError(Told("elsewhere-said", connection=self._address.name, detail=detail))
        if isinstance(usage := event.get("usage"), dict):
            self._usage = _usage(usage)
        choices = event.get("choices")
        if not isinstance(choices, list):
            if self._usage is None and "choices" not in event:
                raise garbage(self._address, "an event has no choices")
            return None
        if (choice := self._ours(choices)) is None:
            return None
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._reason = _REASONS.get(reason, FinishReason.STOP)
        piece = choice.get("delta") or choice.get("message") or choice
        return self._words(piece, choice) if isinstance(piece, dict) else None

    def end(self, *, is_whole: bool, num_prompt_tokens: int) -> Delta:
        """`is_whole`: the server said so. `num_prompt_tokens` is ours, where it does not say."""
        if self._reason is None and not is_whole:
            raise cut(self._address)
        if self._reason is None and not self._num_pieces:
            raise garbage(self._address, "the answer is empty")
        said = self._usage or Usage(prompt_tokens=0, completion_tokens=0)
        usage = replace(            # what is not said, or cannot be: words come of tokens
            said, prompt_tokens=said.prompt_tokens or num_prompt_tokens,
            completion_tokens=said.completion_tokens or self._num_pieces,
        )
        reason = self._reason or FinishReason.STOP
        if self._calls and reason is FinishReason.STOP:         # some servers do not tell them apart
            reason = FinishReason.TOOL_CALLS
        more = max(0, usage.completion_tokens - self._num_pieces)       # of pieces that brought several
        held = Parsed() if self._parser is None else self._parser.flush(is_cut=False)
        return Delta(
            text=held.text, reasoning=held.reasoning, num_tokens=more, finish_reason=reason, usage=usage
        )

    def _ours(self, choices: list[Any]) -> Mapping[str, Any] | None:
        """Of several answers, which nobody asked for, the one that began first; else their words would be mixed."""
        for choice in choices:
            if isinstance(choice, dict):
                index = choice.get("index")
                if type(index) is not int:
                    return choice
                if self._choice is None:
                    self._choice = index
                if index == self._choice:
                    return choice
        return None

    @property
    def says_usage(self) -> bool:
        return self._usage is not None

    def _words(self, piece: Mapping[str, Any], choice: Mapping[str, Any]) -> Delta | None:
        text = _text(piece.get("content")) or _text(piece.get("text")) or _text(piece.get("refusal"))
        reasoning = _text(piece.get("reasoning_content")) or _text(piece.get("reasoning"))
        calls = self._tool_calls(piece.get("tool_calls"))
        logprobs = _logprobs(choice.get("logprobs"))
        if not (text or reasoning or calls or logprobs):
            return None
        self._num_pieces += 1
        if self._parser is not None and text:
            parsed = self._parser.push(text)
            text, reasoning = parsed.text, reasoning + parsed.reasoning
        return Delta(text=text, reasoning=reasoning, tool_calls=calls, logprobs=logprobs, num_tokens=1)

    def _tool_calls(self, pieces: Any) -> tuple[ToolCallDelta, ...]:
        if not isinstance(pieces, list):
            return ()
        return tuple(
            call for position, each in enumerate(pieces) if isinstance(each, dict)
            and (call := self._tool_call(each, position)) is not None
        )

    def _tool_call(self, piece: Mapping[str, Any], position: int) -> ToolCallDelta | None:
        """Id and name in a call's first piece only, whatever the server repeats."""
        theirs = piece.get("index")
        index = theirs if type(theirs) is int else position
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = _text(function.get("arguments"))
        name, their_id = _text(function.get("name")), _text(piece.get("id"))
        ours, known_id = self._calls.get(index, (-1, ""))
        is_another = bool(name and their_id and known_id and their_id != known_id)      # some give each the index 0
        if ours >= 0 and not is_another:
            return ToolCallDelta(index=ours, arguments=arguments) if arguments else None
        if not name:
            raise garbage(self._address, "a call of a tool names none")
        if self._num_calls >= MAX_CALLS:
            raise garbage(self._address, "it calls too many tools")
        self._calls[index] = (self._num_calls, their_id)
        self._num_calls += 1
        call_id = their_id or f"call_{uuid4().hex[:24]}"
        return ToolCallDelta(index=self._num_calls - 1, id=call_id, name=name, arguments=arguments)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _usage(values: Mapping[str, Any]) -> Usage:
    of_prompt, of_answer = values.get("prompt_tokens_details"), values.get("completion_tokens_details")
    return Usage(
        prompt_tokens=count_of(values.get("prompt_tokens")),
        completion_tokens=count_of(values.get("completion_tokens")),
        cached_tokens=count_of(of_prompt.get("cached_tokens")) if isinstance(of_prompt, dict) else 0,
        reasoning_tokens=count_of(of_answer.get("reasoning_tokens")) if isinstance(of_answer, dict) else 0,
    )


def count_of(value: Any) -> int:
    """Of tokens, as a server says it; 0 where that is no count."""
    return value if type(value) is int and 0 <= value < MAX_TOKENS else 0


def _logprobs(value: Any) -> tuple[TokenLogprob, ...]:
    content = value.get("content") if isinstance(value, dict) else None
    return tuple(_logprob(each) for each in content if isinstance(each, dict)) if isinstance(content, list) else ()


def _logprob(value: Mapping[str, Any]) -> TokenLogprob:
    token, logprob, others = _text(value.get("token")), value.get("logprob"), value.get("top_logprobs")
    return TokenLogprob(
        token=token,
        logprob=_at_most_zero(logprob),
        bytes=_bytes(value.get("bytes"), token),
        top=tuple(_logprob(each) for each in others[:20] if isinstance(each, dict)) if isinstance(others, list) else (),
    )


def _bytes(value: Any, token: str) -> bytes:
    """Of a token that is part of a character they are what its text cannot tell; not every server says them."""
    is_known = isinstance(value, list) and len(value) <= MAX_TOKEN_BYTES
    if is_known and all(type(each) is int and 0 <= each < 256 for each in value):
        return bytes(value)
    return token.encode("utf-8", "replace")


def _at_most_zero(value: Any) -> float:
    is_known = isinstance(value, int | float) and value >= LEAST_LOGPROB        # which no NaN is
    return float(min(0.0, value)) if is_known else LEAST_LOGPROB
