"""Server-sent events from a stranger, bounded throughout: the data of each, as strict JSON. It reads no network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from pydantic_core import from_json

from engine.remote.endpoint import Address
from engine.remote.wire import cut, garbage

MAX_LINE_BYTES = 2**20
MAX_ANSWER_BYTES = 64 * 2**20           # of one answer with all that stands around its text
DONE = b"[DONE]"


async def events(address: Address, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
    """Each event's data; None for [DONE], which is the last. Comments, which keep lines open, are passed over.

    Raises EndpointError for what is no such stream, and for one that ends within a line.
    """
    data = bytearray()      # of one event, a line's end after each of its lines
    async for line in _lines(address, pieces):
        if not line:
            if data:
                text = bytes(data)
                data.clear()
                yield (value := _value(address, text))
                if value is None:
                    return
            continue
        name, _, rest = line.partition(b":")
        if name == b"data":
            data += rest.removeprefix(b" ") + b"\n"
            if len(data) > MAX_LINE_BYTES + 1:
                raise garbage(address, "an event is too long")
        elif name not in (b"", b"event", b"id", b"retry"):
            raise garbage(address, "a line is no event")
    if data:
        yield _value(address, bytes(data))          # some servers leave out the last empty line


async def _lines(address: Address, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    rest = bytearray()          # of a line that has not ended; it grows by small pieces without being copied each time
    async for piece in pieces:
        first, *others = piece.split(b"\n")
        rest += first
        for other in others:
            yield _line(address, rest)
            rest = bytearray(other)
        if len(rest) > MAX_LINE_BYTES:
            raise garbage(address, "a line is too long")
    if rest.strip():
        if rest.startswith(b"data: {") and not rest.rstrip().endswith(b"}"):
            raise cut(address)
        yield _line(address, rest)


def _line(address: Address, line: bytearray) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise garbage(address, "a line is too long")
    return bytes(line.removesuffix(b"\r"))


def _value(address: Address, text: bytes) -> Any:
    if text.strip() == DONE:
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise garbage(address, "an event is no JSON") from error
    if value is None:
        raise garbage(address, "an event is empty")
    return value
