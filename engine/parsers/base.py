"""What a model writes around its answer, told apart as it comes: thought, text, calls of tools. Event loop only.

`OutputProcessor` owns one parser a request. This class reads thoughts; a family's subclass adds its way to write calls.
What comes out does not depend on how the text was cut into pieces, and nothing that a model writes raises an error.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any, ClassVar

from engine.engine import ToolCallDelta
from engine.parsers.pieces import EndOfText, NotACall, PieceReader, Steps


@dataclass(frozen=True, slots=True)
class Thinking:
    """The marks around a thought."""

    opens: str
    closes: str

    def is_begun_in(self, prompt: str) -> bool:
        return prompt.rstrip().endswith(self.opens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a parser must know of the request. Calls are looked for only where tools are offered."""

    prompt: str = ""                                 # as rendered: its end says where the answer begins
    tools: tuple[dict[str, Any], ...] = ()           # as in `ChatRequest`
    parallel_tool_calls: bool = True                 # False: only the first call is kept


@dataclass(frozen=True, slots=True)
class Parsed:
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()


class Parser(PieceReader):
    opens: ClassVar[tuple[str, ...]] = ()            # marks with which calls begin
    inside: ClassVar[tuple[str, ...]] = ()           # that stand in calls or behind them
    always: ClassVar[tuple[str, ...]] = ()           # that are wanted without tools too

    def __init__(self, asked: Asked, thinking: Thinking | None = None) -> None:
        super().__init__()
        self._asked = asked
        self._thinking = thinking
        self._tools = {tool["function"]["name"]: tool["function"] for tool in asked.tools}
        self._space = ""                             # behind what was shown: shown too if more follows
        self._is_cut = False                         # no more text will come, for want of room
        self._has_thought = False
        self._num_calls = 0
        self._call_is_open = self._has_arguments = False
        self._early_arguments = ""                   # that came before the name
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCallDelta] = []
        self._steps = self._read_all()
        self.is_reasoning = thinking is not None and thinking.is_begun_in(asked.prompt)

    @property
    def marks(self) -> tuple[str, ...]:
        """Spellings that are to be seen as text where the vocabulary has them as control tokens."""
        of_calls = self.opens + self.inside if self._tools else ()
        return (*marks_of(self._thinking), *self.always, *of_calls)

    @property
    def has_calls(self) -> bool:
        return self._num_calls > 0

    @property
    def num_held(self) -> int:
        """Characters that were pushed and have not been decided."""
        return len(self._held) + len(self._aside or "") + len(self._space)

    def push(self, text: str) -> Parsed:
        self._held += text
        next(self._steps, None)
        parsed = Parsed("".join(self._text), "".join(self._reasoning), tuple(self._calls))
        for gathered in (self._text, self._reasoning, self._calls):
            gathered.clear()
        return parsed

    def flush(self, *, is_cut: bool) -> Parsed:
        """No more text will come; `is_cut` for want of room: half a call is then dropped rather than shown as text."""
        self._is_whole, self._is_cut = True, is_cut
        return self.push("")

    # -- the parts of an answer ----------------------------------------------------------------------------------------

    def _read_all(self) -> Steps[None]:
        try:
            yield from self._read_answer()
        except EndOfText:
            (self._think if self.is_reasoning else self._say)(self._held)
            self._held = ""
            if not self.has_calls and not self.is_reasoning:
                self._text.append(self._space)
            self._space = ""

    def _read_answer(self) -> Steps[None]:
        if self._thinking is not None:
            yield from self._read_thought(self._thinking)
        while True:
            mark = yield from self._read_text(*(self.opens if self._tools else ()))
            yield from self._try_call(mark)

    def _read_thought(self, thinking: Thinking) -> Steps[None]:
        """It stands first, or there is none: later on, its mark is what the answer talks about."""
        while not (begun := self._held.lstrip()) or (thinking.opens.startswith(begun) and begun != thinking.opens):
            self._space += self._take(len(self._held) - len(begun))      # shown, where there is no thought
            yield from self._more()
        if begun.startswith(thinking.opens):         # a second time, now and then, where the prompt has begun it
            self._space, self._held = "", begun[len(thinking.opens) :]
            self.is_reasoning = True
        if not self.is_reasoning:
            return
        yield from self._think_until(thinking.closes)
        yield from self._sign()

    def _think_until(self, *marks: str) -> Steps[str]:
        while True:
            text, mark = self._take_until(*marks)
            self._think(text)
            if mark:
                self._space, self.is_reasoning = "", False
                return mark
            yield from self._more()

    def _read_text(self, *marks: str) -> Steps[str]:
        while True:
            text, mark = self._take_until(*marks)
            self._say(text)
            if mark:
                return mark
            yield from self._more()

    def _try_call(self, mark: str) -> Steps[None]:
        num_calls = self._num_calls
        self._aside, self._early_arguments = mark, ""
        try:
            yield from self._read_call(mark)
        except NotACall:                             # the mark is text, and what follows it is read again
            aside, self._aside = self._aside or "", None
            shown = mark if self._num_calls == num_calls else ""
            self._say(shown)
            self._held = aside[len(shown) :] + self._held
        except EndOfText:
            if self._is_cut and mark:
                self._space = ""
            elif self._aside is not None:
                self._say(self._aside + self._held)
            self._aside, self._held = None, ""
            self._close_call()
            raise
        self._aside = None
        self._close_call()

    def _read_call(self, mark: str) -> Steps[None]:
        """What follows one of `opens`: one call or more. Raises NotACall."""
        raise NotImplementedError

    # -- what is done with a part --------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        if shown := self._without_space_at_end(text):
            self._text.append(shown)

    def _think(self, text: str) -> None:
        if shown := self._without_space_at_end(text):
            self._reasoning.append(shown if self._has_thought else shown.lstrip())
            self._has_thought = True

    def _without_space_at_end(self, text: str) -> str:
        shown = text.rstrip()
        before, self._space = self._space, text[len(shown) :]
        if shown:
            return before + shown
        self._space = before + text
        return ""

    def _open_call(self, name: str) -> None:
        """Its id and name are told at once, its arguments as they come."""
        self._aside, self._space = None, ""
        self._call_is_open, self._has_arguments = True, False
        self._num_calls += 1
        self._tell(ToolCallDelta(index=self._num_calls - 1, id=self._new_id(), name=name))
        arguments, self._early_arguments = self._early_arguments, ""
        self._add_arguments(arguments)

    def _add_arguments(self, piece: str) -> None:
        if not self._call_is_open:
            self._early_arguments += piece
        elif piece:
            self._has_arguments = True
            self._tell(ToolCallDelta(index=self._num_calls - 1, arguments=piece))

    def _close_call(self) -> None:
        if self._call_is_open and not self._has_arguments and not self._is_cut:
            self._add_arguments("{}")
        self._call_is_open = False

    def _tell(self, delta: ToolCallDelta) -> None:
        if delta.index == 0 or self._asked.parallel_tool_calls:
            self._calls.append(delta)

    def _new_id(self) -> str:
        return f"call_{secrets.token_hex(12)}"


def marks_of(thinking: Thinking | None) -> tuple[str, ...]:
    return () if thinking is None else (thinking.opens, thinking.closes)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def is_json(text: str) -> bool:
    """As the standard has it: Python's reader takes NaN and Infinity too."""
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
