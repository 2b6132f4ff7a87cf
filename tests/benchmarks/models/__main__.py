"""What models cost to load, to switch between, to list and to bring: `python -m tests.benchmarks.models`.

    python -m tests.benchmarks.models [--only load] [--repetitions 7] [--gb 2]

The services, the store, llama.cpp and the pages are the product's; the hub is the tests' own, in a process of its own.
A machine that does other work meanwhile makes times worse. The exit code is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.metadata import version

from tests.benchmarks.models.bringing import bringing
from tests.benchmarks.models.listing import listing
from tests.benchmarks.models.loading import loading
from tests.benchmarks.models.resuming import resuming
from tests.benchmarks.ui.figures import Figure, Skipped, table

Measure = Callable[[], Awaitable[Sequence[Figure | Skipped]]]


async def run(measures: dict[str, Measure]) -> list[Figure]:
    print(f"llama-cpp-python {version('llama-cpp-python')}, SmolLM2-135M-Instruct Q4_1, concurrency 1", flush=True)
    results: list[Figure] = []
    for name, measure in measures.items():
        found = await measure()
        print(f"\n{name}\n{table(found)}", flush=True)
        results += [each for each in found if isinstance(each, Figure)]
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=["load", "list", "bring", "resume"])
    parser.add_argument("--repetitions", type=int, default=7, help="of load and list")
    parser.add_argument("--gb", type=float, default=2, help="size of the file that bring and resume fetch")
    arguments = parser.parse_args()
    measures: dict[str, Measure] = {
        "load": partial(loading, arguments.repetitions), "list": partial(listing, arguments.repetitions),
        "bring": partial(bringing, arguments.gb), "resume": partial(resuming, arguments.gb),
    }
    only = arguments.only or list(measures)
    results = asyncio.run(run({name: measure for name, measure in measures.items() if name in only}))
    missed = [figure.name for figure in results if not figure.is_met]
    print(f"\n{len(missed)} goals missed: {'; '.join(missed)}" if missed else "\nall goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
