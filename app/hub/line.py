"""A connection to whoever has a file's bytes: HTTP/1.1, one stretch after the other. On the hub's thread.

By way of httpx a body is copied into h11, out of it and once more, in pieces that pass a dozen coroutines: half a
second of a core a GB. Here it goes from the socket, or from TLS, into one buffer again and again; h11 reads heads.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import cast

import h11
import httpx

from app.hub.connect import connected

HAND_OVER_S = 0.5               # what came of a slow body by then is handed over, though the buffer is not full
HEAD_BYTES = 64 * 1024


class NotPlain(Exception):
    """An answer of unsaid length, or in chunks: httpx reads such."""


class Line:
    """All that waits raises httpx.TransportError. After an error, or a body that was left, it can only be closed."""

    def __init__(
        self, url: httpx.URL, transport: asyncio.Transport, receiver: _Receiver, read_timeout_s: float
    ) -> None:
        self.response = httpx.Response(0)
        self._origin = _origin(url)
        self._transport = transport
        self._receiver = receiver
        self._read_timeout_s = read_timeout_s
        self._left_bytes = 0            # of the body that is being read
        self._stays_open = False

    @classmethod
    async def to(cls, url: httpx.URL, tls: ssl.SSLContext, *, connect_timeout_s: float, read_timeout_s: float) -> Line:
        host, is_tls = url.raw_host.decode("ascii"), url.scheme == "https"
        try:
            async with asyncio.timeout(connect_timeout_s):
                sock = await connected(host, url.port or (443 if is_tls else 80))
                transport, receiver = await _spoken(sock, tls if is_tls else None, host)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except (OSError, UnicodeError) as error:        # the latter of a name that is none
            raise httpx.ConnectError(str(error)) from error
        return cls(url, transport, receiver, read_timeout_s)

    @property
    def is_free(self) -> bool:
        """Whether it can take another request."""
        return self._stays_open and not self._left_bytes and self._receiver.is_silent

    def leads_to(self, url: httpx.URL) -> bool:
        return self._origin == _origin(url)

    async def ask(self, request: httpx.Request) -> None:
        """`response` is then the head of the answer. Raises NotPlain as well."""
        self._stays_open = False
        state = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        asked = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        self._transport.write(b"".join(filter(None, (state.send(asked), state.send(h11.EndOfMessage())))))
        try:
            async with asyncio.timeout(self._read_timeout_s):      # all of it: one that trickles is no better than none
                head = await self._head(state)
        except TimeoutError as error:
            raise httpx.ReadTimeout("no whole head") from error
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        self.response = httpx.Response(head.status_code, headers=head.headers.raw_items(), request=request)
        length = self.response.headers.get("content-length")
        if length is None or "transfer-encoding" in self.response.headers:
            raise NotPlain
        self._left_bytes = int(length)
        self._stays_open = state.our_state is h11.DONE
        self._receiver.put_back(state.trailing_data[0])

    async def read_into(self, view: memoryview) -> int:
        """How many bytes of the body came: as many as fit, fewer where they come slowly, 0 at its end."""
        view = view[: self._left_bytes]
        if not view:
            return 0
        num_bytes = await self._receiver.receive_into(view, self._read_timeout_s)
        if not num_bytes:
            raise httpx.RemoteProtocolError("closed within a body")
        self._left_bytes -= num_bytes
        if not self._left_bytes:
            self._receiver.listen()
        return num_bytes

    def close(self) -> None:
        self._transport.abort()         # nothing is left to be sent

    async def _head(self, state: h11.Connection) -> h11.Response:
        buffer = memoryview(bytearray(HEAD_BYTES))
        while not isinstance(event := state.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                num_bytes = await self._receiver.receive_into(buffer, self._read_timeout_s, fills=False)
                if not num_bytes:
                    raise httpx.RemoteProtocolError("closed without an answer")
                state.receive_data(bytes(buffer[:num_bytes]))
        return event


async def _spoken(
    sock: socket.socket, tls: ssl.SSLContext | None, host: str
) -> tuple[asyncio.Transport, _Receiver]:
    try:
        return await asyncio.get_running_loop().create_connection(
            _Receiver, sock=sock, ssl=tls, server_hostname=host if tls else None
        )
    except BaseException:
        with suppress(OSError):         # closed by its transport already; else that hears of it, and closes it
            sock.shutdown(socket.SHUT_RDWR)
        raise


class _Receiver(asyncio.BufferedProtocol):
    """Lets the event loop read while somebody waits with a buffer, or nothing is asked for: to hear that it closes."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._view = memoryview(b"")            # where to
        self._num_bytes = 0                     # so much of it is filled
        self._spare = bytearray()               # where to, if there is no room: some event loops read before they ask
        self._early = bytearray()               # came before it was waited for
        self._changed: asyncio.Future[None] | None = None
        self._fills = False
        self._is_over = False
        self._error: Exception | None = None

    @property
    def is_silent(self) -> bool:
        return not self._early and not self._is_over

    def put_back(self, received: bytes) -> None:
        self._early[:0] = received

    async def receive_into(self, view: memoryview, patience_s: float, *, fills: bool = True) -> int:
        """Returns when it is full, or after HAND_OVER_S with less; 0 when the other side has closed. Without `fills` as
        soon as something is there.
        """
        num_early = min(len(view), len(self._early))
        view[:num_early] = self._early[:num_early]
        del self._early[:num_early]
        self._view, self._num_bytes, self._fills = view, num_early, fills
        try:
            await self._wait(patience_s)
            return self._num_bytes
        finally:
            self._view, self._num_bytes = memoryview(b""), 0

    def listen(self) -> None:
        """Though nothing is expected: so it is heard when the other side closes."""
        self._resume()

    async def _wait(self, patience_s: float) -> None:
        loop = asyncio.get_running_loop()
        give_up_at_s = loop.time() + patience_s
        while not self._has_enough:
            if self._is_over:
                if self._error and not self._num_bytes:
                    raise httpx.ReadError(str(self._error)) from self._error
                return
            self._changed = loop.create_future()
            self._resume()
            try:
                async with asyncio.timeout(min(HAND_OVER_S, patience_s)):
                    await self._changed
            except TimeoutError:
                if self._num_bytes:
                    return
                if loop.time() >= give_up_at_s:
                    raise httpx.ReadTimeout("silent") from None
            finally:
                self._changed = None

    @property
    def _has_enough(self) -> bool:
        return self._num_bytes == len(self._view) or (self._num_bytes > 0 and not self._fills)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._num_bytes < len(self._view):
            return self._view[self._num_bytes:]
        self._spare = bytearray(max(sizehint, HEAD_BYTES))
        return memoryview(self._spare)

    def buffer_updated(self, nbytes: int) -> None:
        if self._num_bytes < len(self._view):
            self._num_bytes += nbytes
        else:
            self._early += memoryview(self._spare)[:nbytes]
        if self._has_enough:
            self._pause()
            self._wake()

    def eof_received(self) -> bool:
        self._is_over = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over, self._error = True, exc
        self._wake()

    def _pause(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
