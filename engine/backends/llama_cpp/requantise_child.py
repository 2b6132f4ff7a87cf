"""The child process of a copy: runs the library's quantiser. It may die of it. Started by `requantise`."""

from __future__ import annotations

import ctypes
import os
import sys

from engine.backends.llama_cpp.library import log_tail, native
from engine.child import report, take_task


def main() -> int:
    task = take_task()
    lib = native()
    params = lib.llama_model_quantize_default_params()
    params.ftype = task["file_type"]
    params.nthread = task["num_threads"]
    params.allow_requantize = True
    log_tail.clear()
    code: int = lib.llama_model_quantize(os.fsencode(task["source"]), os.fsencode(task["target"]), ctypes.byref(params))
    if code != 0:
        report(cause=log_tail.cause())
    return code


if __name__ == "__main__":
    sys.exit(main())
