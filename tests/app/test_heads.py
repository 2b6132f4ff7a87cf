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
