"""What models cost to load, to switch between, to list and to bring: `python -m tests.benchmarks.models`.

    python -m tests.benchmarks.models [--only load] [--repetitions 7]

The services, the store, llama.cpp and the pages are the product's; the hub is the tests' own, in a process of its own.
A machine that does other work meanwhile makes times worse. The exit code is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version

from tests.benchmarks.models.bringing import bringing
from tests.benchmarks.models.listing import listing
from tests.benchmarks.models.loading import loading
from tests.benchmarks.ui.figures import Figure, table

MEASURES: dict[str, Callable[[int], Awaitable[list[Figure]]]] = {
    "load": loading, "list": listing, "bring": bringing,
}


async def run(only: set[str], repetitions: int) -> list[Figure]:
    print(f"llama-cpp-python {version('llama-cpp-python')}, SmolLM2-135M-Instruct Q4_1, concurrency 1", flush=True)
    results: list[Figure] = []
    for name, measure in MEASURES.items():
        if not only or name in only:
            found = await measure(repetitions)
            print(f"\n{name}\n{table(found)}", flush=True)
            results += found
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=list(MEASURES))
    parser.add_argument("--repetitions", type=int, default=7)
    arguments = parser.parse_args()
    results = asyncio.run(run(set(arguments.only), arguments.repetitions))
    missed = [figure.name for figure in results if not figure.is_met]
    print(f"\n{len(missed)} goals missed: {'; '.join(missed)}" if missed else "\nall goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
