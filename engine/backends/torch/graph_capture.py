"""How a CUDA graph is made of what is launched, and what launches it. On the engine's thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from engine.backends.torch.stream import Stream


class GraphCapture:
    """Graphs that never run at once, and so share what they work in."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        """`step` is run once, outside of the graph: kernels are compiled then, and libraries warmed up."""
        with torch.inference_mode():
            aside = _aside()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                step()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool, stream=aside):
                step()
        return self._stream.launcher(graph)


@cache
def _aside() -> torch.cuda.Stream:
    """One for all: for each stream that it was called on, cuBLAS keeps 32 MB to the end of the process."""
    return torch.cuda.Stream()
