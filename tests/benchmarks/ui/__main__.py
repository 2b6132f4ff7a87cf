"""What the pages cost, measured in headless Chromium against the issue's goals: `make bench-ui`.

    python -m tests.benchmarks.ui [--only pages] [--repetitions 5]

Two servers, one after the other: `inglenook serve` with the starter model, and the product over a back end that writes
at a set rate (server.py beside this file), named with the figures. A machine that does other work meanwhile makes times
worse, not sizes and counts. The exit code is 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version

import psutil
from playwright.async_api import Browser

from tests.benchmarks.ui.figures import Figure, Skipped, table
from tests.benchmarks.ui.house import Served, furnished, served
from tests.benchmarks.ui.long_chat import long_chat
from tests.benchmarks.ui.many_chats import many_chats
from tests.benchmarks.ui.memory import memory
from tests.benchmarks.ui.pages import pages
from tests.benchmarks.ui.streams import TOKENS_PER_S, streams
from tests.e2e.conftest import chromium

Measure = Callable[[Served, Browser, int], Awaitable[list[Figure | Skipped]]]
REAL: dict[str, Measure] = {"pages": pages, "many-chats": many_chats}  # type: ignore[dict-item]
PACED: dict[str, Measure] = {"streams": streams, "long-chat": long_chat, "memory": memory}  # type: ignore[dict-item]


async def others() -> str:
    """How busy the machine is with other work: times mean something where it is not."""
    psutil.cpu_percent()
    await asyncio.sleep(1)
    return f"{psutil.cpu_percent():.0f}"


async def run(only: set[str], repetitions: int) -> list[Figure | Skipped]:
    results: list[Figure | Skipped] = []
    async with furnished() as (data_dir, people), chromium() as browser:
        print(f"Chromium {browser.version}, NiceGUI {version('nicegui')}, one run each unless noted", flush=True)
        for measures, tokens_per_s in ((REAL, None), (PACED, TOKENS_PER_S)):
            wanted = {name: measure for name, measure in measures.items() if not only or name in only}
            if not wanted:
                continue
            async with served(data_dir, people, tokens_per_s=tokens_per_s) as server:
                for name, measure in wanted.items():
                    print(f"\n{name} ({server.what}; {await others()} % of the machine busy before)", flush=True)
                    found = await measure(server, browser, repetitions)
                    print(table(found), flush=True)
                    results += found
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=[*REAL, *PACED])
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    results = asyncio.run(run(set(arguments.only), arguments.repetitions))
    missed = [figure.name for figure in results if isinstance(figure, Figure) and not figure.is_met]
    print(f"\n{len(missed)} goals missed: {'; '.join(missed)}" if missed else "\nall goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
