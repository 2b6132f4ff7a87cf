"""Reads a model's header at the hub: the first megabytes of each of its files, through the loader's own reader.

On the hub's thread; parsing on another, for a large vocabulary takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
import io
from pathlib import Path, PurePosixPath

from app.errors import HubError
from app.hub.client import HubClient
from app.hub.files import RemoteFile, Variant
from app.hub.source import Source
from app.language import Said
from engine.gguf import GgufHeader, header_from
from engine.gguf_reader import RawHeader, parse_raw_header

FIRST_BYTES = 1 << 20           # enough for a part that is not the first; a header with its vocabulary has 1 to 16 MB
MOST_BYTES = 64 << 20
NUM_AT_ONCE = 6


class _EndsTooEarly(Exception):
    """The header goes on behind what was fetched."""


class _Head(io.BytesIO):
    def __init__(self, head: bytes, file_bytes: int) -> None:
        super().__init__(head)
        self._is_whole = len(head) >= file_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if not found and size and not self._is_whole:
            raise _EndsTooEarly
        return found


async def read_remote_header(client: HubClient, repo: str, commit_sha: str, variant: Variant) -> GgufHeader:
    """Raises ModelLoadError for a header that cannot be used, HubError where it cannot be had."""
    files = [file for file in variant.weight_files if file.name.lower().endswith(".gguf")]
    if not files:
        raise HubError(Said("hub-no-gguf", label=variant.label, repo=repo))
    limit = asyncio.Semaphore(NUM_AT_ONCE)

    async def read(file: RemoteFile) -> RawHeader:
        async with limit:
            source = Source(client, repo, commit_sha, file)
            try:
                return await _read(source, file)
            finally:
                source.close()

    parts = await asyncio.gather(*(read(file) for file in files))
    return header_from(Path(PurePosixPath(files[0].name).name), parts)


async def _read(source: Source, file: RemoteFile) -> RawHeader:
    name = PurePosixPath(file.name).name
    head = bytearray()
    wanted = FIRST_BYTES
    while True:
        end = min(wanted, file.size_bytes)
        await _fetch(source, head, end)
        try:
            return await asyncio.to_thread(parse_raw_header, name, _Head(bytes(head), file.size_bytes), file.size_bytes)
        except _EndsTooEarly:
            if len(head) >= MOST_BYTES:
                raise HubError(Said("hub-long-header", file=name, size=MOST_BYTES >> 20)) from None
        wanted *= 2


async def _fetch(source: Source, head: bytearray, end: int) -> None:
    if len(head) >= end:
        return
    buffer = memoryview(bytearray(FIRST_BYTES))
    async with source.open(len(head), end, "") as body:
        while num_bytes := await body.read_into(buffer[: end - len(head)]):
            head += buffer[:num_bytes]
    if len(head) < end:
        raise HubError(Said("hub-header-cut"))
