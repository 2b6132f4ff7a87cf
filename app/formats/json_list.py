"""The elements of a JSON list, one at a time, of a file that may be larger than memory and may be broken.

Only brackets, commas and strings are told apart here, so one bad element costs no other; each is then parsed by itself.
A file that holds one object and no list is a list of one. Memory: one element, and one chunk of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.language import Said

MAX_ELEMENT_BYTES = 32 * 2**20
MAX_ELEMENT_VALUES = 1_000_000      # brackets and commas: millions of tiny values take gigabytes, and seconds to parse
MAX_DEPTH = 200

# A whole string, or what a structure is made of. Possessive: no going back, however long the string.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{},]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_OPENING, _CLOSING, _COMMA, _QUOTE = b"[{", b"]}", ord(","), ord('"')


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an element, or the rest of the file, cannot be read: a sentence for a person."""

    reason: str


class NotJson(ValueError):
    """The file holds no list of anything."""

    def __init__(self, reason: Said) -> None:
        super().__init__(reason)
        self.reason = reason


class ListSplitter:
    """Feed it the file; it gives each element's bytes, not parsed, as soon as the element has ended."""

    def __init__(self) -> None:
        self._element = bytearray()
        self._fault: Fault | None = None        # of the element that is being read
        self._num_values = 0
        self._depth = 0
        self._base = 1                          # the depth at which elements stand; 0 for a lone object
        self._has_begun = self._is_done = False
        self._num_elements = 0
        self._in_string = self._is_escaped = False

    def feed(self, chunk: bytes) -> Iterator[bytes | Fault]:
        """To be gone through before the next chunk. Raises NotJson."""
        at = 0
        if not self._has_begun:
            chunk = bytes(self._element) + chunk
            at = self._begin(chunk)
            if at < 0:
                return
        if self._is_done:
            return
        start = at
        if self._in_string:
            at = self._leave_string(chunk)
        if not self._in_string:
            for token in _TOKEN.finditer(chunk, at):
                kind = chunk[token.start()]
                if kind == _QUOTE:
                    if token.end() - token.start() == 1:        # it ends in a later chunk
                        self._enter_string(chunk, token.end())
                        break
                elif kind == _COMMA and self._depth == self._base:
                    self._keep(chunk, start, token.start())
                    yield self._take()
                    start = token.end()
                elif kind in _CLOSING and self._depth == 1:
                    self._keep(chunk, start, token.start() + (self._base == 0))
                    self._is_done = True
                    if self._num_elements or self._fault or self._element.strip(_SPACE):
                        yield self._take()
                    return
                else:
                    self._count(kind)
        self._keep(chunk, start, len(chunk))

    def finish(self) -> Iterator[Fault]:
        """After the last chunk. Raises NotJson."""
        if not self._has_begun:
            raise NotJson(Said("import-empty"))
        if not self._is_done:
            yield Fault(Said("skipped-cut-off"))

    def _begin(self, chunk: bytes) -> int:
        """Where the elements begin; -1 while there is only space."""
        lead = len(_BOM) if chunk.startswith(_BOM) else 0
        rest = chunk[lead:].lstrip(_SPACE)
        if not rest or _BOM.startswith(chunk):
            self._element = bytearray(chunk[:len(_BOM)] if _BOM.startswith(chunk[:len(_BOM)]) else b"")
            return -1
        if rest[:1] not in (b"[", b"{"):
            raise NotJson(Said("import-no-list"))
        self._element.clear()
        self._has_begun, self._depth = True, 1
        at = len(chunk) - len(rest)
        if rest[:1] == b"{":
            self._base = 0
            self._element += b"{"
        return at + 1

    def _leave_string(self, chunk: bytes) -> int:
        """Where the string that an earlier chunk began ends in this one."""
        begin = 1 if self._is_escaped else 0
        end = _REST_OF_STRING.match(chunk, begin)
        if end is None:
            self._enter_string(chunk, begin)
            return len(chunk)
        self._in_string = self._is_escaped = False
        return end.end()

    def _enter_string(self, chunk: bytes, at: int) -> None:
        tail = chunk[at:]
        self._in_string = True
        self._is_escaped = (len(tail) - len(tail.rstrip(b"\\"))) % 2 == 1

    def _count(self, kind: int) -> None:
        self._num_values += 1
        if kind in _OPENING:
            self._depth += 1
        elif kind in _CLOSING:
            self._depth -= 1
        if self._depth > MAX_DEPTH + self._base:
            self._refuse(Said("skipped-deep"))
        elif self._num_values > MAX_ELEMENT_VALUES:
            self._refuse(Said("skipped-many-values", count=MAX_ELEMENT_VALUES))

    def _keep(self, chunk: bytes, start: int, end: int) -> None:
        if self._fault is None:
            self._element += memoryview(chunk)[start:end]
            if len(self._element) > MAX_ELEMENT_BYTES:
                self._refuse(Said("skipped-large", count=MAX_ELEMENT_BYTES // 2**20))

    def _refuse(self, reason: str) -> None:
        self._fault = self._fault or Fault(reason)
        self._element.clear()

    def _take(self) -> bytes | Fault:
        taken: bytes | Fault = self._fault or bytes(self._element).strip(_SPACE)
        self._element.clear()
        self._fault, self._num_values = None, 0
        self._num_elements += 1
        return taken or Fault(Said("skipped-nothing"))
