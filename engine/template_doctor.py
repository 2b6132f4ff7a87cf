"""Looks a model's chat template over: renders fixed conversations, and holds what comes out against the tokenizer's
special tokens and against the families whose answers are read here.

A wrong template raises no error: answers are only worse. Called when a model becomes known, on any thread; a hostile
template costs little more than a second.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from engine.chat_template import ChatTemplate
from engine.engine import ChatMessage
from engine.errors import TemplateError
from engine.gguf_vocabulary import SpecialTokens
from engine.parsers.base import Thinking
from engine.parsers.choose import Family, choose
from engine.template_report import SENTENCES as SENTENCES
from engine.template_report import Code as Code
from engine.template_report import Finding as Finding
from engine.template_report import Level as Level
from engine.template_report import TemplateReport as TemplateReport

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
            self._find(Code.BROKEN, Level.FAULT, error.sentence)
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
                self._find(code, level, error.sentence)
            return None

    def _find(self, code: Code, level: Level, detail: str = "") -> None:
        self._findings.append(Finding(code, level, detail))


def _name_of(family: Family | None) -> str:
    """Of the module in which its parser stands."""
    if family is None or not family.reads_calls:
        return ""
    return family.parser.__module__.rpartition(".")[2]
