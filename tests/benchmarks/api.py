"""What HTTP leaves of an engine's pace: `python -m tests.benchmarks.api`. No GPU, no model.

The product over a model of words that takes its steps at a fixed pace (tests/benchmarks/ui/server.py): 125 a second is
an 8B on an H200, 400 a 0.6B. 64 clients, processes of their own, each stream 256 tokens from /v1/completions. The ratio
is of what the engine would have written in that time. `--steps 400 --clients 64 --repetitions 3`
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from app.services.container import Services
from app.settings import Settings
from engine.load import load_engine
from tests.benchmarks.clients import stream_at_once
from tests.benchmarks.cpu.servers import add_person
from tests.benchmarks.ui.server import MODEL_ID, make_model_known

NUM_OUT = 256
NUM_PROCESSES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=float, default=400.0, help="of the engine, a second")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        key = add_person("one", {**os.environ, "INGLENOOK_DATA_DIR": folder})
        asyncio.run(_furnish(Path(folder)))
        command = [sys.executable, "-m", "tests.benchmarks.ui.server", folder, str(arguments.steps)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(json.loads(server.stdout.readline())["url"].rsplit(":", 1)[1].strip("/"))
            try:
                prompts = ["Write 9999 tokens."] * arguments.clients
                runs = [
                    stream_at_once(port, key, MODEL_ID, prompts, NUM_OUT, num_processes=NUM_PROCESSES)
                    for _ in range(arguments.repetitions + 1)
                ][1:]
            finally:
                server.terminate()
    speeds = [each.tokens_per_s for each in runs]
    pieces = [each.pieces_per_token for each in runs]
    pace = arguments.steps * arguments.clients
    shares = sorted(speed / pace for speed in speeds)
    print(
        f"{arguments.clients} clients, {arguments.steps:.0f} steps a second: {statistics.median(speeds):.0f} tokens/s "
        f"of {pace:.0f}, {statistics.median(shares):.2f} ({shares[0]:.2f} to {shares[-1]:.2f}); "
        f"{statistics.median(pieces):.2f} pieces a token"
    )


async def _furnish(folder: Path) -> None:
    services = Services.open(Settings(data_dir=folder), load_engine)
    await make_model_known(services)
    services.close()


if __name__ == "__main__":
    main()
