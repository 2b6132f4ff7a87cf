"""A child process of this package, for native code that may end the process that it is in: a task in, reports out.

`run_child` is the parent's side, on the event loop. The child calls `take_task` first, and `report` as often as it
likes. Its standard input stays open until it has ended: so it notices if the parent is gone, and ends too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.told import Told, packed, unpacked

_MAX_QUOTED_CHARS = 300
_KEPT_OUTPUT_BYTES = 64 << 10


# -- the parent's side -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended, and what it had said by then."""

    code: int                            # negative: the signal that ended it
    reports: tuple[dict[str, Any], ...]
    last_words: str                      # the last line of its standard error, maybe ""

    def find(self, name: str) -> Any:
        """The last report's value of this name, or None."""
        return next((report[name] for report in reversed(self.reports) if name in report), None)

    def error(self) -> Told | None:
        """What the child gave up with; None where it did not say."""
        told = self.find("error")
        if told is None:
            return None
        sentence = unpacked(told)
        return sentence if isinstance(sentence, Told) else Told("trial-failed", detail=sentence)

    def __str__(self) -> str:
        quoted = f', saying "{self.last_words[:_MAX_QUOTED_CHARS]}"' if self.last_words else ""
        return f"{_ending(self.code)}{quoted}"


async def run_child(module: str, task: dict[str, Any], *, timeout_s: float) -> Ended:
    """Run `python -m module` to its end. Raises TimeoutError; however this is left, the child is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", module,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=_environment(), creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(json.dumps(task).encode() + b"\n")
    try:
        async with asyncio.timeout(timeout_s):
            out, err, _ = await asyncio.gather(_last_of(process.stdout), _last_of(process.stderr), process.wait())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    words = err.decode("utf-8", "replace").strip().splitlines()
    return Ended(process.returncode or 0, tuple(_reports(out)), words[-1] if words else "")


async def _last_of(stream: asyncio.StreamReader) -> bytes:
    """Reads to the end, however much there is."""
    kept = b""
    while piece := await stream.read(_KEPT_OUTPUT_BYTES):
        kept = (kept + piece)[-_KEPT_OUTPUT_BYTES:]
    return kept


def _reports(out: bytes) -> list[dict[str, Any]]:
    """What the child reported, among what a library may have printed."""
    reports: list[dict[str, Any]] = []
    for line in out.splitlines():
        with contextlib.suppress(ValueError):
            report = json.loads(line)
            if isinstance(report, dict):
                reports.append(report)
    return reports


def _ending(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"


def _environment() -> dict[str, str]:
    """The child imports this very package, wherever it is installed."""
    root = str(Path(__file__).parents[1])
    return {
        **os.environ,
        "GGML_NO_BACKTRACE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH")))),
    }


# -- the child's side --------------------------------------------------------------------------------------------------


def take_task() -> dict[str, Any]:
    """What the parent wants. From here on this process ends when the parent does, and leaves no core file."""
    with contextlib.suppress(ImportError):       # Windows has no such module, and writes none
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    return task


def report(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def report_error(error: EngineError) -> None:
    report(error=packed(error.sentence))


def _end_with_the_parent() -> None:
    """Standard input, by which nothing more comes, ends when the parent does. Native code is not waited for."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
