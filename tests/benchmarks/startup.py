"""How long a second start takes, and what the process keeps in memory: `make bench-start`.

Starts the real server on a data folder that has been used once, and times from the command: the first page (a complete
/login answer), and the first token of a streamed chat completion. Then reads what is resident beside the model: the
process's private and shared pages, without those of the GGUF itself, which the kernel maps and may drop.

    python tests/benchmarks/startup.py [--repetitions 3]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx

GOAL_FIRST_PAGE_S = 3.0
GOAL_FIRST_TOKEN_S = 5.0
GOAL_RESIDENT_MB = 250.0
PATIENCE_S = 60.0
COMMAND = [sys.executable, "-m", "inglenook"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    repetitions = parser.parse_args().repetitions
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        key = prepare(Path(folder))
        start_once(Path(folder), key)                               # the first start tries the model, fills caches
        rows = [start_once(Path(folder), key) for _ in range(repetitions)]
    report(rows)


def prepare(data_dir: Path) -> str:
    run = [*COMMAND, "users", "add", "bench", "--admin", "--password-stdin"]
    env = environment(data_dir)
    subprocess.run(run, input="correct horse battery", text=True, check=True, env=env, stdout=subprocess.DEVNULL)
    create = [*COMMAND, "keys", "create", "--user", "bench"]
    made = subprocess.run(create, text=True, check=True, env=env, capture_output=True)
    found = re.search(r"sk-\S+", made.stdout)
    if found is None:
        raise SystemExit(f"keys create printed no key: {made.stdout!r}")
    return found.group()


def start_once(data_dir: Path, key: str) -> dict[str, float | str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    started = time.perf_counter()
    server = subprocess.Popen(
        [*COMMAND, "serve", "--port", str(port), "--no-browser"], env=environment(data_dir), stdout=subprocess.DEVNULL
    )
    try:
        with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S) as client:
            first_page_s = wait_for_page(client, server, started)
            model = wait_for_model(client, server, started)
            first_token_s = first_token(client, model, started)
            return {
                "model": model, "first_page_s": first_page_s, "first_token_s": first_token_s,
                "resident_mb": resident_beside_model_mb(server.pid),
            }
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=PATIENCE_S)


def wait_for_page(client: httpx.Client, server: subprocess.Popen[bytes], started: float) -> float:
    while time.perf_counter() - started < PATIENCE_S:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with exit code {server.returncode}")
        try:
            if client.get("/login").status_code == 200:
                return time.perf_counter() - started
        except httpx.ConnectError:
            time.sleep(0.02)                             # a port that is not open yet has no event to wait for
    raise SystemExit("no page within the bound")


def wait_for_model(client: httpx.Client, server: subprocess.Popen[bytes], started: float) -> str:
    models = client.get("/v1/models").json()["data"]
    if not models:
        raise SystemExit("the server has no model")
    return str(models[0]["id"])


def first_token(client: httpx.Client, model: str, started: float) -> float:
    body = {
        "model": model, "stream": True, "temperature": 0, "max_tokens": 32,
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
    }
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        response.raise_for_status()
        seen: float | None = None
        for line in response.iter_lines():
            if seen is None and line.startswith("data: {") and _content(line):
                seen = time.perf_counter() - started
    if seen is None:
        raise SystemExit("no token came")
    return seen


def _content(line: str) -> str:
    choices = json.loads(line.removeprefix("data: "))["choices"]
    return (choices[0]["delta"].get("content") or "") if choices else ""


def resident_beside_model_mb(pid: int) -> float:
    """Resident pages of every mapping but those of the model's file, in MB."""
    total_kb, counted = 0, True
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", line):
            counted = not line.endswith(".gguf")
        elif counted and line.startswith("Rss:"):
            total_kb += int(line.split()[1])
    return total_kb / 1024


def environment(data_dir: Path) -> dict[str, str]:
    return {**os.environ, "INGLENOOK_DATA_DIR": str(data_dir)}


def report(rows: list[dict[str, float | str]]) -> None:
    for name, goal, unit in (
        ("first_page_s", GOAL_FIRST_PAGE_S, "s"), ("first_token_s", GOAL_FIRST_TOKEN_S, "s"),
        ("resident_mb", GOAL_RESIDENT_MB, "MB"),
    ):
        values = [float(row[name]) for row in rows]
        verdict = "met" if max(values) < goal else "MISSED"
        median, worst = statistics.median(values), max(values)
        print(f"{name:14} median {median:7.2f} {unit}, worst {worst:7.2f}, goal < {goal:g}: {verdict}")
    print(f"model {rows[0]['model']}, concurrency 1, {len(rows)} repetitions")


if __name__ == "__main__":
    main()
