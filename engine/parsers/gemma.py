"""Gemma: `call:f{key:<|"|>text<|"|>,other:1}` between marks of its own; FunctionGemma writes `<escape>` for the quotes.

It is JSON but for its keys and quotes, and is made into it when the call is whole.
"""

from __future__ import annotations

import re

from engine.parsers.base import Parser, as_json, is_json
from engine.parsers.pieces import NotACall, Steps

_CLOSES = {"<|tool_call>": "<tool_call|>", "<start_function_call>": "<end_function_call>"}
_QUOTES = ('<|"|>', "<escape>")
_PART = re.compile(
    r'(?:<\|"\|>|<escape>)(?P<text>.*?)(?:<\|"\|>|<escape>|$)'
    r'|"(?:[^"\\]|\\.)*"'                                           # JSON after all
    r'|(?P<before>[{,]\s*)(?P<key>[^\s:{}\[\],"<]+)\s*:'
    r'|(?P<bare>[^\s:{}\[\],"<][^{}\[\],"<]*)',
    re.DOTALL,
)
_ENDS_A_VALUE = (",", "}", "]")


class GemmaParser(Parser):
    opens = tuple(_CLOSES)
    inside = (*_CLOSES.values(), *_QUOTES)
    always = ("<|channel>",)                         # a token of its own, with which the mark of a thought begins

    def _read_call(self, mark: str) -> Steps[None]:
        yield from self._sign()
        if not (yield from self._skip("call:")):
            raise NotACall
        name, _ = yield from self._name_until("{")
        self._open_call(name)
        self._add_arguments(_PART.sub(_in_json, (yield from self._arguments_until(_CLOSES[mark]))))

    def _arguments_until(self, closes: str) -> Steps[str]:
        """In quotes, the mark that ends a call is text like any other; but not where they are never closed."""
        written, is_quoted, first_quoted_end = "{", False, -1
        while True:
            text, mark = self._take_until(closes, *_QUOTES)
            written += text
            if mark == closes and not is_quoted:
                return written.strip()
            if mark == closes and first_quoted_end < 0:
                first_quoted_end = len(written)
            written += mark
            is_quoted ^= mark in _QUOTES
            if not mark and self._is_whole:
                if is_quoted and first_quoted_end >= 0 and not self._is_cut:
                    self._put_back(written[first_quoted_end + len(closes) :])
                    return written[:first_quoted_end].strip()
                self._add_arguments(_PART.sub(_in_json, written.strip()))
            if not mark:
                yield from self._more()


def _in_json(found: re.Match[str]) -> str:
    if (text := found["text"]) is not None:
        return as_json(text)
    if (key := found["key"]) is not None:
        return f"{found['before']}{as_json(key)}:"
    bare = (found["bare"] or "").strip()
    is_whole = found.string.startswith(_ENDS_A_VALUE, found.end())
    return as_json(bare) if bare and is_whole and not is_json(bare) else found[0]
