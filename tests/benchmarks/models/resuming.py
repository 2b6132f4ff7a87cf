"""What a download costs that was cut at nine tenths: the server is killed, and another one goes on.

Bytes that were sent and had not been saved are sent again; the file is read once, for its hash, by the server that
brings its end. What is read is told by the system, all files together, so that whatever else would be read is seen.
"""

from __future__ import annotations

import time

import psutil

from tests.benchmarks.models.hub import ask_for_file, large_hub, until_it_is_there
from tests.benchmarks.ui.figures import Figure, Skipped
from tests.benchmarks.ui.house import Served, furnished, served

CUT_AT = 0.9
TOKENS_PER_S = 40
MAX_READ = 1.02                 # of the file: once, and a database beside it


async def resuming(num_gb: float) -> list[Figure | Skipped]:
    if not hasattr(psutil.Process(), "io_counters"):
        return [Skipped("resume", "this system does not tell what a process reads")]
    size_bytes = num_gb * 1e9
    async with large_hub(num_gb) as hub, furnished() as (data_dir, people):
        to_the_hub = {"HF_ENDPOINT": hub.url}
        async with served(data_dir, people, tokens_per_s=TOKENS_PER_S, extra=to_the_hub) as server:
            started = _Read.by(server)
            begun_s = time.perf_counter()
            download_id = await ask_for_file(server)
            await hub.hold(CUT_AT)
            before, before_s = _Read.by(server) - started, time.perf_counter() - begun_s
            server.process.kill()
            await server.process.wait()
        await hub.release()
        sent_before = (await hub.sent())["num_bytes"]
        begun_at_s = time.time()
        async with served(data_dir, people, tokens_per_s=TOKENS_PER_S, extra=to_the_hub) as server:
            await until_it_is_there(server, download_id)
            after, after_s = _Read.by(server) - started, time.time() - begun_at_s
            sent = await hub.sent()
    again_bytes = sent["num_bytes"] - size_bytes
    return [
        Figure("cut after", before_s, "s", note=f"{sent_before / 1e9:.2f} GB of {num_gb:g}, then kill -9"),
        Figure("sent again", again_bytes / 1e6, "MB", note="what was on its way, or came since the journal was saved"),
        Figure("read before the cut", before.num_bytes / 1e9, "GB", CUT_AT * MAX_READ * num_gb, note=before.disk),
        Figure("read after the restart", after.num_bytes / 1e9, "GB", MAX_READ * num_gb, note=after.disk),
        Figure("first new byte", sent["first_at_s"] - begun_at_s, "s", note="after the start of the server"),
        Figure("whole, and hashed", after_s, "s", note="after the start of the server"),
    ]


class _Read:
    """By a process, from its files; of that, from the disk."""

    def __init__(self, num_bytes: int, disk_bytes: int) -> None:
        self.num_bytes, self.disk_bytes = num_bytes, disk_bytes

    @classmethod
    def by(cls, server: Served) -> _Read:
        counted = psutil.Process(server.process.pid).io_counters()
        return cls(counted.read_chars, counted.read_bytes)

    def __sub__(self, other: _Read) -> _Read:
        return _Read(self.num_bytes - other.num_bytes, self.disk_bytes - other.disk_bytes)

    @property
    def disk(self) -> str:
        return f"{self.disk_bytes / 1e9:.2f} GB of it from the disk, the rest from memory"
