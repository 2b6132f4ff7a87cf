"""Tokens to text, as they come. `OutputProcessor` owns one a request; event loop only.

A token may hold any part of a character. Text comes out as soon as its characters are whole; bytes that cannot become a
character, whatever follows, come out as U+FFFD, and never before that is certain. What is still incomplete when the
answer ends is simply not asked for any more, so an answer cut in mid-character has no broken end.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping

from engine.backends.base import Tokenizer

_Utf8Decoder = codecs.getincrementaldecoder("utf-8")


class Detokenizer:
    """Control tokens are no text, but for `marks`: spellings by token id, for whoever reads them out of the text."""

    def __init__(self, tokenizer: Tokenizer, marks: Mapping[int, str] | None = None) -> None:
        self._tokenizer = tokenizer
        self._marks = {token_id: spelling.encode() for token_id, spelling in (marks or {}).items()}
        self._decoder = _Utf8Decoder(errors="replace")

    def push(self, *token_ids: int) -> str:
        """The text that these tokens complete: maybe none. Pieces join to what the whole would decode to."""
        return self._decoder.decode(b"".join(map(self._bytes, token_ids)))

    def _bytes(self, token_id: int) -> bytes:
        mark = self._marks.get(token_id)
        return self._tokenizer.token_bytes(token_id) if mark is None else mark
