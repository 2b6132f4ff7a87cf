"""The connection that reads a file's bytes: over TLS, by a proxy, slowly, in chunks, and from hosts that hang up."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from app.errors import HubUnreachable
from app.hub.client import HubClient
from app.hub.disk import Disk
from app.hub.layout import OwnLayout
from app.hub.line import HEAD_BYTES, Line, NotPlain
from app.hub.pace import Pace, Patience
from app.hub.transfer import Transfer
from tests.app.hub import Hub
from tests.engine.certificates import write_certificate

REPO, NAME = "birds/Parrot-GGUF", "parrot-Q4_K_M.gguf"
PIECE_BYTES = 128 << 10
CONTENT = random.Random(2).randbytes(9 * PIECE_BYTES + 321)

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], AsyncIterator[None]]


async def brought(hub: Hub, root: Path, *, pace: Pace | None = None, endpoint: str = "") -> bytes:
    """The file, by way of everything."""
    client = HubClient(endpoint or hub.url)
    try:
        page = await client.page(REPO)
        layout = OwnLayout(root, REPO, page.commit_sha, page.files)
        await Transfer(
            client=client, layout=layout, piece_bytes=PIECE_BYTES, disk=Disk(kept_free_bytes=0), pace=pace or Pace(),
            patience=Patience(num_attempts=2, first_wait_s=0.001),
        ).run()
        return await asyncio.to_thread(layout.place(layout.files[0]).read_bytes)
    finally:
        await client.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path / "certificate.pem")


@pytest.fixture
def safe_hub(certificate: Path) -> Iterator[Hub]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    hub = Hub(tls=tls)
    hub.add(REPO, {NAME: CONTENT})
    yield hub
    hub.close()


async def test_a_file_comes_over_tls(
    safe_hub: Hub, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert await brought(safe_hub, tmp_path / "models") == CONTENT


async def test_a_line_that_is_cut_within_tls_is_taken_up_where_it_broke(
    safe_hub: Hub, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    safe_hub.faults.cuts_at, safe_hub.faults.num_cuts = 0.4, 3
    assert await brought(safe_hub, tmp_path / "models") == CONTENT


async def test_a_host_whose_certificate_nobody_knows_gets_no_request(
    safe_hub: Hub, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = HubClient(safe_hub.url)
    with pytest.raises(httpx.ConnectError):
        await client.line_to(httpx.URL(safe_hub.files_url))
    await client.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    other_name = HubClient(safe_hub.url)
    with pytest.raises(httpx.ConnectError):     # the certificate is for 127.0.0.1 alone, of all addresses
        await other_name.line_to(httpx.URL(safe_hub.files_url).copy_with(host="127.0.0.2"))
    await other_name.close()
    assert not safe_hub.heard("files")


async def test_lines_are_used_for_one_piece_after_the_other(hub: Hub, tmp_path: Path) -> None:
    hub.add(REPO, {NAME: CONTENT})
    lines: list[Line] = []

    class Counting(HubClient):
        async def line_to(self, url: httpx.URL) -> Line:
            lines.append(await super().line_to(url))
            return lines[-1]

    client = Counting(hub.url)
    page = await client.page(REPO)
    layout = OwnLayout(tmp_path, REPO, page.commit_sha, page.files)
    await Transfer(client=client, layout=layout, piece_bytes=PIECE_BYTES, disk=Disk(kept_free_bytes=0)).run()
    asked = [each.headers for each in hub.heard("files") if each.method == "GET"]
    assert len(asked) == 10
    assert {each["accept-encoding"] for each in asked} == {"identity"}
    said = {"accept", "accept-encoding", "connection", "host", "if-range", "range", "user-agent"}
    assert all(set(each) <= said for each in asked)
    assert len(lines) == 4
    assert not any(line.is_free for line in lines), "they are closed when the file is there"
    await client.close()


async def test_a_host_that_hangs_up_after_each_piece_is_called_again(hub: Hub, tmp_path: Path) -> None:
    hub.add(REPO, {NAME: CONTENT})
    hub.faults.closes_between = True
    assert await brought(hub, tmp_path) == CONTENT
    assert len(hub.heard("hub", "/resolve/")) == 1, "at once: that is no failure"


async def test_an_answer_in_chunks_comes_too(hub: Hub, tmp_path: Path) -> None:
    hub.add(REPO, {NAME: CONTENT})
    hub.faults.sends_chunks = True
    assert await brought(hub, tmp_path) == CONTENT


async def test_where_there_is_a_proxy_it_is_asked(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files' host is its own proxy here: it takes whole addresses as well."""
    hub.add(REPO, {NAME: CONTENT})
    monkeypatch.setenv("http_proxy", hub.files_url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert await brought(hub, tmp_path) == CONTENT
    asked = [each for each in hub.heard("files") if each.method == "GET"]
    assert asked
    assert all(each.path.startswith("http://localhost:") for each in asked)


async def test_a_small_limit_of_bytes_is_kept_in_small_portions(hub: Hub, tmp_path: Path) -> None:
    hub.add(REPO, {NAME: CONTENT})
    taken: list[int] = []

    class Counting(Pace):
        async def take(self, num_bytes: int) -> None:
            taken.append(num_bytes)

    assert await brought(hub, tmp_path, pace=Counting(40_000)) == CONTENT
    assert sum(taken) == len(CONTENT)
    assert max(taken) <= 10_000, "a quarter of a second's"


@pytest.mark.parametrize("bytes_per_s", [None, 50_000_000])
@pytest.mark.parametrize("chunks", [False, True])
async def test_what_a_host_sends_beyond_what_it_was_asked_for_is_left(
    hub: Hub, tmp_path: Path, bytes_per_s: int | None, chunks: bool
) -> None:
    """With a limit of bytes, too."""
    hub.add(REPO, {NAME: CONTENT})
    hub.faults.num_too_many, hub.faults.sends_chunks = 50, chunks
    assert await brought(hub, tmp_path, pace=Pace(bytes_per_s)) == CONTENT


async def test_where_a_range_has_thousands_of_digits_the_whole_file_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    hub.add(REPO, {NAME: CONTENT})
    hub.faults.content_range = f"bytes {'9' * 5000}-5/10"
    assert await brought(hub, tmp_path) == CONTENT


class TestLine:
    @pytest_asyncio.fixture
    async def host(self) -> AsyncIterator[_Host]:
        host = _Host()
        await host.start()
        yield host
        await host.close()

    async def test_what_came_with_the_head_is_the_body_s_beginning(self, host: _Host) -> None:
        line = await host.called()
        host.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        await line.ask(host.request)
        assert line.response.status_code == 200
        host.say(b"56789")
        buffer = memoryview(bytearray(100))
        assert bytes(buffer[: await line.read_into(buffer)]) == b"0123456789"
        assert await line.read_into(buffer) == 0
        assert line.is_free

    async def test_what_comes_slowly_is_handed_over_before_the_buffer_is_full(self, host: _Host) -> None:
        line = await host.called()
        host.say(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\n\r\n012")
        await line.ask(host.request)
        buffer = memoryview(bytearray(10))
        assert await line.read_into(buffer) == 3
        host.say(b"3456789")
        assert bytes(buffer[: await line.read_into(buffer)]) == b"3456789"

    async def test_a_host_that_falls_silent_is_given_up(self, host: _Host) -> None:
        line = await host.called(read_timeout_s=0.05)
        with pytest.raises(httpx.ReadTimeout):
            await line.ask(host.request)
        line.close()
        line = await host.called(read_timeout_s=0.05)
        host.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        await line.ask(host.request)
        with pytest.raises(httpx.ReadTimeout):
            await line.read_into(memoryview(bytearray(10)))
        line.close()

    async def test_one_that_ends_too_early_or_says_no_length_is_told(self, host: _Host) -> None:
        for said in (b"", b"HTTP/1.1 200 OK\r\nContent-", b"no HTTP at all\r\n\r\n"):
            line = await host.called()
            host.say(said, closes=True)
            with pytest.raises(httpx.TransportError):
                await line.ask(host.request)
            line.close()
        line = await host.called()
        host.say(b"HTTP/1.1 200 OK\r\n\r\n", closes=True)
        with pytest.raises(NotPlain):
            await line.ask(host.request)
        line.close()
        line = await host.called()
        host.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012", closes=True)
        await line.ask(host.request)
        buffer = memoryview(bytearray(10))
        assert await line.read_into(buffer) == 3
        with pytest.raises(httpx.TransportError):
            await line.read_into(buffer)
        line.close()

    async def test_one_that_says_more_than_it_was_asked_or_will_hang_up_is_not_asked_again(self, host: _Host) -> None:
        buffer = memoryview(bytearray(10))
        for closing, more in ((b"", b"and more"), (b"Connection: close\r\n", b"")):
            line = await host.called()
            host.say(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + closing + b"\r\n012" + more)
            await line.ask(host.request)
            assert await line.read_into(buffer) == 3
            assert not line.is_free
            line.close()

    @pytest.mark.parametrize("trickle", [b"HTTP/1.1 102 Processing\r\n\r\n", b"x"])
    async def test_a_head_that_trickles_is_given_up(self, host: _Host, trickle: bytes) -> None:
        async def go_on() -> None:
            while True:
                host.say(trickle)
                await asyncio.sleep(0.01)

        line = await host.called(read_timeout_s=0.2)
        if trickle == b"x":
            host.say(b"HTTP/1.1 200 OK\r\nX: ")
        saying = asyncio.create_task(go_on())
        with pytest.raises(httpx.ReadTimeout):
            await asyncio.wait_for(line.ask(host.request), 60)
        saying.cancel()
        line.close()

    async def test_a_name_that_is_none_is_told(self) -> None:
        for name in ("a" * 80 + ".test", "a..b"):
            with pytest.raises(httpx.ConnectError):
                await Line.to(
                    httpx.URL(f"http://{name}/"), ssl.create_default_context(), connect_timeout_s=5.0,
                    read_timeout_s=5.0,
                )

    async def test_a_head_without_end_is_refused(self, host: _Host) -> None:
        line = await host.called()
        host.say(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 4 * HEAD_BYTES)
        with pytest.raises(httpx.RemoteProtocolError):
            await line.ask(host.request)
        line.close()

    async def test_cancelled_it_writes_into_no_buffer_any_more(self, host: _Host) -> None:
        line = await host.called()
        host.say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        await line.ask(host.request)
        buffer = bytearray(10)
        reading = asyncio.create_task(line.read_into(memoryview(buffer)))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        host.say(b"0123456789", closes=True)
        await host.closed()
        assert buffer == bytes(10)
        assert not line.is_free
        line.close()

    async def test_nobody_there_is_told(self, host: _Host) -> None:
        await host.close()
        with pytest.raises(httpx.ConnectError):
            await host.called()


class _Host:
    """Says what it is told to, whatever it is asked."""

    async def start(self) -> None:
        self._writers: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        self.request = httpx.Request("GET", f"http://127.0.0.1:{self._port}/file")
        self._open: list[asyncio.StreamWriter] = []

    async def called(self, read_timeout_s: float = 20.0) -> Line:
        line = await Line.to(
            self.request.url, ssl.create_default_context(), connect_timeout_s=5.0, read_timeout_s=read_timeout_s
        )
        self._open.append(await self._writers.get())
        return line

    def say(self, text: bytes, *, closes: bool = False) -> None:
        """On the newest line."""
        self._open[-1].write(text)
        if closes:
            self._open[-1].close()

    async def closed(self) -> None:
        await self._open[-1].wait_closed()

    async def close(self) -> None:
        for writer in self._open:
            writer.close()
        self._server.close()

    async def _answer(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._writers.put(writer)


async def test_a_hub_that_is_not_there_is_told_in_words(tmp_path: Path, hub: Hub) -> None:
    hub.add(REPO, {NAME: CONTENT})
    client = HubClient(hub.url)
    page = await client.page(REPO)
    hub.files_url = "http://localhost:9"
    with pytest.raises(HubUnreachable, match="localhost cannot be reached"):
        await Transfer(
            client=client, layout=OwnLayout(tmp_path, REPO, page.commit_sha, page.files),
            disk=Disk(kept_free_bytes=0), patience=Patience(num_attempts=1),
        ).run()
    await client.close()
