"""Text that comes in pieces, read as if it were whole: what parsers are written in. Event loop only."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]      # a reader that waits, at each `yield`, for more text to be held

_NAME = re.compile(r"[\w.:/-]*")
_MAX_NAME_CHARS = 256            # looked over again with each piece that comes


class NotACall(Exception):
    """What looked like one is the answer's own text."""


class EndOfText(Exception):
    """No more text will come."""


class PieceReader:
    """What comes, up to where it has been read; its subclass, `Parser`, adds to it and says when it is whole."""

    def __init__(self) -> None:
        self._held = ""                              # text that nobody has read yet
        self._aside: str | None = None               # text of what may be a call, until its name is known
        self._is_whole = False                       # no more text will come

    def _more(self) -> Steps[None]:
        if self._is_whole:
            raise EndOfText
        yield

    def _take(self, num_chars: int) -> str:
        taken, self._held = self._held[:num_chars], self._held[num_chars:]
        if self._aside is not None:
            self._aside += taken
        return taken

    def _put_back(self, text: str) -> None:
        self._held = text + self._held
        if self._aside is not None:
            self._aside = self._aside.removesuffix(text)

    def _take_until(self, *marks: str) -> tuple[str, str]:
        """The text before the first of `marks`, and that mark, both taken; "" while there is none: what may then be the
        beginning of one stays held. No mark may stand inside another, but at its end.
        """
        found = [(at, mark) for mark in marks if (at := self._held.find(mark)) >= 0]
        if found:
            at, mark = min(found)
            text = self._take(at)
            return text, self._take(len(mark))
        return self._take(len(self._held) if self._is_whole else _num_certain(self._held, marks)), ""

    def _sign(self) -> Steps[str]:
        """The next character that is no space; not taken."""
        while True:
            self._take(len(self._held) - len(self._held.lstrip()))
            if self._held:
                return self._held[0]
            yield from self._more()

    def _expect(self, sign: str) -> Steps[None]:
        if (yield from self._sign()) != sign:
            raise NotACall
        self._take(1)

    def _skip(self, mark: str) -> Steps[bool]:
        """Whether `mark` comes next; it is then taken."""
        while not self._held.startswith(mark):
            if not mark.startswith(self._held):
                return False
            yield from self._more()
        self._take(len(mark))
        return True

    def _name_until(self, *marks: str) -> Steps[tuple[str, str]]:
        """A name, and the mark behind it. Raises NotACall as soon as it cannot be one."""
        taken = ""
        while True:
            text, mark = self._take_until(*marks)
            taken += text
            name = taken.strip()
            if len(taken) > _MAX_NAME_CHARS or not _NAME.fullmatch(name) or (mark and not name):
                self._put_back(taken + mark)
                raise NotACall
            if mark:
                return name, mark
            yield from self._more()


def _num_certain(text: str, marks: tuple[str, ...]) -> int:
    """How many characters stand before what may be the beginning of a mark."""
    longest = max(map(len, marks), default=1) - 1
    for at in range(max(len(text) - longest, 0), len(text)):
        if any(mark.startswith(text[at:]) for mark in marks):
            return at
    return len(text)
