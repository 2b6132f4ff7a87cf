"""How a CUDA graph is made of what is launched, and what launches it. On the engine's thread; those of several models
take turns, since a process can capture one at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

import torch

from engine.backends.torch.stream import Stream

_turn = threading.Lock()


class GraphCapture:
    """Graphs that never run at once, and so share what they work in."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        """`step` is run once, outside of the graph: kernels are compiled then, and libraries warmed up."""
        with _turn, torch.inference_mode():
            aside = _aside(torch.cuda.current_device())
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                step()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # What other models' threads ask of the device meanwhile, memory for one, spoils no capture.
            with torch.cuda.graph(graph, pool=self._pool, stream=aside, capture_error_mode="thread_local"):
                step()
        return self._stream.launcher(graph)


@cache
def _aside(device: int) -> torch.cuda.Stream:
    """One for all: for each stream that it was called on, cuBLAS keeps 32 MB to the end of the process."""
    return torch.cuda.Stream(device)
