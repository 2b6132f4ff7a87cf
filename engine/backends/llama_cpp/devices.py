"""The devices that this build of llama.cpp finds, for `doctor`. Any thread; loads the library."""

from __future__ import annotations

import ctypes
from importlib import import_module

from engine.backends.llama_cpp.library import native


def list_devices() -> list[tuple[str, str, int, int]]:
    """(name, description, total bytes, free bytes) of each."""
    native()
    ggml = import_module("llama_cpp._ggml").libggml
    for name, result, arguments in (
        ("ggml_backend_dev_count", ctypes.c_size_t, []),
        ("ggml_backend_dev_get", ctypes.c_void_p, [ctypes.c_size_t]),
        ("ggml_backend_dev_name", ctypes.c_char_p, [ctypes.c_void_p]),
        ("ggml_backend_dev_description", ctypes.c_char_p, [ctypes.c_void_p]),
        ("ggml_backend_dev_memory", None, [ctypes.c_void_p, *2 * [ctypes.POINTER(ctypes.c_size_t)]]),
    ):
        function = getattr(ggml, name)
        function.restype, function.argtypes = result, arguments
    return [_describe(ggml, ggml.ggml_backend_dev_get(index)) for index in range(ggml.ggml_backend_dev_count())]


def _describe(ggml: ctypes.CDLL, device: int) -> tuple[str, str, int, int]:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    ggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
    name = ggml.ggml_backend_dev_name(device).decode("utf-8", "replace")
    return name, ggml.ggml_backend_dev_description(device).decode("utf-8", "replace"), total.value, free.value
