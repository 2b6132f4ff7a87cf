"""Tries a model in a child process before it is called ready: a fault in native code ends the process that it is
in.

Called by the loader, on the event loop. Options that crash on this machine are left away one after another; what
ran is remembered, so that later starts skip the trial.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.backends.llama_cpp.library import LIBRARY_VERSION, library_files
from engine.backends.llama_cpp.model import RunOptions
from engine.child import run_child
from engine.errors import ModelLoadError
from engine.lora import Adapter
from engine.small_file import read_small
from engine.told import Told

_CHILD_MODULE = "engine.backends.llama_cpp.trial_child"
_ATTEMPTS = (
    RunOptions(),                      # tried after the same with layers on the GPU, where the plan has any
    RunOptions(repack=False),
    RunOptions(flash_attention=False),
    RunOptions(repack=False, flash_attention=False),
)

_MEMORY_FILE = "trials.json"
_memory_lock = threading.Lock()     # two trials may end at once, and each writes what it has read and its own
_MAX_REMEMBERED = 64
_BASE_TIMEOUT_S = 60.0
_SLOWEST_DISK_BYTES_PER_S = 20e6
_MAX_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is tried: a model as it would be loaded."""

    paths: tuple[Path, ...]            # all files of the model, the first first
    num_threads: int
    adapters: tuple[Adapter, ...] = ()
    kv_type: str = "f16"
    gpu_layers: int = 0
    main_gpu: int = 0
    pooling: str = ""                  # not empty: it is tried as a model that embeds
    vocabulary_only: bool = False      # its weights are another back end's

    @property
    def name(self) -> str:
        return " with ".join(path.name for path in (self.paths[0], *(adapter.path for adapter in self.adapters)))

    @property
    def all_paths(self) -> tuple[Path, ...]:
        return (*self.paths, *(adapter.path for adapter in self.adapters))

    @property
    def attempts(self) -> tuple[RunOptions, ...]:
        if not self.gpu_layers:
            return _ATTEMPTS
        return (RunOptions(gpu_layers=self.gpu_layers, main_gpu=self.main_gpu), *_ATTEMPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """How the model runs on this machine."""

    options: RunOptions
    prefill_tokens_per_s: float


class _AttemptFailed(Exception):
    def __init__(self, sentence: Told) -> None:
        super().__init__(sentence)
        self.sentence = sentence


async def try_model(candidate: Candidate, *, processor: str, state_dir: Path | None) -> TrialResult:
    """Raises ModelLoadError if it runs in no way."""
    key = await asyncio.to_thread(_key, candidate, processor)
    if state_dir is not None and (remembered := await asyncio.to_thread(_recall, state_dir, key)):
        return remembered
    result = await _first_that_runs(candidate)
    if key != await asyncio.to_thread(_key, candidate, processor):
        raise ModelLoadError(Told("trial-replaced", model=candidate.name))
    if state_dir is not None:
        await asyncio.to_thread(_remember, state_dir, key, result)
    return result


async def _first_that_runs(candidate: Candidate) -> TrialResult:
    failures: list[_AttemptFailed] = []
    tried: set[RunOptions] = set()
    for options in candidate.attempts:
        if options in tried:
            continue
        child = _Child(candidate, options)
        try:
            return await child.run()
        except _AttemptFailed as failure:
            failures.append(failure)
        tried |= {options, child.options_used}
    raise ModelLoadError(failures[0].sentence)


class _Child:
    """One attempt. It reports which options it really uses, then how it went."""

    def __init__(self, candidate: Candidate, options: RunOptions) -> None:
        self._name = candidate.name
        self._task = {
            "path": str(candidate.paths[0]),
            "adapters": [(str(adapter.path), adapter.scale) for adapter in candidate.adapters],
            "kv_type": candidate.kv_type,
            "options": asdict(options),
            "num_threads": candidate.num_threads,
            "pooling": candidate.pooling,
            "vocabulary_only": candidate.vocabulary_only,
        }
        num_bytes = sum(path.stat().st_size for path in candidate.all_paths)
        self._timeout_s = min(_BASE_TIMEOUT_S + num_bytes / _SLOWEST_DISK_BYTES_PER_S, _MAX_TIMEOUT_S)
        self.options_used = options

    async def run(self) -> TrialResult:
        try:
            ended = await run_child(_CHILD_MODULE, self._task, timeout_s=self._timeout_s)
        except TimeoutError as error:
            slow = Told("trial-slow", model=self._name, seconds=round(self._timeout_s))
            if self.options_used.gpu_layers:        # a driver that hangs says nothing of the processor
                raise _AttemptFailed(slow) from error
            raise ModelLoadError(slow) from error   # other options would take as long again
        if (options := ended.find("options")) is not None:
            self.options_used = RunOptions(**options)
        speed = ended.find("prefill_tokens_per_s")
        if ended.code == 0 and speed is not None:
            return TrialResult(options=self.options_used, prefill_tokens_per_s=speed)
        raise _AttemptFailed(ended.error() or Told("trial-crashed", model=self._name, detail=str(ended)))


# -- remembered outcomes -----------------------------------------------------------------------------------------------


def _key(candidate: Candidate, processor: str) -> str:
    """Changes with all that an outcome depends on: files, how they are run, the build of the library, the processor."""
    stats = [(str(path), path.stat()) for path in (*candidate.all_paths, *library_files())]
    files = [(name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in stats]
    how = [
        candidate.num_threads, [adapter.scale for adapter in candidate.adapters], candidate.kv_type,
        candidate.gpu_layers, candidate.main_gpu, candidate.pooling, candidate.vocabulary_only,
    ]
    facts = json.dumps([files, LIBRARY_VERSION, processor, how])
    return hashlib.sha256(facts.encode()).hexdigest()


def _recall(state_dir: Path, key: str) -> TrialResult | None:
    entry = _read_memory(state_dir).get(key)
    if entry is None:
        return None
    try:
        return TrialResult(
            options=RunOptions(**entry["options"]), prefill_tokens_per_s=float(entry["prefill_tokens_per_s"])
        )
    except (TypeError, KeyError, ValueError):      # written by another version: try again
        return None


def _remember(state_dir: Path, key: str, result: TrialResult) -> None:
    """A full or read-only disk costs another trial at the next start, not the model."""
    draft = state_dir / f"{_MEMORY_FILE}.{os.getpid()}"
    with _memory_lock, contextlib.suppress(OSError):
        entries = {**_read_memory(state_dir), key: asdict(result)}
        newest = dict(list(entries.items())[-_MAX_REMEMBERED:])
        state_dir.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(newest, indent=1))
        draft.replace(state_dir / _MEMORY_FILE)


def _read_memory(state_dir: Path) -> dict[str, Any]:
    try:
        entries = json.loads(read_small(state_dir / _MEMORY_FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
