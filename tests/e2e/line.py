"""A network between a browser and a server that a test can hold up and cut. On the test's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Line:
    def __init__(self, port: int) -> None:
        self._port = port
        self._asks, self._answers = asyncio.Event(), asyncio.Event()        # what passes: to the server, and back
        self.release()
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""

    def hold(self) -> None:
        """Nothing passes, and nobody is told."""
        self._asks.clear()
        self._answers.clear()

    def hold_answers(self) -> None:
        """What is asked arrives, and nobody hears of it."""
        self._answers.clear()

    def cut(self) -> None:
        """What is on its way is lost with its connections; new ones pass."""
        for writer in self._writers:
            writer.transport.abort()
        self.release()

    def release(self) -> None:
        """What was held passes."""
        self._asks.set()
        self._answers.set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._asks.wait()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        both = {writer, far_writer}
        self._writers |= both
        await asyncio.gather(
            self._pass(reader, far_writer, self._asks), self._pass(far_reader, writer, self._answers)
        )
        self._writers -= both

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 14):
                await passes.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def line_to(port: int) -> AsyncIterator[Line]:
    line = Line(port)
    listener = await asyncio.start_server(line.connect, "127.0.0.1", 0)
    line.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    yield line
    line.cut()
    listener.close()
