"""Compresses what never changes once, and well. Pure ASGI between the door and the rest; `app.main` puts it there.

Everything else is compressed anew each time, by Starlette's middleware further in.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import OrderedDict
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDERS = ("/assets/", "/_nicegui/")
MIN_BYTES = 1000
MAX_HELD_BYTES = 16 * 2**20         # compressed; the addresses of the same file with any `?v=` are many
TEXTS = ("text/css", "text/javascript", "application/json", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class Packed:
    headers: list[tuple[bytes, bytes]]
    body: bytes


class PackOnce:
    """Keeps whole answers that say of themselves that they are immutable and for everybody."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._held: OrderedDict[str, Packed] = OrderedDict()        # by path and query, least recently used first
        self._num_held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _may_be_packed(scope):
            await self._app(scope, receive, send)
            return
        address = f"{scope['path']}?{scope['query_string'].decode('latin-1')}"
        if (packed := self._held.get(address)) is not None:
            self._held.move_to_end(address)
            await _answer(packed, send)
            return
        plain = dict(scope, headers=[pair for pair in scope["headers"] if pair[0] != b"accept-encoding"])
        await self._app(plain, receive, _Collector(self, address, send))

    def hold(self, address: str, packed: Packed) -> None:
        if (replaced := self._held.pop(address, None)) is not None:
            self._num_held_bytes -= len(replaced.body)
        self._held[address] = packed
        self._num_held_bytes += len(packed.body)
        while self._num_held_bytes > MAX_HELD_BYTES:
            self._num_held_bytes -= len(self._held.popitem(last=False)[1].body)


class _Collector:
    """`send` for one request: lets everything through but an immutable text, which it packs when it is whole."""

    def __init__(self, owner: PackOnce, address: str, send: Send) -> None:
        self._owner = owner
        self._address = address
        self._send = send
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_immutable_text(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._pack(self._start)

    async def _pack(self, start: Message) -> None:
        plain = b"".join(self._parts)
        if Headers(raw=start["headers"]).get("content-length") != str(len(plain)):
            # Its reader left, so the rest did not come: nobody else may be given that, least of all for ever.
            await self._send(start)
            await self._send({"type": "http.response.body", "body": plain})
            return
        body = await asyncio.to_thread(gzip.compress, plain, 9, mtime=0) if len(plain) >= MIN_BYTES else plain
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["Content-Length"] = str(len(body))
        headers.add_vary_header("Accept-Encoding")
        if body is not plain:
            headers["Content-Encoding"] = "gzip"
            if "etag" in headers:
                del headers["etag"]        # it names the plain form
        packed = Packed(headers.raw, body)
        self._owner.hold(self._address, packed)
        await _answer(packed, self._send)


def _may_be_packed(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(FOLDERS):
        return False
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and "range" not in headers


def _is_immutable_text(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return (
        start["status"] == 200
        and "immutable" in headers.get("cache-control", "")
        and "content-encoding" not in headers
        and headers.get("content-type", "").partition(";")[0] in TEXTS
    )


async def _answer(packed: Packed, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": packed.headers})
    await send({"type": "http.response.body", "body": packed.body})
