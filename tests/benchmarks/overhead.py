"""What the engine's thread does beside computing: `python -m tests.benchmarks.overhead [--clients 32]`.

The starter model on the real engine, each answer read on the event loop as a server does it, and on the same kind of
loop: asyncio's own lets go of Python's lock as it is woken, uvloop does not. For every step in which all clients' rows
run: the time inside `llama_decode` (and waiting for its logits), and all the rest of the step: commands, schedule,
copies of KV, sampling, handing over, and waiting for Python's lock.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import aclosing

import uvicorn

from engine.backends.llama_cpp.context import Context, StreamRow
from engine.engine import Engine
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from tests.benchmarks.cpu.servers import MODEL_ID, model_path
from tests.benchmarks.cpu.workloads import prompts

OUTPUT_TOKENS = 128
WAYS = {
    "greedy": SamplingParams(temperature=0.0, max_tokens=OUTPUT_TOKENS, ignore_eos=True),
    "temperature 0.7, top-p 0.9": SamplingParams(temperature=0.7, top_p=0.9, max_tokens=OUTPUT_TOKENS, ignore_eos=True),
    "temperature 0.7, top-k 40, top-p 0.9": SamplingParams(
        temperature=0.7, top_k=40, top_p=0.9, max_tokens=OUTPUT_TOKENS, ignore_eos=True
    ),
}


class Stopwatch:
    """Begins and ends of `Context.decode`, in which nothing but the library's own work is done."""

    def __init__(self) -> None:
        self.decodes: list[tuple[int, float, float]] = []       # rows, begin and end by `time.perf_counter`
        self._decode = Context.decode

    def __enter__(self) -> Stopwatch:
        def timed(context: Context, rows: Sequence[StreamRow]) -> object:
            begun_s = time.perf_counter()
            logits = self._decode(context, rows)
            self.decodes.append((len(rows), begun_s, time.perf_counter()))
            return logits

        Context.decode = timed  # type: ignore[method-assign,assignment]
        return self

    def __exit__(self, *_error: object) -> None:
        Context.decode = self._decode  # type: ignore[method-assign]

    def overheads(self, num_rows: int) -> list[float]:
        """Of each step with so many rows that follows another such: the share that was not spent in the library."""
        shares: list[float] = []
        for (rows_before, _, end_before_s), (rows, begun_s, end_s) in zip(self.decodes, self.decodes[1:], strict=False):
            if rows_before == rows == num_rows:
                shares.append((begun_s - end_before_s) / (end_s - end_before_s))
        return shares


async def measure(engine: Engine, num_clients: int, params: SamplingParams, seed: str) -> list[float]:
    async def client(prompt: list[int]) -> None:
        async with aclosing(engine.complete(prompt, params)) as deltas:
            async for _ in deltas:
                pass

    with Stopwatch() as stopwatch:
        todo = prompts(seed, num_clients, num_tokens=200, num_shared=150)
        await asyncio.gather(*(client(prompt) for prompt in todo))
    return stopwatch.overheads(num_clients)


async def run(num_clients: int, repetitions: int) -> None:
    spec = ModelSpec(MODEL_ID, MODEL_ID, model_path(), "benchmark")
    limits = LoadLimits(context_tokens=512, max_num_seqs=num_clients, threads=2)
    for name, params in WAYS.items():
        medians: list[float] = []
        for repetition in range(repetitions):
            engine = await load_engine(spec, limits)
            shares = await measure(engine, num_clients, params, f"{name} {repetition}")
            await engine.close()
            if not shares:
                raise SystemExit(f"Never did {num_clients} clients write at once: the machine is too busy to measure.")
            medians.append(statistics.median(shares))
        print(
            f"{model_path().stem}, 2 threads, {num_clients} clients, {name}: outside llama_decode "
            f"{statistics.median(medians):.2%} of a step ({min(medians):.2%} to {max(medians):.2%}, n {repetitions})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(run(arguments.clients, arguments.repetitions))


if __name__ == "__main__":
    main()
