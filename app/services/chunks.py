"""What a browser sends, in pieces as large as are worth a thread's while to write. Called where files are received."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable

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
