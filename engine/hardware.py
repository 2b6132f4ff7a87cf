"""What this machine has: processor, cores that may be used, memory that is free. Called by the loader and by
`doctor`.

Containers are looked into: a limit that the kernel enforces counts, not what the host has. Any thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import psutil

from engine.memory import DeviceFacts

_CGROUP = Path("/sys/fs/cgroup")
_UNIFIED_MEMORY = ("Metal", "MTL")      # llama.cpp calls Apple's a GPU, though it has no memory of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    processor: str                 # "Intel(R) Xeon(R) Processor"
    system: str                    # "Linux 6.1 x86_64"
    num_cores: int                 # real ones that this process may use
    total_bytes: int
    available_bytes: int           # page cache that can be dropped counts as free


@dataclass(frozen=True, slots=True)
class NativeDevice:
    """A device as llama.cpp sees it."""

    name: str                      # "CPU", "CUDA0", "Metal"
    kind: str                      # "cpu", "gpu", "igpu", "accel"
    description: str
    total_bytes: int
    free_bytes: int


def inspect_machine() -> Machine:
    memory = psutil.virtual_memory()
    limit, used = _memory_limit()
    total = min(memory.total, limit)
    return Machine(
        processor=_processor(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        num_cores=_num_cores(),
        total_bytes=total,
        available_bytes=max(0, min(memory.available, limit - used)),
    )


def cpu_device(machine: Machine, promised_bytes: int = 0) -> DeviceFacts:
    """Memory that was promised is not available, though nobody has taken it yet."""
    available_bytes = max(0, machine.available_bytes - promised_bytes)
    return DeviceFacts(name="cpu", total_bytes=machine.total_bytes, available_bytes=available_bytes)


def gpu_device(gpu: NativeDevice, promised_bytes: int = 0) -> DeviceFacts:
    return DeviceFacts(
        name=gpu.name,
        total_bytes=gpu.total_bytes,
        available_bytes=max(0, gpu.free_bytes - promised_bytes),
        is_shared=gpu.kind == "igpu" or gpu.name.startswith(_UNIFIED_MEMORY),
    )


def give_back_memory() -> None:
    """After a model was unloaded: glibc keeps what was freed in pieces, a tenth of the process after some loads. Takes
    milliseconds, on any thread; other systems' libraries do it by themselves.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):       # no glibc here
        ctypes.CDLL(None).malloc_trim(0)


def has_gpu_build() -> bool:
    """Of llama.cpp: whether it was built for any GPU. Does not load the native library."""
    from engine.backends.llama_cpp.devices import has_gpu_build as has  # noqa: PLC0415   # as below

    return has()


async def find_gpus() -> tuple[NativeDevice, ...]:
    """Those that the back end can use, in its order. Does not load the native library."""
    from engine.backends.llama_cpp.devices import find_gpus as find  # noqa: PLC0415   # as below

    return tuple(NativeDevice(*facts) for facts in await find())


def has_gpu_driver() -> bool:
    """Of NVIDIA's or AMD's: without one there is no need to ask a library, which takes seconds."""
    return which("nvidia-smi") is not None or Path("/dev/kfd").exists()


def native_devices() -> tuple[NativeDevice, ...]:
    """Loads the native library: for `doctor`, not for a start."""
    from engine.backends.llama_cpp.devices import list_devices  # noqa: PLC0415   # its corner is entered when needed

    return tuple(NativeDevice(*facts) for facts in list_devices())


def _processor() -> str:
    for line in _lines(Path("/proc/cpuinfo")):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.processor() or platform.machine()


def _num_cores() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    real = psutil.cpu_count(logical=False) or allowed
    return max(1, min(allowed, real, _cpu_quota(allowed)))


def _cpu_quota(otherwise: int) -> int:
    """Whole cores that a container may use; `cpu.max` says "microseconds, or max" and "of each period"."""
    words = " ".join(_lines(_CGROUP / "cpu.max")).split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        return max(1, int(words[0]) // int(words[1]))
    return otherwise


def _memory_limit() -> tuple[int, int]:
    """(limit, used) of the container in bytes, used without page cache; without a limit a number beyond all memory."""
    for limit_file, usage_file, statistics_file in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        limit, usage = _number(_CGROUP / limit_file), _number(_CGROUP / usage_file)
        if limit is not None and usage is not None:
            return limit, max(0, usage - _page_cache_bytes(_CGROUP / statistics_file))
    return 1 << 62, 0


def _page_cache_bytes(statistics: Path) -> int:
    droppable = 0
    for line in _lines(statistics):
        key, _, value = line.partition(" ")
        if key in ("inactive_file", "total_inactive_file") and value.isdigit():
            droppable = max(droppable, int(value))
    return droppable


def _number(path: Path) -> int | None:
    text = "".join(_lines(path))
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    """Of a file of the kernel's; none where this system has no such file."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
