"""gpt-oss: messages `<|channel|>NAME<|message|>…<|end|>`, of which `analysis` is thought and `final` the answer.

A message `to=functions.f` is a call, its text the arguments. What is in `commentary` for nobody is said to the person.
"""

from __future__ import annotations

import re

from engine.parsers.base import Parser
from engine.parsers.pieces import Steps

_MESSAGE = "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_BEGINNINGS = ("<|start|>", "<|channel|>", _MESSAGE, "to=")
_MAX_HEADER_CHARS = 512          # looked over again with each piece that comes
_HEADER = re.compile(r"\s*(?:<\|start\|>\s*\w*)?(?: ?to=\S+)?\s*(?:<\|channel\|>\s*\w*)?")
_RECIPIENT = re.compile(r"\bto=functions\.([^\s<]+)")


class HarmonyParser(Parser):
    always = ("<|start|>", "<|channel|>", "<|constrain|>", _MESSAGE, *_ENDS)

    def _read_answer(self) -> Steps[None]:
        is_begun = not self._asked.prompt.rstrip().endswith("<|start|>assistant")
        if is_begun:                                 # an answer is continued
            yield from self._read_text(*_ENDS)
        while True:
            yield from self._read_message()

    def _read_message(self) -> Steps[None]:
        header = yield from self._read_header()
        recipient = _RECIPIENT.search(header)
        if recipient and self._tools:
            yield from self._try_call(recipient[1])
        elif "<|channel|>analysis" in header:
            self.is_reasoning = True
            yield from self._think_until(*_ENDS)
        else:
            yield from self._read_text(*_ENDS)

    def _read_header(self) -> Steps[str]:
        """Up to the message's text. Empty where a model has forgotten the form: then all it writes is text."""
        while (length := self._held.find(_MESSAGE)) < 0 or not _is_header(self._held):
            if not _is_header(self._held):
                return ""
            if self._is_whole:
                self._held = "" if self._is_cut else _HEADER.sub("", self._held, count=1)
            yield from self._more()
        header = self._take(length)
        self._take(len(_MESSAGE))
        return header

    def _read_call(self, mark: str) -> Steps[None]:
        self._open_call(mark)
        while True:
            text, end = self._take_until(*_ENDS)
            self._add_arguments(text)
            if end:
                return
            yield from self._more()


def _is_header(text: str) -> bool:
    """Whether it is the beginning of one, however short."""
    text, mark, _ = text.lstrip().partition(_MESSAGE)
    if len(text) > _MAX_HEADER_CHARS + (0 if mark else len(_MESSAGE)) or any(end in text for end in _ENDS):
        return False
    text += mark
    return any(text.startswith(beginning) or beginning.startswith(text) for beginning in _BEGINNINGS)
