"""What a browser sends, in pieces as large as are worth a thread's while to write, and written whole. Called where
files are received.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from io import FileIO
from typing import ParamSpec, TypeVar

from app.errors import InvalidInput
from app.language import Said

WRITE_BYTES = 1 << 20           # at a time

P = ParamSpec("P")
T = TypeVar("T")


async def on_disk(do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """On a thread. Raises InvalidInput of the field `file` where the disk is full or will not take it."""
    try:
        return await asyncio.to_thread(do, *args, **kwargs)
    except OSError as error:
        is_full = error.errno == errno.ENOSPC
        told = Said("error-disk-full") if is_full else Said("error-file-not-kept", detail=str(error.strerror))
        raise InvalidInput(told, field="file") from error


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
