"""Content for the stand-in hub that no memory holds, and the hashes of it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

PERIOD_BYTES = 1_000_003        # no multiple of anything that the product counts in, so that no block is like another
STEP_BYTES = 32 << 20


@dataclass(frozen=True)
class Repeating:
    """A head, and after it the same bytes over and over, `size` in all."""

    head: bytes
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, stretch: slice) -> bytes:
        start, end, _step = stretch.indices(self.size)
        first = self.head[start:end]
        start, num_bytes = max(start, len(self.head)), end - max(start, len(self.head))
        if num_bytes <= 0:
            return first
        at = start % PERIOD_BYTES
        return first + (_pattern() * ((at + num_bytes) // PERIOD_BYTES + 1))[at: at + num_bytes]


Content = bytes | Repeating


def digest(kind: str, content: Content, prefix: bytes = b"") -> str:
    """In hexadecimal."""
    hashed = hashlib.new(kind, prefix, usedforsecurity=False)
    for piece in _pieces(content):
        hashed.update(piece)
    return hashed.hexdigest()


def short_of(content: Content) -> bytes:
    """For names of it that nobody holds against the content: they must not take a minute."""
    return content if isinstance(content, bytes) else repr(content).encode()


def _pieces(content: Content) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    for at in range(0, len(content), STEP_BYTES):
        yield content[at: at + STEP_BYTES]


@cache
def _pattern() -> bytes:
    return random.Random(5).randbytes(PERIOD_BYTES)
