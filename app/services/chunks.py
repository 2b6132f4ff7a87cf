"""What a browser sends, in pieces as large as are worth a thread's while to write, and written whole. Called where
files are received.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from io import FileIO

WRITE_BYTES = 1 << 20           # at a time


async def in_pieces(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytearray]:
    """The same bytes, at least WRITE_BYTES in each piece but the last."""
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        if len(waiting) >= WRITE_BYTES:
            yield waiting
            waiting = bytearray()
    if waiting:
        yield waiting


def write_whole(file: FileIO, piece: bytearray) -> None:
    """A disk that fills up takes a part without a word, and refuses only what comes after it. Raises OSError."""
    left = memoryview(piece)
    while left:
        left = left[file.write(left):]
