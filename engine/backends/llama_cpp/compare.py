"""Measures a model and a copy of it, in turn, in a child process that has both. Called by `engine.copies`, on the
event loop. Other processes that run a model of these are not disturbed, but for the processor that they share.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from engine.backends.llama_cpp.model import RunOptions
from engine.child import run_child
from engine.divergence import Divergence
from engine.errors import ModelLoadError
from engine.format_advice import Speeds
from engine.told import Told

_CHILD_MODULE = "engine.backends.llama_cpp.compare_child"
_BASE_TIMEOUT_S = 900.0
_SLOWEST_BYTES_PER_S = 1e6           # of both files: 1,000 tokens of each are computed, and speeds measured


@dataclass(frozen=True, slots=True)
class Side:
    """A file, and how the trial found that it runs here."""

    path: Path
    file_bytes: int
    options: RunOptions


async def compare(original: Side, copy: Side, *, num_threads: int) -> tuple[Speeds, Speeds, Divergence]:
    """Raises ModelLoadError."""
    task = {
        "sides": [{"path": str(side.path), "options": asdict(side.options)} for side in (original, copy)],
        "num_threads": num_threads,
    }
    timeout_s = _BASE_TIMEOUT_S + (original.file_bytes + copy.file_bytes) / _SLOWEST_BYTES_PER_S
    try:
        ended = await run_child(_CHILD_MODULE, task, timeout_s=timeout_s)
    except TimeoutError as error:
        raise ModelLoadError(
            Told("compare-slow", file=original.path.name, minutes=round(timeout_s / 60))
        ) from error
    if ended.code != 0:
        raise ModelLoadError(
            ended.error() or Told("compare-crashed", file=original.path.name, detail=str(ended))
        )
    first, second = (Speeds(**{name: tuple(turns) for name, turns in side.items()}) for side in ended.find("speeds"))
    return first, second, Divergence(**ended.find("divergence"))
