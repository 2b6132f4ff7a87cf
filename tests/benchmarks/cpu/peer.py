"""llama.cpp's own server, built once from the sources that llama-cpp-python ships, with the options of our build."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from installers.llama_cpp import wheel

OF_THE_WHEEL_ONLY = ("-DLLAVA_BUILD", "-DCMAKE_PROJECT_llama.cpp_INCLUDE")
OF_THE_SERVER = (
    "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_CURL=OFF", "-DCMAKE_BUILD_TYPE=Release",
)


def llama_server() -> Path:
    """The program, compiled where it is not in the cache yet (some 5 minutes on two cores; needs cmake and ninja)."""
    release = version(wheel.PACKAGE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inglenook"
    build = next(each for each in wheel.builds(release, cache / "wheels") if not each.is_refused)
    folder = cache / "peer" / build.folder.name
    program = folder / "bin" / "llama-server"
    if not program.exists():
        print(f"building llama-server {release} for {build} …", flush=True)
        options = [option for option in build.options if not option.startswith(OF_THE_WHEEL_ONLY)]
        with tempfile.TemporaryDirectory(prefix="inglenook-peer-") as scratch:
            source = _source(release, Path(scratch))
            configure = ["cmake", "-S", str(source), "-B", str(folder), "-G", "Ninja", *options, *OF_THE_SERVER]
            for command in (configure, ["cmake", "--build", str(folder), "--target", "llama-server"]):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return program


def _source(release: str, scratch: Path) -> Path:
    fetch = ["download", "--quiet", "--no-deps", "--no-binary", wheel.PACKAGE]
    subprocess.run(
        [sys.executable, "-m", "pip", *fetch, "--dest", scratch, f"{wheel.PACKAGE}=={release}"], check=True
    )
    with tarfile.open(next(scratch.glob("*.tar.gz"))) as archive:
        archive.extractall(scratch, filter="data")
    return next(scratch.glob("*/vendor/llama.cpp"))
