"""Copies of a model in another weight format: made, and measured beside the original. Called on the event loop, by
the service that gives advice; whatever blocks or may crash runs elsewhere.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.errors import ModelLoadError, OutOfMemory
from engine.format_advice import NUM_PEOPLE, Comparison
from engine.gguf import GgufHeader, read_header
from engine.hardware import Machine, inspect_machine
from engine.memory import WORKING_BYTES, LoadLimits
from engine.select import select_backend
from engine.sizes import size
from engine.thread_counts import threads_for
from engine.told import Told
from engine.weight_formats import WeightFormat

_COMPARED_TOKENS = 256               # of each of NUM_PEOPLE, and more than the text that both read has


def read_original(path: Path) -> GgufHeader:
    """Any thread. Raises ModelLoadError where there is nothing to make a copy of."""
    select_backend(path)
    header = read_header(path)
    if not header.has_tokenizer:
        raise ModelLoadError(Told("copy-no-tokenizer", file=path.name))
    if len(header.part_paths) > 1:
        raise ModelLoadError(Told("copy-of-parts", file=path.name, count=len(header.part_paths)))
    return header


async def make_copy(original: GgufHeader, target: Path, weight_format: WeightFormat, limits: LoadLimits) -> None:
    """Raises ModelLoadError with the library's reason. Whatever is at `target` then is no model."""
    from engine.backends.llama_cpp.requantise import requantise  # noqa: PLC0415   # its corner is entered when needed

    num_threads = limits.threads or (await asyncio.to_thread(inspect_machine)).num_cores
    await requantise(original, target, weight_format, num_threads=num_threads)


async def compare_copy(original: GgufHeader, copy_path: Path, limits: LoadLimits) -> Comparison:
    """Takes some minutes. Raises ModelLoadError, OutOfMemory among them."""
    from engine.backends.llama_cpp.compare import Side, compare  # noqa: PLC0415
    from engine.backends.llama_cpp.trial import Candidate, try_model  # noqa: PLC0415

    copy = await asyncio.to_thread(read_header, copy_path)
    machine = await asyncio.to_thread(inspect_machine)
    _check_memory(original, copy, machine)
    num_threads = limits.threads or threads_for(machine.num_cores)
    sides = [
        Side(header.path, header.file_bytes, (await try_model(
            Candidate(paths=header.part_paths, num_threads=num_threads),
            processor=machine.processor, state_dir=state_dir,
        )).options)
        for header, state_dir in ((original, limits.state_dir), (copy, None))      # a copy may not stay where it is
    ]
    first, second, divergence = await compare(*sides, num_threads=num_threads)
    return Comparison(original=first, copy=second, divergence=divergence, copy_bytes=copy.file_bytes)


def _check_memory(original: GgufHeader, copy: GgufHeader, machine: Machine) -> None:
    """Both are in memory at once."""
    kv_bytes = NUM_PEOPLE * _COMPARED_TOKENS * original.kv_bytes_per_token()
    needed = original.weight_bytes + copy.weight_bytes + 2 * (kv_bytes + WORKING_BYTES)
    if needed > machine.available_bytes:
        raise OutOfMemory(Told(
            "needs-memory-to-compare", model=original.path.name, needed=size(needed),
            usable=size(machine.available_bytes),
        ))
