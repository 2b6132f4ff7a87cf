"""TLS with servers elsewhere and with the model hub: what of a certificate is told, and what a cancelled one leaves."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import pytest_asyncio

from app.errors import HubDistrusted
from app.hub.client import HubClient
from app.hub.line import Line
from engine.errors import EndpointError
from engine.remote.endpoint import Address
from engine.remote.wire import Wire
from tests.engine.certificates import write_certificate

NUM_TURNS = 40              # of the event loop: more than a connect takes to where it waits for the other side
T = TypeVar("T")

REFUSED: tuple[tuple[dict[str, Any], bool, str], ...] = (
    ({}, False, "nobody .* trusts"),
    ({"days": -1}, True, "not valid today"),
    ({"host": "other.lan", "address": "127.0.0.9"}, True, "certificate of another host"),
)


class Shop:
    """Speaks TLS as far as its greeting, or says nothing at all."""

    def __init__(self, certificate: Path | None) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if certificate is not None:
            self._tls.load_cert_chain(certificate)
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._listening.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        if certificate is not None:
            threading.Thread(target=self._greet, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _greet(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:             # closed
                return
            try:
                self._tls.wrap_socket(caller, server_side=True).close()
            except OSError:             # whom it does not please hangs up
                caller.close()


class AtOnce(ThreadPoolExecutor):
    """Names are looked up in the turn of the event loop that asks, so that each connect takes the same turns."""

    def submit(self, do: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(do(*args, **kwargs))
        except OSError as error:
            done.set_exception(error)
        return done


@pytest.fixture(params=REFUSED)
def refused(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Shop, str]]:
    how, is_known, words = request.param
    certificate = write_certificate(tmp_path / "certificate.pem", **how)
    if is_known:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    shop = Shop(certificate)
    yield shop, words
    shop.close()


async def test_of_a_hub_it_is_told_what_is_wrong_with_its_certificate(refused: tuple[Shop, str]) -> None:
    shop, words = refused
    client = HubClient(shop.url)
    with pytest.raises(HubDistrusted, match=words):
        await client.search("birds")
    await client.close()


async def test_of_a_connection_it_is_told_what_is_wrong_with_its_certificate(refused: tuple[Shop, str]) -> None:
    shop, words = refused
    wire = Wire()
    with pytest.raises(EndpointError, match=words):
        await wire.json(Address(name="Office", base_url=shop.url), "GET", f"{shop.url}/models")
    await wire.close()


class TestCancelled:
    """At each moment of a connect, and none of its sockets waits for the garbage collector."""

    @pytest.fixture
    def silent(self) -> Iterator[Shop]:
        shop = Shop(None)
        yield shop
        shop.close()

    @pytest_asyncio.fixture
    async def wire(self) -> AsyncIterator[Wire]:
        wire = Wire()
        yield wire
        await wire.close()

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    @pytest.mark.parametrize("scheme", ["http", "https"])
    async def test_a_line_closes_its_sockets(self, silent: Shop, scheme: str, host: str) -> None:
        tls = ssl.create_default_context()
        url = httpx.URL(f"{scheme}://{host}:{silent.port}/")

        async def call() -> None:
            (await Line.to(url, tls, connect_timeout_s=5.0, read_timeout_s=5.0)).close()

        await self._leaves_nothing(call)

    async def test_a_connection_closes_its_sockets(self, silent: Shop, wire: Wire) -> None:
        office = Address(name="Office", base_url=silent.url)
        await self._leaves_nothing(lambda: wire.json(office, "GET", f"{silent.url}/models"))

    async def test_a_hub_s_client_closes_its_sockets(self, silent: Shop) -> None:
        client = HubClient(silent.url)
        await self._leaves_nothing(lambda: client.search("birds"))
        await client.close()

    @pytest.mark.filterwarnings("error::ResourceWarning")
    async def _leaves_nothing(self, call: Callable[[], Awaitable[object]]) -> None:
        asyncio.get_running_loop().set_default_executor(AtOnce())
        gc.collect()
        gc.disable()
        before = _open_sockets()
        try:
            for num_turns in range(NUM_TURNS):
                calling = asyncio.ensure_future(call())
                for _ in range(num_turns):
                    await asyncio.sleep(0)
                calling.cancel()
                await asyncio.wait({calling})
            for _ in range(NUM_TURNS):
                await asyncio.sleep(0)
            assert not _open_sockets() - before
        finally:
            gc.enable()


def _open_sockets() -> set[str]:
    """Of this process, as the kernel names them."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            target = str(each.readlink())
        except FileNotFoundError:           # the one by which the folder itself was read
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found
