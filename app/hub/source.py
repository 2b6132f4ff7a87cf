"""Where the bytes of one file come from: the hub says, once, and whoever it names is then asked for stretches.

The hub's token goes to the hub alone: the host that it sends us to has its permission in the address. On the hub's
thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol
from urllib.request import getproxies, proxy_bypass

import httpx

from app.errors import HubDistrusted, HubError
from app.hub.answers import check_answer, same_origin, unreachable
from app.hub.client import HubClient
from app.hub.files import RemoteFile
from app.hub.line import Line, NotPlain
from app.language import Said

MAX_REDIRECTS = 5
_CONTENT_RANGE = re.compile(r"bytes (\d{1,20})-(\d{1,20})/(\d{1,20}|\*)", re.ASCII)


class SourceChanged(HubError):
    """What lies there is no longer what was begun."""


class IgnoresRanges(HubError):
    """The source sends other bytes than it was asked for: only its whole answer can be trusted."""


class Body(Protocol):
    """An answer whose bytes are still to be read."""

    response: httpx.Response        # its head

    async def read_into(self, view: memoryview, /) -> int:
        """How many bytes came; 0 at the end. Raises httpx.HTTPError."""
        ...


@dataclass(frozen=True, slots=True)
class _Location:
    url: str
    is_hub: bool


class Source:
    def __init__(self, client: HubClient, repo: str, commit_sha: str, file: RemoteFile) -> None:
        self._client = client
        self._repo = repo
        self._commit_sha = commit_sha
        self._file = file
        self._location: _Location | None = None
        self._resolving = asyncio.Lock()
        self._free: list[Line] = []
        self._is_plain = True           # bodies have a length, so that a Line can read them

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    @asynccontextmanager
    async def open(self, start: int, end: int, etag: str) -> AsyncIterator[Body]:
        """An answer with the bytes [start, end), of the version `etag` if that is known; its body is still to be read.

        Raises SourceChanged, IgnoresRanges, and what `app.hub.client` raises.
        """
        is_whole = (start, end) == (0, self._file.size_bytes)
        async with self._resolving:         # several connections begin at once
            location = self._location = self._location or await self._resolve()
        headers = httpx.Headers(self._client.http.headers)
        headers.update(self._client.headers() if location.is_hub else {})
        headers["Accept-Encoding"] = "identity"
        if not is_whole:
            headers["Range"] = f"bytes={start}-{end - 1}"
            if etag and not etag.startswith("W/"):
                headers["If-Range"] = etag
        try:
            async with self._answer(httpx.Request("GET", location.url, headers=headers)) as body:
                self._check(body.response, location, start, end, is_whole=is_whole, etag=etag)
                yield body
        except httpx.HTTPError as error:
            raise unreachable(location.url, error) from error

    def forget_location(self) -> None:
        """Addresses with a signature expire; the next `open` asks the hub again."""
        self._location = None
        self.close()

    @asynccontextmanager
    async def _answer(self, request: httpx.Request) -> AsyncIterator[Body]:
        if self._is_plain and _is_direct(request.url):
            try:
                line = await self._line(request)
            except NotPlain:
                self._is_plain = False
            else:
                try:
                    yield line
                finally:
                    if line.is_free:
                        self._free.append(line)
                    else:
                        line.close()
                return
        response = await self._client.http.send(request, stream=True)
        try:
            yield _Chunks(response)
        finally:
            await response.aclose()

    async def _line(self, request: httpx.Request) -> Line:
        """Whose answer has begun. One that was used before may be closed by the other side in this very moment."""
        while self._free:
            line = self._free.pop()
            if line.is_free and line.leads_to(request.url):
                with suppress(httpx.NetworkError, httpx.RemoteProtocolError):
                    return await _asked(line, request)
            line.close()
        return await _asked(await self._client.line_to(request.url), request)

    async def _resolve(self) -> _Location:
        """Follow the hub to the file, and make sure that it is still the same."""
        self._client.check_online()
        url = self._client.url_of(self._repo, self._commit_sha, self._file.name)
        for _ in range(MAX_REDIRECTS):
            headers = self._client.headers() | {"Accept-Encoding": "identity"}
            try:
                response = await self._client.http.request("HEAD", url, headers=headers)
            except httpx.HTTPError as error:
                raise unreachable(self._client.endpoint, error) from error
            check_answer(response, self._repo)
            self._check_identity(response)
            if not response.is_redirect:
                return _Location(url, is_hub=True)
            target = httpx.URL(url).join(response.headers.get("location", ""))
            if not same_origin(target, httpx.URL(self._client.endpoint)):
                return _Location(self._checked(str(target)), is_hub=False)
            url = str(target)
        raise HubError(Said("hub-circle"))

    def _check_identity(self, response: httpx.Response) -> None:
        """What the hub says of the file now, where it does: its content's hash, as an ETag, and its size."""
        own = {} if response.is_redirect else response.headers
        etag = response.headers.get("x-linked-etag", own.get("etag", "")).removeprefix("W/").strip('"').lower()
        size = response.headers.get("x-linked-size", own.get("content-length"))
        looks_like_hash = len(etag) == len(self._file.etag) and set(etag) <= set("0123456789abcdef")
        if (looks_like_hash and etag != self._file.etag) or (size is not None and size != str(self._file.size_bytes)):
            raise self._changed()

    def _check(
        self, response: httpx.Response, location: _Location, start: int, end: int, *, is_whole: bool, etag: str
    ) -> None:
        status, headers = response.status_code, response.headers
        if not location.is_hub and status in (401, 403, 404, 410):
            self.forget_location()
            raise HubError(Said("hub-expired", file=self._file.name))
        if response.is_redirect:
            self.forget_location()
            raise HubError(Said("hub-sent-away"))
        if status == 416:
            raise self._changed()
        check_answer(response, self._repo)
        if headers.get("content-encoding", "identity") != "identity":
            raise IgnoresRanges(Said("hub-compressed", file=self._file.name))
        if etag and headers.get("etag", etag) != etag:
            raise self._changed()
        if status == 200 and not is_whole:
            raise IgnoresRanges(Said("hub-whole-file", file=self._file.name))
        if status == 206:
            found = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
            if found is None or int(found[1]) != start or int(found[2]) >= end:
                raise IgnoresRanges(Said("hub-other-part", file=self._file.name))
            if found[3] not in ("*", str(self._file.size_bytes)):
                raise self._changed()
        elif status != 200:
            raise HubError(Said("hub-source-error", file=self._file.name, status=status))
        elif headers.get("content-length", str(self._file.size_bytes)) != str(self._file.size_bytes):
            raise self._changed()

    def _checked(self, url: str) -> str:
        if self._client.endpoint.startswith("https://") and not url.startswith("https://"):
            raise HubDistrusted(Said("hub-unencrypted"))
        return url

    def _changed(self) -> SourceChanged:
        return SourceChanged(Said("hub-changed", file=self._file.name))


class _Chunks:
    """What httpx reads: through a proxy, or where the length of an answer is not said."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._chunks = response.aiter_raw()
        self._left = b""

    async def read_into(self, view: memoryview) -> int:
        while not self._left:
            try:
                self._left = await anext(self._chunks)
            except StopAsyncIteration:
                return 0
        piece, self._left = self._left[: len(view)], self._left[len(view):]
        view[: len(piece)] = piece
        return len(piece)


async def _asked(line: Line, request: httpx.Request) -> Line:
    try:
        await line.ask(request)
    except BaseException:
        line.close()
        raise
    return line


def _is_direct(url: httpx.URL) -> bool:
    proxies = getproxies()
    return not (proxies.get(url.scheme) or proxies.get("all")) or bool(proxy_bypass(url.host))
