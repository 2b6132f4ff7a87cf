"""A request whose headers do not end keeps nobody waiting, and takes no memory: its line is closed."""

from __future__ import annotations

import socket
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import pytest

from app.heads import MAX_HEAD_BYTES
from tests.app.house import House, Person


@pytest.mark.parametrize("beginning", [b"GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"GET /", b"X-"])
def test_a_head_without_end_is_refused(house: House, beginning: bytes) -> None:
    address = urlsplit(house.url)
    num_sent, piece = 0, b"x" * 65536
    with closing(socket.create_connection((address.hostname, address.port), timeout=20)) as line:
        line.sendall(beginning)
        with pytest.raises(ConnectionError):
            while num_sent < 100 * MAX_HEAD_BYTES:
                line.sendall(piece)
                num_sent += len(piece)
    assert num_sent < 50 * MAX_HEAD_BYTES
    assert httpx.get(f"{house.url}/healthz").status_code == 200


def test_large_bodies_and_many_requests_on_one_line_are_no_heads(anna: Person) -> None:
    body = {"model": "parrot", "messages": [{"role": "user", "content": "x" * 3 * MAX_HEAD_BYTES}]}
    with anna.client() as client:
        for _ in range(3):
            assert client.post("/v1/chat/completions", json=body).status_code in (200, 400)
        for _ in range(20):
            assert client.get("/v1/models", headers={"X-Long": "x" * (MAX_HEAD_BYTES // 10)}).status_code == 200


HOST = b"Host: 127.0.0.1\r\n"
HANDSHAKE = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


@pytest.mark.parametrize(
    ("method", "others"),
    [
        (b"POST", b"Content-Length: 2\r\n\r\n{}"),
        (b"POST", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        (b"POST", b"\r\n"),
        (b"GET", b"Content-Length: 2\r\n\r\n{}"),
        (b"GET", b"Sec-WebSocket-Key: x\r\n\r\n"),
        (b"GET", b"X-Long: " + 9000 * b"x" + b"\r\n\r\n"),
        (b"GET", 200 * b"X-Many: x\r\n" + b"\r\n"),
    ],
)
def test_a_broken_handshake_is_answered_at_once(house: House, method: bytes, others: bytes) -> None:
    assert 400 <= _status_of(_answers(house, method + b" /v1/models HTTP/1.1\r\n" + HOST + HANDSHAKE + others)[0]) < 500


def test_an_offer_of_another_protocol_loses_no_body(house: House, anna: Person) -> None:
    """Java's HTTP client makes it."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    key = f"Authorization: Bearer {anna.key}\r\n".encode()
    body = b'{"model": "nobody", "messages": [{"role": "user", "content": "Hi"}]}'
    head = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST + key + offer
    whole = head + b"Content-Length: %d\r\n\r\n" % len(body)
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body)
    last = b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n" + HOST + key + b"\r\n"
    together = _answers(house, whole + body + chunked + body + b"\r\n0\r\n\r\n" + head + b"\r\n" + last)
    apart = _answers(house, whole, body[:5], body[5:], last)
    assert [_status_of(each) for each in together] == [404, 404, 400, 200]
    assert [_status_of(each) for each in apart] == [404, 200]
    assert b"'nobody' does not exist" in together[0]


def _answers(house: House, *pieces: bytes) -> list[bytes]:
    """All that come until the server closes the line."""
    address = urlsplit(house.url)
    with closing(socket.create_connection((address.hostname, address.port), timeout=20)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            line.sendall(piece)
        with line.makefile("rb") as whole:
            return whole.read().split(b"HTTP/1.1 ")[1:]


def _status_of(answer: bytes) -> int:
    return int(answer[:3])
