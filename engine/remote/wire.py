"""HTTP to servers elsewhere, bounded in time and size. One `Wire` a process, on the event loop.

Nothing is followed to another address, no cookie is kept, nothing is asked for packed: what comes is as large as it
looks. Whatever goes wrong is an `EndpointError` that says what to do.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic_core import from_json, to_json

from engine.errors import EndpointBusy, EndpointError, EndpointRefused
from engine.remote import via
from engine.remote.endpoint import Address, number_in
from engine.remote.handshake import Refusal, refusal_of, see_to_handshakes
from engine.remote.reading import strictly
from engine.told import Told

MAX_JSON_BYTES = 16 * 2**20         # of a whole answer
MAX_ERROR_BYTES = 64 * 1024
MAX_DETAIL_CHARS = 300              # of a server's own words
RETRY_AFTER_S = 5                   # where it does not say
MOST_RETRY_AFTER_S = 3600
_CERTIFICATE = {
    Refusal.UNKNOWN: "elsewhere-certificate-unknown", Refusal.DATE: "elsewhere-certificate-date",
    Refusal.NAME: "elsewhere-certificate-name", Refusal.OTHER: "elsewhere-certificate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """In seconds."""

    connect_s: float = 10.0
    first_s: float = 300.0              # until anything comes: the model may be loading, the queue long
    idle_s: float = 120.0               # between two pieces
    words_s: float = 900.0              # until the first word, though the line is kept open: a long prompt is read
    short_s: float = 20.0               # for what needs no model


class Wire:
    """`open` sends a request; the caller reads its body by `pieces`, or all of it by `json`."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @asynccontextmanager
    async def open(
        self, address: Address, method: str, url: str, body: Mapping[str, Any] | None = None,
        *, headers: Mapping[str, str] | None = None, within_s: float | None = None,
    ) -> AsyncGenerator[httpx.Response, None]:
        """An answer whose status is good, its body unread. Leaving closes the socket of one that is not read to its
        end, which is how a server is told to stop.
        """
        if address.is_locked:
            raise EndpointError(Told("elsewhere-locked", connection=address.name))
        client = await self._opened()
        seconds = within_s or self.patience.first_s
        try:
            request = httpx.Request(
                method, url, headers=_headers(address, headers), content=None if body is None else to_json(body),
                extensions={"timeout": {"connect": self.patience.connect_s, "pool": self.patience.connect_s}},
            )
            async with asyncio.timeout(seconds):
                response = await client.send(request, stream=True)
        except TimeoutError as error:
            raise too_slow(address, seconds) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:     # the last two: of a host's name
            raise unreachable(address, error) from error
        try:
            await self._check(address, response)
            yield response
        finally:
            with suppress(httpx.HTTPError):     # it is let go of, whatever becomes of its socket
                await response.aclose()

    async def json(
        self, address: Address, method: str, url: str, body: Mapping[str, Any] | None = None,
        *, headers: Mapping[str, str] | None = None, within_s: float | None = None, max_bytes: int = MAX_JSON_BYTES,
        read: Callable[[bytes], Any] = strictly,
    ) -> Any:
        """All of it, within that time. `read`: `strictly` or `leniently`. Raises EndpointError."""
        seconds = within_s or self.patience.first_s
        try:
            async with (
                asyncio.timeout(seconds),
                self.open(address, method, url, body, headers=headers, within_s=seconds) as response,
            ):
                return await self.json_of(address, response, max_bytes=max_bytes, read=read)
        except TimeoutError as error:
            raise too_slow(address, seconds) from error

    async def json_of(
        self, address: Address, response: httpx.Response, *, max_bytes: int = MAX_JSON_BYTES,
        read: Callable[[bytes], Any] = strictly,
    ) -> Any:
        content = bytearray()
        async for piece in self.pieces(address, response, max_bytes=max_bytes):
            content += piece
        try:
            if len(content) > 2**16:
                return await asyncio.to_thread(read, bytes(content))
            return read(bytes(content))
        except ValueError as error:
            raise garbage(address, "it is no JSON") from error

    async def pieces(
        self, address: Address, response: httpx.Response, *, max_bytes: int
    ) -> AsyncGenerator[bytes, None]:
        """The body as it comes."""
        num_bytes = 0
        body = response.aiter_raw()
        while True:
            try:
                async with asyncio.timeout(self.patience.idle_s):
                    piece = await anext(body, None)
            except TimeoutError as error:
                raise too_slow(address, self.patience.idle_s) from error
            except httpx.HTTPError as error:
                raise cut(address) from error
            if piece is None:
                return
            num_bytes += len(piece)
            if num_bytes > max_bytes:
                raise EndpointError(Told(
                    "elsewhere-huge", connection=address.name, size=f"{max_bytes // 2**20} MiB"
                ))
            yield piece

    async def _opened(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._client is None:
                context = await asyncio.to_thread(ssl.create_default_context)       # reads certificates
                self._client = httpx.AsyncClient(
                    verify=context, follow_redirects=False, timeout=None,
                    cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
                    limits=httpx.Limits(max_connections=1024, max_keepalive_connections=32),
                    event_hooks={"request": [see_to_handshakes]},
                )
            return self._client

    async def _check(self, address: Address, response: httpx.Response) -> None:
        status = response.status_code
        if response.is_redirect:
            where = plain(address, _origin_of(response.headers.get("location", "")))
            raise EndpointError(Told("elsewhere-redirect", connection=address.name, target=where))
        if response.headers.get("content-encoding", "identity") != "identity":
            raise garbage(address, "it is packed, which was not asked for")
        if status == 200:
            return
        detail = await self._detail(address, response)
        if status in (429, 503):
            seconds = _retry_after_s(response)
            raise EndpointBusy(
                Told("elsewhere-busy", connection=address.name, status=str(status), seconds=seconds),
                retry_after_s=seconds,
            )
        if status in (401, 403):
            code = "elsewhere-key" if address.key else "elsewhere-no-key"
            raise EndpointError(Told(code, connection=address.name, status=str(status), detail=detail))
        if status in (400, 413, 422):
            raise EndpointRefused(Told("elsewhere-refused", connection=address.name, detail=detail), detail=detail)
        raise EndpointError(
            Told("elsewhere-status", connection=address.name, status=str(status), detail=detail), status=status
        )

    async def _detail(self, address: Address, response: httpx.Response) -> str:
        """What the server says of its fault, as one plain line without what it was sent in confidence."""
        content = bytearray()
        with suppress(EndpointError, TimeoutError):
            async with asyncio.timeout(self.patience.short_s):
                async for piece in self.pieces(address, response, max_bytes=MAX_ERROR_BYTES):
                    content += piece
        return plain(address, message_of(bytes(content))) or "-"


def message_of(content: bytes) -> str:
    """Of an error's body, in the shapes that servers give it."""
    try:
        body = from_json(content)
    except ValueError:
        text = content.decode("utf-8", "replace").strip()
        return "" if text.startswith("<") else text
    return message_in(body) or content.decode("utf-8", "replace")


def message_in(body: Any) -> str:
    match body:
        case {"error": {"message": str(message)}} | {"error": str(message)} | {"message": str(message)}:
            return message
        case {"detail": str(message)}:
            return message
        case {"detail": [{"msg": str(message)}, *_]}:
            return message
    return ""


def plain(address: Address, text: str) -> str:
    """A stranger's words, fit to be shown."""
    text = address.without_secrets(text)[:4 * MAX_DETAIL_CHARS]        # before it is cut: half a key is too much
    text = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return text if len(text) <= MAX_DETAIL_CHARS else text[:MAX_DETAIL_CHARS - 1] + "…"


def garbage(address: Address, detail: str) -> EndpointError:
    return EndpointError(Told("elsewhere-garbage", connection=address.name, detail=detail))


def cut(address: Address) -> EndpointError:
    return EndpointError(Told("elsewhere-cut", connection=address.name))


def too_slow(address: Address, seconds: float) -> EndpointError:
    return EndpointError(Told("elsewhere-slow", connection=address.name, seconds=f"{seconds:g}"))


def wordless(address: Address, seconds: float) -> EndpointError:
    return EndpointError(Told("elsewhere-wordless", connection=address.name, seconds=f"{seconds:g}"))


def unreachable(address: Address, error: Exception) -> EndpointError:
    detail = plain(address, str(error)) or type(error).__name__
    if (refusal := refusal_of(error)) is not None:
        code = _CERTIFICATE[refusal]
        return EndpointError(Told(code, connection=address.name, host=address.host, detail=detail))
    return EndpointError(Told("elsewhere-unreachable", connection=address.name, host=address.host, detail=detail))


def _headers(address: Address, more: Mapping[str, str] | None) -> httpx.Headers:
    headers = {"Accept-Encoding": "identity", "Content-Type": "application/json", "User-Agent": "inglenook"}
    headers[via.HEADER] = via.header()
    if address.key:
        headers["Authorization"] = f"Bearer {address.key}"
    sent = httpx.Headers(headers)       # whose names are the same in any case: none goes out twice
    sent.update(address.headers)
    sent.update(more or {})
    return sent


def _retry_after_s(response: httpx.Response) -> int:
    """Also of a date, which none of these servers sends, only a guess."""
    seconds = number_in(response.headers.get("retry-after", ""))
    return RETRY_AFTER_S if seconds is None else min(MOST_RETRY_AFTER_S, max(1, seconds))


def _origin_of(location: str) -> str:
    """Without a name and password."""
    try:
        target = urlsplit(location)
    except ValueError:
        return "another address"
    host = target.netloc.rpartition("@")[2]
    return f"{target.scheme}://{host}" if host else "another address"
