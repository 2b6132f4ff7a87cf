"""What a person sees of the set-up, and how its commands are run. Called by `installers.steps`; standard library only.

On a terminal a step has one live line; elsewhere (a log, CI) it says how far it is every few seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

QUIET_INTERVAL_S = 10
LIVE_INTERVAL_S = 0.25
NUM_LINES_READ = 80                  # of a failed command's output, in search of the reason
NUM_LINES_SHOWN = 12

# What a failed command's last lines mean, and what to do. The first match wins.
_MENDS = (
    (r"No space left on device|Errno 28|Disk quota exceeded",
     "The disk is full. Free about 2 GB."),
    (r"name resolution|Name or service not known|NewConnectionError|Network is unreachable|Connection refused|"
     r"Read timed out|ConnectTimeout|Max retries exceeded|ProxyError|SSLError|Could not resolve|Temporary failure",
     "The network failed. Check the connection, and the proxy if there is one."),
    (r"ResolutionImpossible|No matching distribution",
     "A package could not be had: the network failed, or there is none for this Python on this machine."),
    (r"Permission denied|Errno 13|Read-only file system",
     "A folder cannot be written. Check who owns this checkout and the cache folder."),
    (r"Killed signal|out of memory|cannot allocate memory",
     "The machine ran out of memory. Close other programs, or set CMAKE_BUILD_PARALLEL_LEVEL=1."),
    (r"CMAKE_C(XX)?_COMPILER not set|No CMAKE_C(XX)?_COMPILER could be found",
     "CMake finds no compiler. Install one, or correct CC and CXX."),
    (r"DO NOT MATCH THE HASHES|BadZipFile|Wheel .* is invalid",
     "A download arrived damaged."),
)
_EPILOGUE = "error: subprocess-exited-with-error"


class SetupError(Exception):
    """The set-up cannot go on. `str(error)` says what happened and what to do."""


class Console:
    """Numbered steps with the time that each took. While one runs, a thread says every now and then how far it is."""

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._num_done = 0
        self._title = ""
        self._detail = ""
        self._started_s = 0.0
        self._is_live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self._title = f"[{self._num_done + 1}/{self._num_steps}] {title}"
        self._detail = "at work"
        self._started_s = time.monotonic()
        print(f"{self._title} …", end="" if self._is_live else "\n", flush=True)
        try:
            with self._ticking():
                yield
        except BaseException:
            print(end="\n" if self._is_live else "", flush=True)
            raise
        self._num_done += 1
        self.say(f"{self._title}: done in {self._elapsed}")

    def progress(self, detail: str) -> None:
        """How far the step is; shown with the next tick."""
        self._detail = detail

    def say(self, text: str) -> None:
        print(f"{self._start_of_line}{text}", flush=True)

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        has_ended = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(has_ended,), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            has_ended.set()
            ticker.join()

    def _tick(self, has_ended: threading.Event) -> None:
        while not has_ended.wait(LIVE_INTERVAL_S if self._is_live else QUIET_INTERVAL_S):
            if self._is_live:
                line = f"{self._title} … {self._detail}, {self._elapsed}"
                print(self._start_of_line + line[: shutil.get_terminal_size().columns - 1], end="", flush=True)
            else:
                print(f"      {self._detail}, {self._elapsed}", flush=True)

    @property
    def _elapsed(self) -> str:
        seconds = round(time.monotonic() - self._started_s)
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60:02} s"

    @property
    def _start_of_line(self) -> str:
        return "\r\033[K" if self._is_live else ""


class Runner:
    """Runs commands without input; their whole output goes to a log."""

    def __init__(self, log: Path, again: str) -> None:
        self._log = log
        self._again = again          # what the person types to try once more: "make run"

    def run(
        self, command: list[str], *, on_line: Callable[[str], object] = len, env: dict[str, str] | None = None
    ) -> None:
        """Raises SetupError with the last lines and a way out when the command fails."""
        last_lines: deque[str] = deque(maxlen=NUM_LINES_READ)
        with self._log.open("a", encoding="utf-8") as log, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})}, text=True, encoding="utf-8", errors="replace",
        ) as child:
            assert child.stdout is not None
            log.write(f"\n$ {' '.join(command)}\n")
            for line in child.stdout:
                log.write(line)
                last_lines.append(line.rstrip())
                on_line(line)
        if child.returncode != 0:
            raise SetupError(explain(list(last_lines), self._log, self._again))


def explain(last_lines: list[str], log: Path, again: str) -> str:
    """For people: what went wrong, guessed from a command's last lines, and what to do."""
    mend = mend_of("\n".join(last_lines)) or "This step failed."
    shown = "\n".join(f"    {line}" for line in _without_epilogue(last_lines)[-NUM_LINES_SHOWN:])
    return f"{shown}\n{mend} Then repeat `{again}`: it goes on from here. All that was said is in {log}"


def mend_of(text: str) -> str | None:
    """What to do about a command that said `text` and failed, if that is known."""
    return next((mend for pattern, mend in _MENDS if re.search(pattern, text, re.IGNORECASE)), None)


def _without_epilogue(lines: list[str]) -> list[str]:
    """The reason comes first when a build fails aloud; pip's dozen lines after it say only that it failed."""
    said = [line.strip() for line in lines]
    if _EPILOGUE not in said[1:] or not any("No available output" in line for line in said):
        return lines
    return lines[: said.index(_EPILOGUE, 1)]


class Pip:
    """pip of one environment, held to constraints.txt."""

    def __init__(self, python: Path, constraints: Path, runner: Runner, console: Console) -> None:
        self._command = [str(python), "-I", "-m", "pip"]
        self._constraints = str(constraints)
        self._runner = runner
        self._console = console

    def __call__(self, verb: str, *arguments: str, env: dict[str, str] | None = None) -> None:
        held = ["--constraint", self._constraints, "--build-constraint", self._constraints]
        self._runner.run([*self._command, verb, *held, *arguments], on_line=self._show, env=env)

    def update_itself(self) -> None:
        """To the version in the constraints: the one that came with Python may not know `--build-constraint`."""
        self._runner.run([*self._command, "install", "--upgrade", "--constraint", self._constraints, "pip"])

    def _show(self, line: str) -> None:
        if found := re.search(r"\[(\d+)/(\d+)\]", line):                 # ninja's
            self._console.progress(f"compiled {found[1]} of {found[2]} files")
        elif found := re.search(r"\[ *(\d+)%\]", line):                  # make's
            self._console.progress(f"compiled {found[1]} %")
        elif found := re.match(r"\s*(?:Collecting|Downloading|Using cached) (\S+)", line):
            self._console.progress(f"fetching {found[1]}")
        elif line.lstrip().startswith("Installing collected packages"):
            self._console.progress("installing")
