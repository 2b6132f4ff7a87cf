"""One request on a socket of its own, which may be cut at any moment. On asyncio's streams, as cheap as can be: the
clients share two cores with the server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

HOST = "127.0.0.1"


class Exchange:
    """`send` may be told to send a part only. Errors of the socket are raised as OSError or IncompleteReadError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Exchange:
        return cls(*await asyncio.open_connection(HOST, port, limit=1 << 18))

    async def send(self, key: str, path: str, body: dict[str, Any], *, share: float = 1.0) -> None:
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        ).encode()
        message = head + data
        self._writer.write(message[: round(share * len(message))])
        await self._writer.drain()

    async def status(self) -> int:
        line = await self._reader.readuntil(b"\r\n")
        await self._reader.readuntil(b"\r\n\r\n")
        return int(line.split()[1])

    async def rest(self) -> str:
        return (await self._reader.read()).decode()

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Up to [DONE]. Raises IncompleteReadError where the server hangs up before it."""
        while True:
            line = await self._reader.readuntil(b"\n")
            if line.startswith(b"data: [DONE]"):
                return
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def cut(self) -> None:
        """As a process that dies."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()
