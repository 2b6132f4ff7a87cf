"""Looks a model's chat template over: renders fixed conversations, and holds what comes out against the tokenizer's
special tokens and against the families whose answers are read here.

A wrong template raises no error: answers are only worse. Called when a model becomes known, on any thread; a hostile
template costs little more than a second.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.chat_template import ChatTemplate
from engine.engine import ChatMessage
from engine.errors import TemplateError
from engine.gguf_vocabulary import SpecialTokens
from engine.parsers.base import Thinking
from engine.parsers.choose import Family, choose

MAX_CPU_S = 0.4                 # after which no further conversation is tried; one alone may take twice as long

# Words that no template holds.
SYSTEM, QUESTION, ANSWER, AGAIN, RESULT = "zqsystem", "zqquestion", "zqanswer", "zqagain", "zqresult"
_TOOL_NAME = "zq_weather"
_TOOL = {
    "type": "function",
    "function": {
        "name": _TOOL_NAME,
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Its name."}},
            "required": ["city"],
        },
    },
}
_CALL = {
    "id": "zq1234567",          # nine letters and digits: Mistral's insist on that
    "type": "function",
    "function": {"name": _TOOL_NAME, "arguments": '{"city": "Paris"}'},
}
_ASKS = ChatMessage(role="user", content=QUESTION)
_ANSWERS = ChatMessage(role="assistant", content=ANSWER)
_ASKS_AGAIN = ChatMessage(role="user", content=AGAIN)
_CALLS = ChatMessage(role="assistant", tool_calls=(_CALL,))
_TELLS_RESULT = ChatMessage(role="tool", content=RESULT, name=_TOOL_NAME, tool_call_id="zq1234567")

_MARKER = re.compile(r"<\|[^\s|<>]{1,40}\|>|<｜[^\s｜<>]{1,40}｜>|</?(?:start|end)_of_turn>")
_OPENED_THOUGHT = re.compile(r"(<(?!/|\|?end)[^<>\s]*(?:think|thought|reason)[^<>\s]*>|\[THINK\])\s*$", re.IGNORECASE)


class Level(StrEnum):
    FAULT = "fault"             # chats fail, or are answered badly
    LOSS = "loss"               # something cannot be used with it
    NOTE = "note"


class Code(StrEnum):
    """What is found. Pages have a message of their own for each."""

    NONE = "none"
    BROKEN = "broken"
    SLOW = "slow"
    LOSES_QUESTION = "loses-question"
    LOSES_ANSWERS = "loses-answers"
    LOSES_SYSTEM = "loses-system"
    REFUSES_SYSTEM = "refuses-system"
    REFUSES_HISTORY = "refuses-history"
    REFUSES_TWO_IN_A_ROW = "refuses-two-in-a-row"
    NO_ANSWER_BEGUN = "no-answer-begun"
    NO_END = "no-end"
    FOREIGN_MARKERS = "foreign-markers"
    NO_START = "no-start"
    WRITES_NONE = "writes-none"
    FAILS_ON_EMPTY = "fails-on-empty"
    NO_TOOLS = "no-tools"
    CALLS_AS_TEXT = "calls-as-text"
    REFUSES_TOOLS = "refuses-tools"
    LOSES_TOOLS = "loses-tools"
    REFUSES_RESULTS = "refuses-results"
    LOSES_RESULTS = "loses-results"
    UNREAD_THOUGHT = "unread-thought"


@dataclass(frozen=True, slots=True)
class Finding:
    code: Code
    level: Level
    detail: str = ""            # a template's own words, or markers

    def __str__(self) -> str:
        return SENTENCES[self.code].format(detail=self.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateReport:
    family: str = ""            # whose way of writing is read: "hermes"; "" where answers are plain text
    calls_tools: bool = False   # they can be offered, and calls are read
    takes_images: bool = False  # in a message; whether the model has eyes is another matter
    thinks: str = ""            # "" never, "maybe", or "always": the template begins the thought itself
    findings: tuple[Finding, ...] = ()

    @property
    def is_fit_for_chat(self) -> bool:
        return all(finding.level is not Level.FAULT for finding in self.findings)

    def to_values(self) -> dict[str, Any]:
        """As `from_values` reads it, for the store."""
        return {
            "family": self.family, "calls_tools": self.calls_tools, "takes_images": self.takes_images,
            "thinks": self.thinks,
            "findings": [[finding.code.value, finding.level.value, finding.detail] for finding in self.findings],
        }

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> TemplateReport:
        """Findings of another version's doctor, which this one does not know, are left out."""
        findings = tuple(
            Finding(Code(code), Level(level), detail)
            for code, level, detail in values.get("findings", ()) if code in set(Code)
        )
        known = {name: values[name] for name in ("family", "calls_tools", "takes_images", "thinks") if name in values}
        return cls(**known, findings=findings)


SENTENCES = {
    Code.NONE: "It has no chat template: it is a base model, for completion only.",
    Code.BROKEN: "It cannot be used: {detail}",
    Code.SLOW: "It is too slow to be looked over: what is not said here was not tried.",
    Code.LOSES_QUESTION: "It drops what a person says.",
    Code.LOSES_ANSWERS: "It drops earlier answers: the model does not know what it said.",
    Code.LOSES_SYSTEM: "It drops the system prompt.",
    Code.REFUSES_SYSTEM: "It takes no system prompt: that is put before the first question instead.",
    Code.REFUSES_HISTORY: "It refuses a conversation with answers in it: {detail}",
    Code.REFUSES_TWO_IN_A_ROW: "It refuses two messages of one person in a row.",
    Code.NO_ANSWER_BEGUN: "It does not say where the answer begins: the model may go on in the person's name.",
    Code.NO_END: "It ends an answer with no marker of the tokenizer: the model may not know when to stop.",
    Code.FOREIGN_MARKERS: "It writes {detail}, which this model's tokenizer reads as letters: it is another model's.",
    Code.NO_START: "It leaves out {detail}, with which the tokenizer begins each text.",
    Code.WRITES_NONE: "It writes 'None' where a message is empty.",
    Code.FAILS_ON_EMPTY: "It fails on an empty message: {detail}",
    Code.NO_TOOLS: "It has no place for tools: the model cannot call any.",
    Code.CALLS_AS_TEXT: "It calls tools as text: in a form that is not read here, so none are offered to it.",
    Code.REFUSES_TOOLS: "It refuses tools: {detail}",
    Code.LOSES_TOOLS: "It drops the tools that it is offered.",
    Code.REFUSES_RESULTS: "It refuses what a tool has answered: {detail}",
    Code.LOSES_RESULTS: "It drops what a tool has answered.",
    Code.UNREAD_THOUGHT: "It begins a thought with {detail}, which is not read here: thoughts stand in the answer.",
}


def examine(source: str | None, tokens: SpecialTokens) -> TemplateReport:
    if source is None or not source.strip():
        return TemplateReport(findings=(Finding(Code.NONE, Level.FAULT),))
    return _Examination(source, tokens).report()


class _TooSlow(Exception):
    pass


class _Examination:
    def __init__(self, source: str, tokens: SpecialTokens) -> None:
        self._template = ChatTemplate(source, bos_token=tokens.bos, eos_token=tokens.eos)
        self._tokens = tokens
        self._family = choose(source)
        self._findings: list[Finding] = []
        self._calls_tools = self._takes_images = False
        self._thinks = ""
        self._began_s = time.thread_time()

    def report(self) -> TemplateReport:
        try:
            self._look()
        except _TooSlow:
            self._find(Code.SLOW, Level.NOTE)
        return TemplateReport(
            family=_name_of(self._family),
            calls_tools=self._calls_tools,
            takes_images=self._takes_images,
            thinks=self._thinks,
            findings=tuple(self._findings),
        )

    def _look(self) -> None:
        try:
            plain = self._template.render([_ASKS])
        except TemplateError as error:
            self._find(Code.BROKEN, Level.FAULT, str(error))
            return
        if QUESTION not in plain:
            self._find(Code.LOSES_QUESTION, Level.FAULT)
            return
        self._check_beginning(plain)
        self._check_thoughts(plain)
        self._check_system()
        history = self._check_history()
        self._check_markers(plain + history)
        self._check_empty()
        self._check_tools()
        self._check_images()

    # -- conversations -------------------------------------------------------------------------------------------------

    def _check_beginning(self, plain: str) -> None:
        if not plain.rpartition(QUESTION)[2].strip():       # some end a person's message and begin the answer in one
            self._find(Code.NO_ANSWER_BEGUN, Level.FAULT)
        bos = self._tokens.bos
        if self._tokens.adds_bos and bos and not plain.startswith(bos):
            self._find(Code.NO_START, Level.FAULT, bos)

    def _check_thoughts(self, plain: str) -> None:
        thinking: Thinking | None = self._family.thinking if self._family else None
        if thinking is not None:
            self._thinks = "always" if thinking.is_begun_in(plain) else "maybe"
        elif (opened := _OPENED_THOUGHT.search(plain)) and _name_of(self._family) != "harmony":
            self._find(Code.UNREAD_THOUGHT, Level.FAULT, opened[1])

    def _check_system(self) -> None:
        prompt = self._tried(
            lambda: self._template.render([ChatMessage(role="system", content=SYSTEM), _ASKS]),
            Code.REFUSES_SYSTEM, Level.NOTE,
        )
        if prompt is not None and SYSTEM not in prompt:
            self._find(Code.LOSES_SYSTEM, Level.LOSS)

    def _check_history(self) -> str:
        prompt = self._tried(
            lambda: self._template.render([_ASKS, _ANSWERS, _ASKS_AGAIN]), Code.REFUSES_HISTORY, Level.FAULT
        )
        if prompt is None:
            return ""
        if ANSWER not in prompt:
            self._find(Code.LOSES_ANSWERS, Level.FAULT)
        elif self._tokens.spellings and AGAIN in prompt:
            between = prompt.partition(ANSWER)[2].partition(AGAIN)[0]
            if not any(spelling in between for spelling in (*self._tokens.spellings, self._tokens.eos) if spelling):
                self._find(Code.NO_END, Level.FAULT)
        if self._tried(lambda: self._template.render([_ASKS, _ASKS_AGAIN])) is None:
            self._find(Code.REFUSES_TWO_IN_A_ROW, Level.NOTE)
        return prompt

    def _check_markers(self, prompt: str) -> None:
        if not self._tokens.spellings:
            return
        known = self._tokens.spellings | {self._tokens.bos, self._tokens.eos}
        foreign = [marker for marker in dict.fromkeys(_MARKER.findall(prompt)) if marker not in known]
        if foreign:
            self._find(Code.FOREIGN_MARKERS, Level.FAULT, ", ".join(foreign[:6]))

    def _check_empty(self) -> None:
        empty = {"role": "assistant", "content": ""}
        null = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
        asks, again = {"role": "user", "content": QUESTION}, {"role": "user", "content": AGAIN}
        prompt = self._tried(
            lambda: self._template.render_as_given([asks, empty, again]), Code.FAILS_ON_EMPTY, Level.NOTE
        )
        prompts = [prompt or ""]
        if self._template.reads_tools:       # null stands beside calls alone
            prompts.append(self._tried(lambda: self._template.render_as_given([asks, null], tools=[_TOOL])) or "")
        if any(re.search(r"\bNone\b", each) for each in prompts):
            self._find(Code.WRITES_NONE, Level.LOSS)

    def _check_tools(self) -> None:
        if not self._template.reads_tools:
            self._find(Code.NO_TOOLS, Level.NOTE)
            return
        prompt = self._tried(lambda: self._template.render([_ASKS], tools=[_TOOL]), Code.REFUSES_TOOLS, Level.LOSS)
        if prompt is None:
            return
        if _TOOL_NAME not in prompt:
            self._find(Code.LOSES_TOOLS, Level.LOSS)
            return
        if self._family is None or not self._family.reads_calls:
            self._find(Code.CALLS_AS_TEXT, Level.LOSS)
            return
        self._calls_tools = True
        prompt = self._tried(
            lambda: self._template.render([_ASKS, _CALLS, _TELLS_RESULT], tools=[_TOOL]),
            Code.REFUSES_RESULTS, Level.LOSS,
        )
        if prompt is not None and RESULT not in prompt:
            self._find(Code.LOSES_RESULTS, Level.LOSS)

    def _check_images(self) -> None:
        parts = [{"type": "image"}, {"type": "text", "text": QUESTION}]
        with_image = self._tried(lambda: self._template.render_as_given([{"role": "user", "content": parts}]))
        without = self._tried(lambda: self._template.render_as_given([{"role": "user", "content": parts[1:]}]))
        # Those that know no parts print the list as it is.
        self._takes_images = bool(
            with_image and without and with_image != without and QUESTION in with_image and "'type'" not in with_image
            and '"type"' not in with_image
        )

    def _tried(self, render: Callable[[], str], code: Code | None = None, level: Level = Level.NOTE) -> str | None:
        """What is rendered; None, with a finding where one is named, if the template refuses."""
        if time.thread_time() - self._began_s > MAX_CPU_S:
            raise _TooSlow
        try:
            return render()
        except TemplateError as error:
            if code is not None:
                self._find(code, level, str(error))
            return None

    def _find(self, code: Code, level: Level, detail: str = "") -> None:
        self._findings.append(Finding(code, level, detail))


def _name_of(family: Family | None) -> str:
    """Of the module in which its parser stands."""
    if family is None or not family.reads_calls:
        return ""
    return family.parser.__module__.rpartition(".")[2]
