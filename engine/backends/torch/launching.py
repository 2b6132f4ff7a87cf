"""How our kernels are launched; and how those that a model needs at first are compiled side by side when it is loaded.
One after another they take ten seconds, most of them in compilers that use one core. On the engine's thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import torch
import triton

MAX_THREADS: Final = 16

_is_rehearsal: ContextVar[bool] = ContextVar("is_rehearsal", default=False)


def launch(kernel: Any, grid: tuple[int, ...], *arguments: object, **constants: object) -> None:
    """`kernel` is one of `triton.jit`; `constants` are its own, and how it is to be compiled."""
    if _is_rehearsal.get():
        kernel.warmup(*arguments, grid=grid, **constants)
    else:
        kernel[grid](*arguments, **constants)


@contextmanager
def rehearsal(device: torch.device) -> Iterator[None]:
    """What is launched in it is not run, but compiled for `device` on several threads; at its end all of that is there.

    What torch computes in it is nonsense, since nothing of ours has been computed before.
    """
    num_threads = min(MAX_THREADS, os.cpu_count() or 1)
    with (
        ThreadPoolExecutor(num_threads, "kernels", torch.cuda.set_device, (device.index or 0,)) as threads,
        triton.AsyncCompileMode(_ReadyToRun(threads)),
    ):
        token = _is_rehearsal.set(True)
        try:
            yield
        finally:
            _is_rehearsal.reset(token)


class _ReadyToRun(Executor):
    """Has a C compiler make each kernel's launcher, too, and brings both to the device."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    def submit(self, compiled: Callable[..., Any], /, *args: object, **kwargs: object) -> Future[Any]:
        return self._threads.submit(_ready_to_run, compiled, *args, **kwargs)


def _ready_to_run(compiled: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    kernel = compiled(*args, **kwargs)
    kernel.run                              # noqa: B018 - it is made where it is first asked for
    return kernel
