"""Builds llama-cpp-python for this processor, and tries it. Called by `installers.steps`; standard library only.

A built wheel is kept under a name made of all that it depends on, so that a second environment does not compile again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from installers.console import Console, Pip, SetupError
from installers.llama_cpp import probe
from installers.locks import only_one

HERE = Path(__file__).resolve().parent
HOOK = HERE / "library_only.cmake"
TRIAL = HERE / "trial.py"
PACKAGE = "llama-cpp-python"
TRIAL_TIMEOUT_S = 180
REFUSED = "refused"                  # a file beside a wheel that crashed on this machine

_BASE_OPTIONS = ("-DLLAVA_BUILD=OFF", "-DLLAMA_OPENSSL=OFF", f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={HOOK}")
_NEEDS_COMPILER = (
    "llama.cpp is compiled for your processor, and there is no C and C++ compiler here. Install one "
    "(Debian, Ubuntu: `apt install build-essential`; macOS: `xcode-select --install`)"
)


@dataclass(frozen=True)
class Build:
    """One way of compiling: what goes into the wheel, and where it is kept."""

    version: str
    features: tuple[str, ...]
    options: tuple[str, ...]         # for CMake
    folder: Path

    @property
    def wheel(self) -> Path | None:
        return next(self.folder.glob("*.whl"), None)

    @property
    def is_refused(self) -> bool:
        return (self.folder / REFUSED).exists()

    def refuse(self, why: str) -> None:
        """Never take this build again here: it crashed."""
        (self.folder / REFUSED).write_text(why + "\n")

    def __str__(self) -> str:
        return " ".join(self.features) if self.features else f"plain {platform.machine()}"


def builds(version: str, cache: Path) -> Iterator[Build]:
    """The ways to build, best first: all that the processor runs, the common ground, nothing special."""
    compiler, cxx = probe.c_compiler(), probe.cxx_compiler()
    if compiler is None or cxx is None:
        raise SetupError(_NEEDS_COMPILER)
    compilers = (probe.compiler_version(compiler), probe.compiler_version(cxx))
    seen: set[tuple[str, ...]] = set()
    for features, machine_options in _variants(compiler):
        options = (*_BASE_OPTIONS, *machine_options, *shlex.split(os.environ.get("CMAKE_ARGS", "")))
        if options not in seen:
            seen.add(options)
            yield Build(version, features, options, cache / _key(version, compilers, options))


def make(build: Build, pip: Pip, console: Console) -> Path:
    """The wheel of a build: from the cache, or compiled now (about two minutes on two cores)."""
    shelf = build.folder.parent
    shelf.mkdir(parents=True, exist_ok=True)
    with only_one(shelf, console.say):
        if build.wheel is None:
            with tempfile.TemporaryDirectory(dir=shelf, prefix="building-") as folder:
                made = Path(folder) / "wheel"
                _compile(build, pip, made)
                shutil.rmtree(build.folder, ignore_errors=True)
                made.rename(build.folder)            # whole or not at all
    if build.wheel is None:
        raise SetupError(f"{build.folder} holds no wheel. Remove that folder and try again")
    return build.wheel


def trial(python: Path) -> str | None:
    """Answer one token with the installed library in a child process: None when that works, else how it ended."""
    try:
        done = subprocess.run(
            [str(python), str(TRIAL)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, timeout=TRIAL_TIMEOUT_S, env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {TRIAL_TIMEOUT_S} s"
    if done.returncode == 0:
        return None
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return f"{how}: {done.stderr.strip()[-500:]}"


def _variants(compiler: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if not probe.is_x86_64():
        yield (), ("-DGGML_NATIVE=ON",)
        yield (), ("-DGGML_NATIVE=OFF",)
        return
    ran = probe.features_that_run(compiler)
    for chosen in (ran, tuple(name for name in ran if name in probe.BASELINE), ()):
        switches = [f"-D{f.option}={'ON' if f.name in chosen else 'OFF'}" for f in probe.FEATURES]
        yield chosen, ("-DGGML_NATIVE=OFF", *switches)


def _key(version: str, compilers: tuple[str, ...], options: tuple[str, ...]) -> str:
    built_with = [version, platform.system(), platform.machine(), *platform.libc_ver(), *compilers, HOOK.read_text()]
    settings = [option for option in options if str(HOOK) not in option]       # where the checkout lies does not matter
    digest = hashlib.sha256(json.dumps([built_with, settings]).encode()).hexdigest()
    return f"llama_cpp_python-{version}-{platform.machine()}-{digest[:16]}"


def _compile(build: Build, pip: Pip, folder: Path) -> None:
    pip(
        "wheel", "--verbose", "--no-deps", "--no-binary", PACKAGE,
        "--no-cache-dir",                                       # pip's own cache of wheels does not know CMAKE_ARGS
        "--config-settings", "wheel.exclude=lib/**;include/**;bin/**",   # second copies, loose in site-packages
        "--wheel-dir", str(folder), f"{PACKAGE}=={build.version}",
        env={
            "CMAKE_ARGS": shlex.join(build.options),
            "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1)),
        },
    )
