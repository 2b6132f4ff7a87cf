"""A soak: clients that start, abort and vanish at random, with the whole product up, and then nothing may be left.

    python -m tests.benchmarks.soak --minutes 10 [--clients 32] [--seed 0]

Broken, and a non-zero exit code: an answer that is not the one that its prompt gets alone, an error or a 5xx, a block,
slot or request that is still held when everybody has left, memory that grows, a line in the log that is no information.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.benchmarks.soak.run import run_soak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--prompts", type=int, default=48, help="in the pool")
    parser.add_argument("--seed", type=int, default=0, help="of prompts and of chance")
    arguments = parser.parse_args()
    report = asyncio.run(
        run_soak(
            duration_s=60 * arguments.minutes,
            num_clients=arguments.clients,
            num_prompts=arguments.prompts,
            seed=arguments.seed,
        )
    )
    print(report)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
