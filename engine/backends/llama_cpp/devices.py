"""The devices that this build of llama.cpp finds. Any thread.

`list_devices` loads the library, so a start asks by `find_gpus`: of a child process, for a driver may end its caller.
"""

from __future__ import annotations

import asyncio
import ctypes
import re
from typing import Any

import structlog

from engine.backends.llama_cpp.library import ggml, library_files
from engine.child import report, run_child, take_task

Device = tuple[str, str, str, int, int]      # name, kind, description, total bytes, free bytes

# ggml's kinds of devices, in its order: "igpu" takes its memory from the host, "accel" helps the processor.
_KINDS = ("cpu", "gpu", "igpu", "accel", "meta")
_GPU_LIBRARY = re.compile(r"(lib)?ggml-(?!base|cpu|blas|rpc)\w+\.")      # built in parts: libggml-cuda.so, say
_CHILD_MODULE = "engine.backends.llama_cpp.devices"
_TIMEOUT_S = 60.0                                                       # a first start may compile its kernels

logger = structlog.get_logger(__name__)


def has_gpu_build() -> bool:
    """Whether this build has a part for any GPU. Looks at names of files alone."""
    return any(_GPU_LIBRARY.match(file.name) for file in library_files())


async def find_gpus() -> list[Device]:
    """Those that llama.cpp would put layers on, in its order; none where the build has no part for any."""
    if not await asyncio.to_thread(has_gpu_build):
        return []
    try:
        ended = await run_child(_CHILD_MODULE, {}, timeout_s=_TIMEOUT_S)
    except TimeoutError:
        logger.warning("the GPU did not answer; models run on the processor", waited_s=_TIMEOUT_S)
        return []
    devices = ended.find("devices")
    if ended.code != 0 or devices is None:
        logger.warning("the GPU could not be asked; models run on the processor", ending=str(ended))
        return []
    return usable_gpus([(name, kind, words, total, free) for name, kind, words, total, free in devices])


def usable_gpus(devices: list[Device]) -> list[Device]:
    """Integrated ones only where there is no other; of one kind of driver, for two may show the same card."""
    gpus = [device for device in devices if device[1] == "gpu"] or [device for device in devices if device[1] == "igpu"]
    return [device for device in gpus if _family(device) == _family(gpus[0])]


def _family(device: Device) -> str:
    return device[0].rstrip("0123456789")


def list_devices() -> list[Device]:
    """Those that llama.cpp itself knows."""
    count = _function("ggml_backend_dev_count", ctypes.c_size_t)
    get = _function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    return [_describe(get(index)) for index in range(count())]


def _describe(device: int) -> Device:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    size = ctypes.POINTER(ctypes.c_size_t)
    _function("ggml_backend_dev_memory", None, ctypes.c_void_p, size, size)(
        device, ctypes.byref(free), ctypes.byref(total)
    )
    kind = _function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)(device)
    name, words = (
        _function(f"ggml_backend_dev_{text}", ctypes.c_char_p, ctypes.c_void_p)(device).decode("utf-8", "replace")
        for text in ("name", "description")
    )
    return name, _KINDS[kind], words, total.value, free.value


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = ggml(name)
    function.restype, function.argtypes = result, arguments
    return function


if __name__ == "__main__":
    take_task()
    report(devices=list_devices())
