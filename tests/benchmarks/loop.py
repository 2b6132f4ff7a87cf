"""What a request to the API costs the event loop: `python -m tests.benchmarks.loop [--clients 64]`. No GPU, no model.

The engine's thread shares Python's lock with the loop, so each microsecond here is one that a GPU waits. The product
over a model of words whose steps are let through one by one, so that processor time of the loop's thread is counted
apart: per request, from its connecting to its being handed to the engine; per piece, from `Delta` to the socket, and
what the step's outputs cost before that; per request that ends, from its last step on. Beside it, per request, the
threads that the loop hands work to: the database's and the executor's. Clients are a process of their own, which
connects anew for each request. Prints a table of medians, and one JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.main import Ready, Server
from app.services.container import Services
from app.settings import Settings
from engine.backends.scripted import Gate
from engine.batch import Batch, StepOutput
from engine.core import CoreOutput, EngineCore, OnOutput
from engine.engine import Engine, EngineInfo
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.local import LocalEngine
from engine.request import Request
from tests.benchmarks.cpu.client import HOST
from tests.benchmarks.cpu.servers import add_person
from tests.benchmarks.ui.server import MODEL_ID, PacedBackend, make_model_known

PROMPT_TOKENS, NUM_MESSAGES = 512, 10
STEP_S = 0.06               # longer than 64 readers' pause (engine/reading_pace.py): each token is a piece
NUM_STEPS_BEFORE = 8        # until all have their first token
NUM_STEPS = 16              # in which pieces are counted
NUM_OUT = NUM_STEPS_BEFORE + NUM_STEPS + 4

Figures = dict[str, float]

WORDS = " ".join(f"word{number % 89}" for number in range(PROMPT_TOKENS))
MESSAGES = [
    {"role": ("user", "assistant")[number % 2], "content": WORDS[number * 300:(number + 1) * 300]}
    for number in range(NUM_MESSAGES - 1)
]
KINDS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    f"{PROMPT_TOKENS} ids": (
        "completions", lambda seed: {"prompt": [(seed + place) % 250 for place in range(PROMPT_TOKENS)]}
    ),
    f"{PROMPT_TOKENS} words": ("completions", lambda seed: {"prompt": f"{seed} {WORDS}"}),
    f"chat of {NUM_MESSAGES}": (
        "chat/completions",
        lambda seed: {"messages": [{"role": "system", "content": f"Say {seed}."}, *MESSAGES]},
    ),
}


class HeldBackend(PacedBackend):
    """No step before the gate lets it through."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(tokens_per_s=1e9)
        self._held_by = gate

    def execute(self, batch: Batch) -> StepOutput:
        if batch.rows:
            self._held_by.pass_through()
        return super().execute(batch)


class CountedCore(EngineCore):
    """Tells of each request that was handed to it, and what its outputs took the loop before anybody read them."""

    on_submitted: Callable[[], None]
    outputs_s = 0.0

    def submit(self, request: Request, on_output: OnOutput) -> None:
        super().submit(request, on_output)
        self.on_submitted()

    def on_outputs(self, outputs: list[CoreOutput]) -> None:
        begun_s = time.thread_time()
        super().on_outputs(outputs)
        self.outputs_s += time.thread_time() - begun_s


class Bench:
    def __init__(self, num_clients: int) -> None:
        self._num_clients = num_clients
        self._gate = Gate()
        self._core: CountedCore | None = None
        self._num_tokens_of_earlier = 0         # rounds
        self._num_missing = 0                   # requests, of a round
        self._all_are_in = asyncio.Event()

    async def load(self, spec: ModelSpec, limits: LoadLimits, on_share: object = None) -> Engine:
        self._core = core = await CountedCore.start(
            spec.model_id, lambda: HeldBackend(self._gate), max_queue=limits.max_queue
        )
        core.on_submitted = self._count
        info = EngineInfo(
            model_id=spec.model_id, name=spec.name, version=spec.version, backend="scripted", device="cpu",
            quantisation="", max_model_len=core.info.max_model_len, max_num_seqs=core.info.max_num_seqs,
            has_chat_template=True,
        )
        return LocalEngine(core, info)

    async def measure(self, port: int, key: str, repetitions: int) -> dict[str, list[Figures]]:
        command = (sys.executable, "-m", "tests.benchmarks.loop", "--as-client", str(port), key)
        pipe = asyncio.subprocess.PIPE
        clients = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        found: dict[str, list[Figures]] = defaultdict(list)
        for repetition in range(-1, repetitions):           # the first loads and fills what is kept; not counted
            for kind in KINDS:
                figures = await self._round(clients, kind)
                if repetition >= 0:
                    found[kind].append(figures)
        assert clients.stdin is not None
        clients.stdin.close()
        await clients.wait()
        return found

    async def _round(self, clients: asyncio.subprocess.Process, kind: str) -> Figures:
        """Per request, piece and end, in µs."""
        assert clients.stdin is not None and clients.stdout is not None
        number = self._num_missing = self._num_clients
        self._all_are_in.clear()
        asked = _Stopwatch()
        clients.stdin.write(json.dumps([kind, number]).encode() + b"\n")
        await self._all_are_in.wait()
        request_s, others_s = asked.loop_s, asked.others_s
        core = self._core
        assert core is not None
        await self._step(NUM_STEPS_BEFORE)
        num_tokens, outputs_s, wrote = core.snapshot().output_tokens_total, core.outputs_s, _Stopwatch()
        await self._step(NUM_STEPS)
        num_pieces = core.snapshot().output_tokens_total - num_tokens
        outputs_s, wrote_s = core.outputs_s - outputs_s, wrote.loop_s
        piece_s = wrote_s / num_pieces
        num_left = NUM_OUT * number - (core.snapshot().output_tokens_total - self._num_tokens_of_earlier)
        ended = _Stopwatch()
        done = asyncio.create_task(clients.stdout.readline())
        while not done.done():
            await self._step(1)
        self._num_tokens_of_earlier = core.snapshot().output_tokens_total
        if (num_whole := int(await done)) != number:
            raise SystemExit(f"{num_whole} of {number} answers were whole")
        return {
            "request": request_s / number * 1e6,
            "request, other threads": others_s / number * 1e6,
            "piece": (wrote_s - outputs_s) / num_pieces * 1e6,
            "piece, outputs": outputs_s / num_pieces * 1e6,
            "end": (ended.loop_s - piece_s * num_left) / number * 1e6,
        }

    def _count(self) -> None:
        self._num_missing -= 1
        if not self._num_missing:
            self._all_are_in.set()

    async def _step(self, number: int) -> None:
        for _ in range(number):
            self._gate.allow()
            await asyncio.sleep(STEP_S)


class _Stopwatch:
    """Processor time since it was made: of this thread, and of those that it hands work to."""

    def __init__(self) -> None:
        self._others_s = _others_s()
        self._begun_s = time.thread_time()

    @property
    def loop_s(self) -> float:
        return time.thread_time() - self._begun_s

    @property
    def others_s(self) -> float:
        return sum(now_s - self._others_s.get(thread_id, 0.0) for thread_id, now_s in _others_s().items())


def _others_s() -> dict[int, float]:
    ids = [each.native_id for each in threading.enumerate() if each.name.startswith(("store-", "uvloop_", "asyncio_"))]
    return {
        thread_id: int(Path(f"/proc/self/task/{thread_id}/schedstat").read_text().split()[0]) / 1e9
        for thread_id in ids if thread_id is not None
    }


# --- the clients' process --------------------------------------------------------------------------------------------


async def be_clients(port: int, key: str) -> None:
    """For each line `[kind, number]` ask so often at once, and answer with how many answers came to their end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        kind, number = json.loads(line)
        path, body_of = KINDS[kind]
        asks = [_ask(port, key, f"/v1/{path}", body_of(seed)) for seed in range(number)]
        print(sum(await asyncio.gather(*asks)), flush=True)


async def _ask(port: int, key: str, path: str, body: dict[str, Any]) -> bool:
    options = {"model": MODEL_ID, "max_tokens": NUM_OUT, "temperature": 0, "ignore_eos": True, "stream": True}
    data = json.dumps(body | options | {"stream_options": {"include_usage": True}}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nAuthorization: Bearer {key}\r\nAccept: application/json\r\n"
        "Accept-Encoding: gzip, deflate\r\nUser-Agent: OpenAI/Python 2.0\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(head.encode() + data)
    answer = await reader.read()
    writer.close()
    return answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") and f'"completion_tokens":{NUM_OUT}'.encode() in answer


# --- the server's process --------------------------------------------------------------------------------------------


def serve(folder: Path, num_clients: int, repetitions: int) -> dict[str, list[Figures]]:
    key = add_person("one", {**os.environ, "INGLENOOK_DATA_DIR": str(folder)})
    asyncio.run(_furnish(folder))
    bench = Bench(num_clients)
    server = Server(Settings(data_dir=folder, port=0, model=MODEL_ID), loader=bench.load)
    tasks: list[asyncio.Task[dict[str, list[Figures]]]] = []

    async def measure(port: int) -> dict[str, list[Figures]]:
        try:
            return await bench.measure(port, key, repetitions)
        finally:
            server.stop()

    def on_ready(ready: Ready) -> None:
        port = int(ready.url.rsplit(":", 1)[1].strip("/"))
        tasks.append(asyncio.get_running_loop().create_task(measure(port)))

    server.run(on_ready)
    return tasks[0].result()


async def _furnish(folder: Path) -> None:
    services = Services.open(Settings(data_dir=folder), load_engine)
    await make_model_known(services)
    services.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--as-client", nargs=2, metavar=("PORT", "KEY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.as_client:
        port, key = arguments.as_client
        asyncio.run(be_clients(int(port), key))
        return
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        found = serve(Path(folder), arguments.clients, arguments.repetitions)
    print(f"µs of processor time, {arguments.clients} clients; medians of {arguments.repetitions}")
    columns = list(next(iter(found.values()))[0])
    print(f"{'':>14} " + " ".join(f"{name:>22}" for name in columns))
    medians = {kind: {name: statistics.median(each[name] for each in runs) for name in columns} for kind, runs in
               found.items()}
    for kind, by_name in medians.items():
        spread = [f"{value:.0f} ({min(runs):.0f} to {max(runs):.0f})" for name, value in by_name.items()
                  for runs in [[each[name] for each in found[kind]]]]
        print(f"{kind:>14} " + " ".join(f"{text:>22}" for text in spread))
    print(json.dumps({"clients": arguments.clients, "us": medians}))


if __name__ == "__main__":
    main()
