"""Inglenook beside llama-server, over HTTP, with all that a user has running: `make bench-cpu`.

    python -m tests.benchmarks.cpu [--only sweep,chat] [--repetitions 3] [--our-format Q8_0]

With `--our-format` ours runs a copy of the model in that format, or in the one that `models optimize` advises, while
the peer keeps the original file.

Runs A B A B …, prints medians, spread and ratios. Ratios hold in one run on one machine; absolute times do not.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.benchmarks.cpu.servers import ADVISED, MODEL_ID, Contender, Shape, contenders, make_copy
from tests.benchmarks.cpu.workloads import WORKLOADS, Figures, Workload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="beginnings of workloads' names, with commas between them")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--our-format", metavar="FORMAT", help=f"of our weights: Q8_0, say, or '{ADVISED}'")
    arguments = parser.parse_args()
    beginnings = tuple(arguments.only.split(","))
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        our_copy = make_copy(arguments.our_format, Path(folder)) if arguments.our_format else None
        both = contenders(our_copy)
        for workload in WORKLOADS:
            if workload.name.startswith(beginnings):
                compare(both, workload, arguments.repetitions)


def compare(both: tuple[Contender, Contender], workload: Workload, repetitions: int) -> None:
    measured: dict[Contender, dict[str, list[float]]] = {each: defaultdict(list) for each in both}
    for repetition in range(repetitions):
        for contender in both:
            for name, value in run_once(contender, workload, repetition).items():
                measured[contender][name].append(value)
    ours, peer = both
    for name in measured[ours]:
        report(workload, name, {contender.name: measured[contender][name] for contender in (ours, peer)})


def run_once(contender: Contender, workload: Workload, repetition: int) -> Figures:
    with contender.serve(workload.shape) as running:
        return asyncio.run(workload.run(running, repetition))


def report(workload: Workload, name: str, by_contender: dict[str, list[float]]) -> None:
    (_, ours), (_, peer) = by_contender.items()
    ratio = statistics.median(ours) / statistics.median(peer)
    print(f"{workload.name}: {name}: ratio {ratio:.2f} ({_described(workload.shape)})")
    for contender, values in by_contender.items():
        spread = max(values) - min(values)
        print(f"    {contender:54} median {statistics.median(values):9.1f}, spread {spread:8.1f}, n {len(values)}")


def _described(shape: Shape) -> str:
    return f"{MODEL_ID}, {shape.num_threads} threads, {shape.num_seqs} x {shape.context_tokens} tokens"


if __name__ == "__main__":
    main()
