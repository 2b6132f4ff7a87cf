"""What never changes is compressed once, and given to whoever can read it."""

from __future__ import annotations

import gzip

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app import packed
from app.packed import PackOnce

TEXT = "body { color: red } " * 500
FOR_EVER = b"public, max-age=31536000, immutable"


class Origin:
    """Answers any path with TEXT, and counts how often it had to."""

    def __init__(self, cache_control: bytes = FOR_EVER, content_type: bytes = b"text/css; charset=utf-8") -> None:
        self.num_asked = 0
        self._headers = [
            (b"content-type", content_type), (b"cache-control", cache_control), (b"etag", b'"plain"'),
            (b"content-length", str(len(TEXT)).encode()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.num_asked += 1
        half = len(TEXT) // 2
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": TEXT[:half].encode(), "more_body": True})
        await send({"type": "http.response.body", "body": TEXT[half:].encode()})


def client(app: PackOnce) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_it_is_compressed_at_the_first_request_and_held() -> None:
    origin = Origin()
    async with client(PackOnce(origin)) as browser:
        for _ in range(3):
            async with browser.stream("GET", "/assets/page.css?v=1") as response:
                raw = b"".join([part async for part in response.aiter_raw()])
            assert gzip.decompress(raw).decode() == TEXT
            assert response.headers["content-encoding"] == "gzip"
            assert response.headers["content-length"] == str(len(raw))
            assert response.headers["vary"] == "Accept-Encoding"
            assert "etag" not in response.headers
    assert origin.num_asked == 1


PLAIN = {"Accept-Encoding": "identity"}
A_PART = {"Accept-Encoding": "gzip", "Range": "bytes=0-9"}


@pytest.mark.parametrize("headers", [PLAIN, A_PART])
async def test_who_cannot_read_it_or_wants_a_part_is_answered_from_further_in(headers: dict[str, str]) -> None:
    origin = Origin()
    async with client(PackOnce(origin)) as browser:
        for _ in range(2):
            response = await browser.get("/assets/page.css?v=1", headers=headers)
            assert response.text == TEXT and "content-encoding" not in response.headers
    assert origin.num_asked == 2


@pytest.mark.parametrize(
    ("path", "cache_control", "content_type"),
    [
        ("/", FOR_EVER, b"text/css"),                               # a page, whatever it says
        ("/assets/page.css", b"no-store", b"text/css"),
        ("/assets/font.woff2", FOR_EVER, b"font/woff2"),
    ],
)
async def test_anything_else_passes_as_it_is(path: str, cache_control: bytes, content_type: bytes) -> None:
    origin = Origin(cache_control, content_type)
    async with client(PackOnce(origin)) as browser:
        for _ in range(2):
            response = await browser.get(path)
            assert response.text == TEXT and "content-encoding" not in response.headers
    assert origin.num_asked == 2


async def test_what_is_held_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(gzip.compress(TEXT.encode(), 9, mtime=0))
    monkeypatch.setattr(packed, "MAX_HELD_BYTES", 2 * one)
    origin = Origin()
    async with client(PackOnce(origin)) as browser:
        for version in (1, 2, 1, 3, 1, 2):          # 2 is the one least recently used when 3 comes
            await browser.get(f"/assets/page.css?v={version}")
    assert origin.num_asked == 4


async def test_what_broke_off_because_its_reader_left_is_given_to_nobody_else() -> None:
    """As NiceGUI's middleware ends it: the whole length was said, and nothing of it came."""
    whole = Origin()

    async def origin(scope: Scope, receive: Receive, send: Send) -> None:
        if whole.num_asked:
            await whole(scope, receive, send)
        else:
            whole.num_asked += 1
            await send({"type": "http.response.start", "status": 200, "headers": whole._headers})
            await send({"type": "http.response.body", "body": b""})

    async with client(PackOnce(origin)) as browser:
        await browser.get("/assets/page.css?v=1")
        assert (await browser.get("/assets/page.css?v=1")).text == TEXT
