"""Tokens a second by number of threads: `python -m tests.benchmarks.threads [--model FILE.gguf] [--threads 1 2 4]`.

llama.cpp's own passes alone, in one context of 32 sequences: a decode step of 1, 8 and 32 sequences at some 200 tokens
deep, and a prompt of 257 tokens. Counts take turns, and the fastest of all turns counts: what else runs on the machine
slows only some. Then the same steps with the counts that the engine chooses for itself, and which these are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.backends.llama_cpp.context import Context, ContextShape, StreamRow
from engine.backends.llama_cpp.library import LIBRARY_VERSION
from engine.backends.llama_cpp.model import NativeModel, RunOptions
from engine.gguf import read_header
from engine.hardware import inspect_machine
from engine.thread_counts import ThreadCounts, ladder, threads_for
from tests.benchmarks.cpu.servers import model_path

DEPTH = 200
PROMPT_TOKENS = 257
NUM_STEPS = 4                # of a count in its turn
NUM_STEPS_CHOSEN = 40
ROWS = (1, 8, 32)
TITLES = (*(f"{rows} seq" for rows in ROWS), f"prompt of {PROMPT_TOKENS}")


class Bench:
    def __init__(self, path: Path, most: int) -> None:
        self._model = NativeModel(path, RunOptions(), ())
        shape = ContextShape(max(ROWS), 1024)
        self._context = Context(self._model, shape, num_batch_tokens=PROMPT_TOKENS, num_threads=most)
        for stream in range(max(ROWS)):
            self._context.decode([StreamRow(stream, 0, list(range(100, 100 + DEPTH)), 1)])

    def decode(self, num_rows: int) -> float:
        """Seconds of a step of one token each."""
        took_s = self._timed([StreamRow(stream, DEPTH, [100], 1) for stream in range(num_rows)])
        for stream in range(num_rows):
            self._context.cut_stream(stream, DEPTH)
        return took_s

    def prompt(self) -> float:
        """Seconds of a prompt, read in one step."""
        took_s = self._timed([StreamRow(0, DEPTH, list(range(100, 100 + PROMPT_TOKENS)), 1)])
        self._context.cut_stream(0, DEPTH)
        return took_s

    def use_threads(self, num_threads: int) -> None:
        self._context.use_threads(num_threads)

    def _timed(self, rows: list[StreamRow]) -> float:
        started_s = time.perf_counter()
        self._context.decode(rows)
        return time.perf_counter() - started_s

    def close(self) -> None:
        self._context.close()
        self._model.close()


def workloads(bench: Bench) -> list[tuple[int, Callable[[], float]]]:
    """(tokens, how to compute them)"""
    decodes = [(rows, lambda rows=rows: bench.decode(rows)) for rows in ROWS]
    return [*decodes, (PROMPT_TOKENS, bench.prompt)]


def measure(bench: Bench, counts: Iterable[int], repetitions: int) -> dict[int, list[float]]:
    """By count, the fewest seconds of each workload."""
    best = {count: [float("inf")] * len(TITLES) for count in counts}
    for _ in range(repetitions):
        for count, of_count in best.items():
            bench.use_threads(count)
            for index, (_, compute) in enumerate(workloads(bench)):
                of_count[index] = min(of_count[index], *(compute() for _ in range(NUM_STEPS)))
    return best


def choose(bench: Bench, most: int) -> list[tuple[int, float]]:
    """For each workload the count that the engine comes to, and the fewest seconds with it."""
    chosen: list[tuple[int, float]] = []
    thread_counts = ThreadCounts(most)
    for num_tokens, compute in workloads(bench):
        seconds: list[tuple[int, float]] = []
        for _ in range(NUM_STEPS_CHOSEN if len(ladder(most)) > 1 else NUM_STEPS):
            count = thread_counts.choose(num_tokens)
            bench.use_threads(count)
            took_s = compute()
            thread_counts.learn(num_tokens, took_s)
            seconds.append((count, took_s))
        last = seconds[-1][0]
        chosen.append((last, min(took_s for count, took_s in seconds if count == last)))
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=None)
    parser.add_argument("--threads", type=int, nargs="+", default=None, help="the largest is the most to choose")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    path: Path = arguments.model or model_path()
    machine = inspect_machine()
    most = max(arguments.threads) if arguments.threads else threads_for(machine.num_cores)
    counts = sorted(set(arguments.threads) if arguments.threads else {1, *ladder(most), machine.num_cores})
    bench = Bench(path, most)
    print(
        f"{path.stem} ({read_header(path).quantisation}), llama-cpp-python {LIBRARY_VERSION}, {machine.processor}, "
        f"{machine.num_cores} cores; tokens/s, the best of {arguments.repetitions} x {NUM_STEPS} steps"
    )
    print(f"{'threads':>8}" + "".join(f"{title:>16}" for title in TITLES))
    for count, seconds in measure(bench, counts, arguments.repetitions).items():
        speeds = [tokens / took_s for tokens, took_s in zip((*ROWS, PROMPT_TOKENS), seconds, strict=True)]
        print(f"{count:>8}" + "".join(f"{speed:>16.1f}" for speed in speeds))
    chosen = choose(bench, most)
    pairs = zip((*ROWS, PROMPT_TOKENS), chosen, strict=True)
    print(f"{'chosen':>8}" + "".join(f"{f'{count}: {tokens / took_s:.1f}':>16}" for tokens, (count, took_s) in pairs))
    bench.close()


if __name__ == "__main__":
    main()
