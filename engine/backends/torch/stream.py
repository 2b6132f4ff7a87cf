"""What a step asks of CUDA, through the driver's own calls, which keep the interpreter's lock. On the engine's thread.

torch lets go of the lock in each call, however short; where the event loop is busy, it takes a switch between threads
to have it back, up to half a millisecond. A step has half a dozen calls of a few microseconds. Waiting, which does take
long, is left to torch, and lets others run.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog
import torch
from torch import Tensor

from engine.errors import EngineFailed

_LIBRARY: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_HANDLE, _ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
_DEVICE_ADDRESS = ctypes.c_uint64

logger = structlog.get_logger(__name__)


class Stream:
    """By torch: where the driver's library is not to be had. What is copied is contiguous, and on this side pinned."""

    def launcher(self, graph: torch.cuda.CUDAGraph) -> Callable[[], None]:
        """Launches it."""
        return partial(graph.replay)

    def bring(self, there: Tensor, here: Tensor) -> None:
        with torch.inference_mode():
            there.copy_(here, non_blocking=True)

    def fetch(self, here: Tensor, there: Tensor) -> None:
        with torch.inference_mode():
            here.copy_(there, non_blocking=True)

    def mark(self, event: torch.cuda.Event) -> None:
        """It comes when all that was asked so far is done."""
        event.record()

    def wait(self, event: torch.cuda.Event) -> None:
        event.synchronize()


class DriverStream(Stream):
    """torch's current stream. Raises OSError or AttributeError where the library, or something in it, is missing."""

    def __init__(self) -> None:
        driver = ctypes.PyDLL(_LIBRARY)         # a CDLL would let go of the lock, too

        def call(name: str, *types: type) -> Callable[..., None]:
            function = getattr(driver, name)
            function.argtypes, function.restype = [*types], ctypes.c_int
            return partial(self._expect_success, name, function)

        self._stream = torch.cuda.current_stream().cuda_stream
        self._launch = call("cuGraphLaunch", _HANDLE, _HANDLE)
        self._copy_there = call("cuMemcpyHtoDAsync_v2", _DEVICE_ADDRESS, _ADDRESS, _SIZE, _HANDLE)
        self._copy_here = call("cuMemcpyDtoHAsync_v2", _ADDRESS, _DEVICE_ADDRESS, _SIZE, _HANDLE)
        self._record = call("cuEventRecord", _HANDLE, _HANDLE)
        self._query = driver.cuEventQuery
        self._query.argtypes, self._query.restype = [_HANDLE], ctypes.c_int

    def launcher(self, graph: torch.cuda.CUDAGraph) -> Callable[[], None]:
        return partial(self._launch_it, graph, graph.raw_cuda_graph_exec())

    def bring(self, there: Tensor, here: Tensor) -> None:
        self._copy_there(there.data_ptr(), here.data_ptr(), here.nbytes, self._stream)

    def fetch(self, here: Tensor, there: Tensor) -> None:
        self._copy_here(here.data_ptr(), there.data_ptr(), there.nbytes, self._stream)

    def mark(self, event: torch.cuda.Event) -> None:
        self._record(event.cuda_event, self._stream)

    def wait(self, event: torch.cuda.Event) -> None:
        if self._query(event.cuda_event) != 0:
            event.synchronize()

    def _launch_it(self, graph: torch.cuda.CUDAGraph, executable: int) -> None:
        """`graph` is the owner of the executable one."""
        self._launch(executable, self._stream)

    @staticmethod
    def _expect_success(name: str, function: Callable[..., int], *arguments: int) -> None:
        if code := function(*arguments):
            raise EngineFailed(f"{name} failed with CUDA's error {code}. Load the model again.")


def current_stream() -> Stream:
    """The one that is torch's current one. The driver's calls are NVIDIA's alone."""
    if torch.version.cuda is None or not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph_exec"):
        return Stream()
    try:
        return DriverStream()
    except (OSError, AttributeError) as error:
        logger.warning("no_cuda_driver", error=str(error))
        return Stream()
