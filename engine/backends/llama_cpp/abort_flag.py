"""A flag that llama.cpp looks at after each node of a graph, to end a step in its midst. Set on any thread.

What it calls must not be Python, which would wait for the GIL some 700 times a step. `ggml_is_empty` is a function of
the library's own with the shape of an abort callback, a pointer in and a bool out: true if one of a tensor's dimensions
is 0. So the "tensor" here is memory that is all ones or all zeros, which says no or yes wherever in it the dimensions
lie. It is called through a pointer to `void` instead of to a tensor: the same on every platform that there is.
"""

from __future__ import annotations

import ctypes
from typing import Any

from engine.backends.llama_cpp.library import ggml, native

_TENSOR_BYTES = 1024                # a ggml_tensor has 336


class AbortFlag:
    """Outlives the contexts that it is installed in."""

    def __init__(self) -> None:
        self._tensor = (ctypes.c_uint8 * _TENSOR_BYTES)()
        address = ctypes.cast(ggml("ggml_is_empty"), ctypes.c_void_p).value
        self._callback: Any = native().ggml_abort_callback(address)
        self.clear()

    def install(self, context: Any) -> None:
        native().llama_set_abort_callback(context, self._callback, ctypes.addressof(self._tensor))

    def set(self) -> None:
        ctypes.memset(self._tensor, 0, _TENSOR_BYTES)

    def clear(self) -> None:
        ctypes.memset(self._tensor, 1, _TENSOR_BYTES)
