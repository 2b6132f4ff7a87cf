"""Advice on a model's weight format: makes copies, measures each beside the original, keeps what is worth keeping.

On the event loop; files are handled on other threads, and whatever is native runs in child processes. Copies under way
lie in a folder of drafts. What is there when nobody holds its lock was left by a run that was killed, and goes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import AppError, Conflict, said
from app.instance import LOCK_FILE_NAME, AlreadyRunning, Instance
from app.language import Said
from app.services.models import ModelService
from app.settings import Settings
from engine.copies import compare_copy, make_copy, read_original
from engine.errors import ModelLoadError
from engine.format_advice import Comparison, Verdict, advised, verdict
from engine.gguf import GgufHeader
from engine.memory import LoadLimits
from engine.sizes import size
from engine.weight_formats import WeightFormat, copy_bytes, formats_to_try
from store.tables import Model

DRAFTS_DIR_NAME = "drafts"           # in the models folder

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatTrial:
    """One format: measured, or `refusal` says why not."""

    weight_format: WeightFormat
    comparison: Comparison | None = None
    refusal: Said | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReport:
    original: Model
    trials: tuple[FormatTrial, ...]
    advised: WeightFormat | None     # None: keep the original
    kept: Model | None               # the copy that is a model of its own now


class ModelOptimizer:
    def __init__(self, models: ModelService, settings: Settings, limits: LoadLimits) -> None:
        self._models = models
        self._models_dir = settings.models_dir
        self._limits = limits

    async def optimize(
        self, model_id: str, wanted: WeightFormat | None, *, keeps_copy: bool, progress: Progress
    ) -> FormatReport:
        """Try the `wanted` format, or those that may be faster. Keeps a copy that was wanted, or else the one advised.

        The original stays as it is. Raises ModelNotFound, Conflict or ModelLoadError where there is nothing to report.
        """
        model = await self._models.find_here(model_id)
        original = await asyncio.to_thread(read_original, Path(model.path))
        formats = _choose(model, original, wanted)
        with _drafts(self._models_dir / DRAFTS_DIR_NAME) as drafts:
            work = _Work(model, original, drafts, self._models_dir, self._limits, progress)
            trials = [await work.try_format(each, drops_bad=wanted is None) for each in formats]
            if all(trial.comparison is None for trial in trials) and (refusal := trials[0].refusal):
                raise Conflict(refusal)
            await work.check_unchanged()
            best = _best(trials)
            to_keep = wanted or best
            kept = await self._keep(work, to_keep) if keeps_copy and to_keep else None
        return FormatReport(original=model, trials=tuple(trials), advised=best, kept=kept)

    async def _keep(self, work: _Work, weight_format: WeightFormat) -> Model:
        path = await asyncio.to_thread(work.keep, weight_format)
        name = f"{work.model.name}, {weight_format.name} made from {work.original.quantisation}"
        return await self._models.add(path, name=name)


def _choose(model: Model, original: GgufHeader, wanted: WeightFormat | None) -> tuple[WeightFormat, ...]:
    if wanted is None:
        if formats := formats_to_try(original):
            return formats
        raise Conflict(Said("optimize-nothing", model=model.name))
    if wanted.name == original.quantisation:
        raise Conflict(Said("optimize-already", model=model.name, format=wanted.name))
    return (wanted,)


def _best(trials: list[FormatTrial]) -> WeightFormat | None:
    name = advised({
        trial.weight_format.name: trial.comparison for trial in trials if trial.comparison is not None
    })
    return next((trial.weight_format for trial in trials if trial.weight_format.name == name), None)


class _Work:
    """One model's copies."""

    def __init__(
        self, model: Model, original: GgufHeader, drafts: Path, models_dir: Path, limits: LoadLimits, progress: Progress
    ) -> None:
        self.model = model
        self.original = original
        self._drafts = drafts
        self._models_dir = models_dir
        self._limits = limits
        self._progress = progress
        self._stamp = _stamp(original.path)

    async def try_format(self, weight_format: WeightFormat, *, drops_bad: bool) -> FormatTrial:
        """`drops_bad`: a copy that will not be advised makes room for the next at once."""
        is_good = False
        try:
            comparison = await self._try(weight_format)
            is_good = verdict(comparison) is Verdict.ADVISED
        except (AppError, ModelLoadError) as error:
            return FormatTrial(weight_format=weight_format, refusal=said(error))
        finally:
            if drops_bad and not is_good:
                await asyncio.to_thread(self._draft(weight_format).unlink, missing_ok=True)
        return FormatTrial(weight_format=weight_format, comparison=comparison)

    async def _try(self, weight_format: WeightFormat) -> Comparison:
        target = self._target(weight_format)
        if await asyncio.to_thread(self._is_there, target):
            self._progress(f"Measuring {target.name}, which is there already …")
            return await compare_copy(self.original, target, self._limits)
        await asyncio.to_thread(self._check_space, weight_format)
        draft = self._draft(weight_format)
        self._progress(f"Making a copy in {weight_format.name} …")
        await make_copy(self.original, draft, weight_format, self._limits)
        self._progress(f"Measuring {weight_format.name} beside {self.original.quantisation} …")
        return await compare_copy(self.original, draft, self._limits)

    def keep(self, weight_format: WeightFormat) -> Path:
        """The copy's place in the models folder. From one moment to the next it is there, whole and on the disk."""
        target, draft = self._target(weight_format), self._draft(weight_format)
        if draft.exists():
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(target)
        return target

    async def check_unchanged(self) -> None:
        if await asyncio.to_thread(_stamp, self.original.path) != self._stamp:
            raise Conflict(Said("optimize-replaced", file=self.original.path.name))

    def _is_there(self, target: Path) -> bool:
        if not target.exists():
            return False
        if target.stat().st_mtime_ns < self.original.path.stat().st_mtime_ns:
            raise Conflict(Said("optimize-older", path=str(target), file=self.original.path.name))
        return True

    def _target(self, weight_format: WeightFormat) -> Path:
        return self._models_dir / f"{self.model.id}-{weight_format.name.lower()}.gguf"

    def _draft(self, weight_format: WeightFormat) -> Path:
        return self._drafts / f"{self._target(weight_format).name}.part"

    def _check_space(self, weight_format: WeightFormat) -> None:
        needed, free = copy_bytes(self.original, weight_format), shutil.disk_usage(self._drafts).free
        if needed > free:
            raise Conflict(Said(
                "optimize-no-room", format=weight_format.name, needed=size(needed), free=size(free),
                folder=str(self._models_dir),
            ))


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


@contextmanager
def _drafts(folder: Path) -> Iterator[Path]:
    """The folder, ours alone and empty; empty again afterwards."""
    try:
        instance = Instance.claim(folder)
    except AlreadyRunning as running:
        by = Said("optimize-running-by", process=str(running.note.pid)) if running.note else Said("optimize-running")
        raise Conflict(by) from running
    with instance:
        _empty(folder)
        try:
            yield folder
        finally:
            _empty(folder)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != LOCK_FILE_NAME:
            path.unlink()
