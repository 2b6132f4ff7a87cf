"""llama.cpp's shared library: imported once, quiet, its last error lines kept so that a failure can quote them.

Used by the rest of this folder and by nothing else, on any thread. Importing this module does not load the library:
`native` does.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections import deque
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import ModelLoadError
from engine.told import Told

LIBRARY_VERSION = version("llama-cpp-python")

# How long a thread that waits for the others spins before it sleeps. By default so long that one busy process beside
# us makes a step 30 times slower. A short spin costs nothing on a quiet machine; none at all doubles a step.
OPENMP_SPIN_COUNT = "1000"

_WHO_SPEAKS = re.compile(r"^\w+: (error loading model: )?")

# ggml's log levels.
_ERROR = 4
_CONTINUATION = 5


class _LogTail:
    """Swallows llama.cpp's log, but for the last error lines. Called by the library, on any of its threads."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=16)
        self._level = 0

    def __call__(self, level: int, text: bytes, _user_data: Any) -> None:
        if level != _CONTINUATION:
            self._level = level
        if self._level == _ERROR and (line := text.decode("utf-8", "replace").strip()):
            self._lines.append(line)

    def clear(self) -> None:
        self._lines.clear()

    def cause(self) -> str:
        """The first error line since `clear`: later ones only say that the layers above failed too."""
        return _WHO_SPEAKS.sub("", self._lines[0]) if self._lines else "it gave no reason"


log_tail = _LogTail()


@functools.cache
def native() -> Any:
    """The binding module. Its functions release the GIL while they run.

    The library reads the environment once, as it starts.
    """
    os.environ["GGML_NO_BACKTRACE"] = "1"           # or an abort starts a debugger, and hangs instead of ending
    os.environ.setdefault("GOMP_SPINCOUNT", OPENMP_SPIN_COUNT)
    binding = import_module("llama_cpp.llama_cpp")
    binding.llama_log_set(_native_log(binding), None)
    binding.llama_backend_init()
    return binding


def ggml(name: str) -> Any:
    """A function of ggml, which the binding loads too but does not hand out.

    Asked of llama.cpp's own library, which finds it in what it has loaded: opened by its path, ggml is loaded a second
    time, with a registry of devices that is not llama.cpp's.
    """
    library = native()._lib
    try:
        return library[name]
    except AttributeError:                          # a system on which a library hands out nothing but its own
        return _loaded_by_path(name)


def _loaded_by_path(name: str) -> Any:
    for path in library_files():
        if path.stem.removeprefix("lib") in {"ggml", "ggml-base"}:
            with suppress(AttributeError):
                return ctypes.CDLL(str(path))[name]
    raise ModelLoadError(Told("no-library"))


@functools.cache
def _native_log(binding: Any) -> Any:
    """Cached for life: the library keeps a pointer to it that Python does not see."""
    return binding.llama_log_callback(log_tail)


def library_files() -> list[Path]:
    """The shared objects, for telling one build from another. Does not load them."""
    spec = find_spec("llama_cpp")
    if spec is None or spec.origin is None:
        raise ModelLoadError(Told("no-library"))
    folder = os.environ.get("LLAMA_CPP_LIB_PATH") or Path(spec.origin).parent / "lib"     # as the binding looks for it
    return sorted(path for path in Path(folder).iterdir() if path.is_file())
