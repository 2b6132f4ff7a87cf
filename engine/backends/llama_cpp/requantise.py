"""Copies a model's weights into another format, in a child process: the library may end the process that it is in.

Called by `engine.copies`, on the event loop.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.child import run_child
from engine.errors import ModelLoadError
from engine.gguf import GgufHeader, read_header
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
        raise ModelLoadError(
            f"A copy of {original.path.name} in {weight_format.name} was not whole after {timeout_s / 60:.0f} minutes, "
            "so it was given up. Take a smaller model, or try when this machine has less to do."
        ) from error
    if ended.code != 0:
        reason = ended.find("error") or f"it crashed ({ended})"
        raise ModelLoadError(
            f"llama.cpp makes no copy of {original.path.name} in {weight_format.name}: {reason}. Take another format."
        )
    await asyncio.to_thread(_check, target, weight_format)


def _check(target: Path, weight_format: WeightFormat) -> None:
    """By our own reader: the library does not notice each write that fails."""
    try:
        made = read_header(target)
    except ModelLoadError as error:
        raise ModelLoadError(
            f"The copy in {weight_format.name} is damaged ({error}) Look at the free space of its disk, and try again."
        ) from error
    if made.quantisation != weight_format.name:
        raise ModelLoadError(f"llama.cpp made a copy in {made.quantisation}, where {weight_format.name} was wanted.")
