"""What the doctor of chat templates finds, as values that are stored, with a sentence each: see `template_doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.told import packed, unpacked


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
    detail: str = ""            # what was told (`Told`), or markers

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
            "findings": [[each.code.value, each.level.value, packed(each.detail)] for each in self.findings],
        }

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> TemplateReport:
        """Findings of another version's doctor, which this one does not know, are left out."""
        findings = tuple(
            Finding(Code(code), Level(level), unpacked(detail))
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
