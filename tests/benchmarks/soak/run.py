"""One soak: the server up, the pool asked alone, the clients let loose, then everything counted."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.app.prometheus_text import Family, read_prometheus
from tests.benchmarks.soak.asks import make_pool
from tests.benchmarks.soak.clients import MAX_FAULTS, Client, Tally
from tests.benchmarks.soak.server import MODEL_ID

PATIENCE_S = 60.0              # for the server to start, to end, and to come to rest
LOOK_INTERVAL_S = 0.5
POLL_S = 0.05
MAX_GROWTH = 1.05              # of memory, over what it was in the middle
MIDDLE = (0.4, 0.6)            # of the time

Metrics = dict[str, Family]


class ServerBroke(Exception):
    """Nothing more can be learnt from it."""


@dataclass(slots=True)
class Server:
    url: str
    keys: list[str]
    process: asyncio.subprocess.Process
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def rss_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)


@dataclass(slots=True)
class Look:
    at_s: float
    rss_bytes: int
    num_running: float
    num_waiting: float


@dataclass(frozen=True, slots=True)
class Memory:
    first_bytes: int
    middle_bytes: float            # the median of some looks
    later_bytes: int               # at most, after the middle

    @classmethod
    def of(cls, looks: Sequence[Look], duration_s: float) -> Memory | None:
        low_s, high_s = (share * duration_s for share in MIDDLE)
        middle = [look.rss_bytes for look in looks if low_s <= look.at_s <= high_s]
        later = [look.rss_bytes for look in looks if look.at_s > high_s]
        return cls(looks[0].rss_bytes, statistics.median(middle), max(later)) if middle and later else None

    def __str__(self) -> str:
        first, middle, later = (value / 2**20 for value in (self.first_bytes, self.middle_bytes, self.later_bytes))
        return f"{first:.1f} MiB at first, {middle:.1f} in the middle, at most {later:.1f} after it"


@dataclass(slots=True)
class Report:
    duration_s: float
    num_clients: int
    tally: Tally
    looks: list[Look] = field(default_factory=list)
    metrics: Metrics = field(default_factory=dict)      # when everybody had left
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        tally = self.tally
        yield f"{self.num_clients} clients for {self.duration_s:.0f} s, {sum(tally.asked.values())} requests"
        for title, counted in (("ways", tally.asked), ("kinds", tally.kinds), ("statuses", tally.statuses)):
            yield f"  {title + ':':10} " + ", ".join(f"{name} {number}" for name, number in counted.most_common())
        yield f"  {'compared:':10} {tally.num_compared} whole answers with what their prompt gets alone"
        if self.metrics:
            yield f"  {'engine:':10} " + ", ".join(self._of_engine())
        if self.looks:
            running = max(look.num_running for look in self.looks)
            waiting = max(look.num_waiting for look in self.looks)
            yield f"  {'at most:':10} {running:.0f} running, {waiting:.0f} waiting"
        if memory := Memory.of(self.looks, self.duration_s):
            yield f"  {'memory:':10} {memory}"
        yield from (f"BROKEN {fault}" for fault in self.faults)
        yield "broken" if self.faults else "nothing broken"

    def _of_engine(self) -> Iterator[str]:
        for name, word in (
            ("output_tokens", "tokens"), ("steps", "steps"), ("preemptions", "preemptions"),
            ("prompt_tokens", "tokens of prompts"), ("prompt_tokens_cached", "of them cached"),
        ):
            yield f"{self.metrics[f'inglenook_{name}_total'].of(MODEL_ID):.0f} {word}"
        ended = self.metrics["inglenook_requests_total"].samples
        yield "ended by " + ", ".join(f"{dict(labels)['reason']} {number:.0f}" for (_, labels), number in ended.items())
        step_s, backend_s = (
            self.metrics[f"inglenook_{name}_seconds_total"].of(MODEL_ID) for name in ("step", "backend")
        )
        yield f"{step_s:.1f} s in steps, {backend_s:.1f} of it in the back end"


async def run_soak(*, duration_s: float, num_clients: int, num_prompts: int, seed: int) -> Report:
    with tempfile.TemporaryDirectory(prefix="inglenook-soak-") as folder:
        async with _served(Path(folder)) as server:
            pool = await make_pool(server.url, server.keys[0], num_prompts, seed)
            tally = Tally()
            clients = [
                Client(server.port, server.keys, pool, tally, random.Random(f"{seed} {number}"))
                for number in range(num_clients)
            ]
            report = Report(duration_s, num_clients, tally)
            try:
                await _let_loose(server, clients, report)
                report.metrics = await _at_rest(server)
            except ServerBroke as error:
                report.faults.append(str(error))
        report.faults += tally.faults[:MAX_FAULTS]
        report.faults += [f"status {status}: {n} times" for status, n in tally.statuses.items() if status >= 500]
        report.faults += _left_behind(report.metrics) if report.metrics else ()
        report.faults += _grown(report.looks, duration_s)
        report.faults += _exit(server)
        report.faults += [f"log: {line}" for line in server.log.read_text().splitlines() if "[info " not in line]
        return report


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[Server]:
    log = folder / "log"
    with log.open("wb") as lines:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.benchmarks.soak.server", str(folder / "data"),
            stdout=asyncio.subprocess.PIPE, stderr=lines,
        )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await process.stdout.readline()
        if not line:
            raise SystemExit(f"the server did not start:\n{log.read_text()}")
        said = json.loads(line)
        yield Server(said["url"], said["keys"], process, log)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            await process.wait()


async def _let_loose(server: Server, clients: Sequence[Client], report: Report) -> None:
    """Returns when all clients have left. Looks at the server meanwhile, and raises ServerBroke."""
    clock = asyncio.get_running_loop().time
    started_s = clock()
    tasks = {asyncio.create_task(client.run(started_s + report.duration_s)) for client in clients}
    try:
        while any(not task.done() for task in tasks):
            metrics = await _metrics(server)
            num_running, num_waiting = (
                metrics[f"inglenook_requests_{name}"].of(MODEL_ID) for name in ("running", "waiting")
            )
            report.looks.append(Look(clock() - started_s, server.rss_bytes(), num_running, num_waiting))
            await asyncio.wait(tasks, timeout=LOOK_INTERVAL_S)
        for task in tasks:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _at_rest(server: Server) -> Metrics:
    """As soon as nothing is held any more, or what is held when patience ends."""
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    while True:
        metrics = await _metrics(server)
        if not list(_left_behind(metrics)) or asyncio.get_running_loop().time() > deadline_s:
            return metrics
        await asyncio.sleep(POLL_S)            # the server is another process, and tells nobody when it rests


async def _metrics(server: Server) -> Metrics:
    """With the model's. Raises ServerBroke."""
    async with httpx.AsyncClient(timeout=PATIENCE_S) as client:
        try:
            response = await client.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.keys[0]}"})
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ServerBroke(f"the server does not answer: {type(error).__name__} {error}") from error
    metrics = read_prometheus(response.text)
    if not metrics["inglenook_kv_blocks"].samples:
        raise ServerBroke("the model is not loaded any more: see the log")
    return metrics


def _left_behind(metrics: Metrics) -> Iterator[str]:
    for name in ("requests_running", "requests_waiting", "kv_blocks_held"):
        if number := metrics[f"inglenook_{name}"].of(MODEL_ID):
            yield f"left behind: {number:.0f} {name}"
    num_blocks, num_free = (metrics[f"inglenook_{name}"].of(MODEL_ID) for name in ("kv_blocks", "kv_blocks_free"))
    if not 0 < num_blocks == num_free:
        yield f"left behind: {num_free:.0f} of {num_blocks:.0f} blocks are free"


def _grown(looks: Sequence[Look], duration_s: float) -> Iterator[str]:
    memory = Memory.of(looks, duration_s)
    if memory is None:
        yield "memory was not measured in the middle and after it"
    elif memory.later_bytes > MAX_GROWTH * memory.middle_bytes:
        yield f"memory grew: {memory}"


def _exit(server: Server) -> Iterator[str]:
    if server.process.returncode != 0:
        yield f"the server ended with {server.process.returncode}"
