"""Copies a model's weights into another format, in a child process: the library may end the process that it is in.

Called by `engine.copies`, on the event loop.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.child import run_child
from engine.errors import ModelLoadError
from engine.gguf import GgufHeader, read_header
from engine.told import Told
from engine.weight_formats import WeightFormat

_CHILD_MODULE = "engine.backends.llama_cpp.requantise_child"
_BASE_TIMEOUT_S = 300.0
_SLOWEST_BYTES_PER_S = 0.5e6         # of the original: IQ4_NL does 4 MB a second on two quick cores


async def requantise(original: GgufHeader, target: Path, weight_format: WeightFormat, *, num_threads: int) -> None:
    """Write `target`, which nobody else may want yet. Raises ModelLoadError; a part may be there then.

    The library writes a file's header last, so what it did not finish begins with zeros and is no model to anybody.
    """
    task = {
        "source": str(original.path), "target": str(target),
        "file_type": weight_format.file_type, "num_threads": num_threads,
    }
    timeout_s = _BASE_TIMEOUT_S + original.file_bytes / _SLOWEST_BYTES_PER_S
    try:
        ended = await run_child(_CHILD_MODULE, task, timeout_s=timeout_s)
    except TimeoutError as error:
        raise ModelLoadError(Told(
            "copy-slow", file=original.path.name, format=weight_format.name, minutes=round(timeout_s / 60)
        )) from error
    if ended.code != 0:
        reason = ended.find("cause") or Told("copy-crashed", detail=str(ended))
        raise ModelLoadError(
            Told("copy-refused", file=original.path.name, format=weight_format.name, reason=reason)
        )
    await asyncio.to_thread(_check, target, weight_format)


def _check(target: Path, weight_format: WeightFormat) -> None:
    """By our own reader: the library does not notice each write that fails."""
    try:
        made = read_header(target)
    except ModelLoadError as error:
        raise ModelLoadError(Told("copy-damaged", format=weight_format.name)) from error
    if made.quantisation != weight_format.name:
        raise ModelLoadError(Told("copy-other-format", made=made.quantisation, format=weight_format.name))
