"""How fast a model writes on this machine, or should, before anybody has waited for it. On the event loop.

By the answers that it has written here, or what was measured of it; where there is neither, by the bytes of weights
that each token reads and this machine's memory bandwidth, corrected by how other models keep to that here. Where torch
runs a model on a GPU, by that card's bandwidth; of layers that llama.cpp has on one nothing is foretold.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import structlog

from app.errors import AppError
from app.language import Said
from app.services.bench_history import is_readable, levels_of
from app.services.engines import EngineRegistry
from app.services.model_facts import spec_from, version_of
from engine.errors import EngineError, ModelLoadError
from engine.fit import Fit, Verdict
from engine.gguf import read_header
from engine.hardware import Machine, inspect_machine
from engine.load import choose_gpu
from engine.speed import bytes_per_token, expected_on_gpu, expected_tokens_per_s, measure_bandwidth
from engine.torch_speed import GpuReads, gpu_bandwidth, gpu_reads
from store import benchmarks, figures, models, settings
from store.database import Database
from store.errors import StoreError
from store.tables import Model

SETTING = "memory_bandwidth"        # of the system's settings in the store
CARD_SETTING = "gpu_bandwidth"      # likewise
LEAST_ANSWERS = 3
MOST_CORRECTION = 4.0               # what is beyond is no property of the machine
GB = 1e9

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one answer at a time."""

    tokens_per_s: float
    rests_on: str           # a sentence

    def as_json(self) -> dict[str, Any]:
        return {"tokens_per_s": self.told, "rests_on": self.rests_on}

    @property
    def told(self) -> float:
        """As much of it as is known: two digits."""
        return float(f"{self.tokens_per_s:.2g}")


@dataclass(frozen=True, slots=True)
class Rate:
    """What this machine's processor makes of weights."""

    bandwidth_bytes_per_s: float
    num_cores: int
    correction: float = 1.0         # measured over expected, of the models that have answered here
    num_models: int = 0             # that it is from

    def speed(self, num_bytes: int) -> Speed:
        expected = expected_tokens_per_s(num_bytes, self.bandwidth_bytes_per_s, self.num_cores) * self.correction
        rests_on = Said(
            "speed-by-others" if self.num_models else "speed-by-bandwidth",
            bandwidth=float(f"{self.bandwidth_bytes_per_s / GB:.2g}"), count=self.num_models,
        )
        return Speed(expected, rests_on)


class ModelSpeeds:
    def __init__(self, db: Database, engines: EngineRegistry) -> None:
        self._db = db
        self._engines = engines
        self._measuring = asyncio.Lock()
        self._bytes: dict[tuple[str, int], int] = {}            # that a token reads, by path and time of the file

    async def of(self, model: Model) -> Speed | None:
        """None where it cannot be known."""
        if model.embeds:
            return None
        measured = await self._measured([model])
        if own := measured.get(model.id):
            return Speed(median(own), Said("speed-by-answers", count=len(own)))
        if (run := await self._run_alone(model)) is not None:
            return run
        if (on_gpu := await self._by_torch(model)) is not None:
            return on_gpu
        if model.file_format != "gguf" or await self._is_on_gpu(model):
            return None
        num_bytes = await self._bytes_per_token(model)
        rate = await self.rate() if num_bytes else None
        return rate.speed(num_bytes) if rate else None

    async def _by_torch(self, model: Model) -> Speed | None:
        """None where torch does not run it on a GPU, or the card cannot be asked now."""
        if model.is_elsewhere:
            return None
        try:
            reads = await gpu_reads(spec_from(model), self._engines.limits)
            bandwidth = await self._bandwidth_of(reads) if reads is not None else 0.0
        except (EngineError, OSError, RuntimeError, StoreError) as error:   # RuntimeError: torch's, for want of room
            log.info("how fast it should write on the GPU is not known", model=model.id, reason=str(error))
            return None
        if reads is None:
            return None
        expected = expected_on_gpu(reads.num_bytes, bandwidth, reads.weight_format)
        return Speed(expected, Said("speed-by-card", bandwidth=float(f"{bandwidth / GB:.3g}"), card=reads.card))

    async def _bandwidth_of(self, reads: GpuReads) -> float:
        """Measured once for a card, as `_bandwidth` is for a machine."""
        card = {"card": reads.card, "total_bytes": reads.total_bytes}
        return await self._measured_once(CARD_SETTING, card, partial(gpu_bandwidth, reads.device))

    async def _run_alone(self, model: Model) -> Speed | None:
        """Of the latest measurement of this very version that had one client at a time and nobody beside it."""
        rows = await self._db.read(benchmarks.newest_of, model.id, version_of(model))
        levels = (level for row in rows if is_readable(row) for level in levels_of(row))
        alone = next((level for level in levels if level.concurrency == 1 and not level.is_disturbed), None)
        return Speed(alone.stream_tokens_per_s.median, Said("speed-by-run")) if alone else None

    async def elsewhere(self, models: Sequence[Model]) -> dict[str, float]:
        """Tokens a second of those that are elsewhere and have answered here; nothing is foretold of the others."""
        wanted = [model for model in models if model.is_elsewhere]
        measured = await self._measured(wanted) if wanted else {}
        return {model_id: median(speeds) for model_id, speeds in measured.items()}

    async def of_fits(self, fits: Mapping[str, Fit]) -> dict[str, Speed]:
        """Of files at the hub, by what is foretold of them; without those of which nothing is known."""
        runs = {
            label: fit.bytes_per_token for label, fit in fits.items()
            if fit.bytes_per_token and not fit.gpu_layers and fit.verdict in (Verdict.FITS, Verdict.TIGHT)
        }
        rate = await self.rate() if runs else None
        return {label: rate.speed(num_bytes) for label, num_bytes in runs.items()} if rate else {}

    async def bodies(self, fits: Mapping[str, Fit]) -> dict[str, dict[str, Any]]:
        """All that is foretold of each, as the API and the commands have it."""
        speeds = await self.of_fits(fits)
        return {
            label: {"fit": asdict(fit), "speed": speeds[label].as_json() if label in speeds else None}
            for label, fit in fits.items()
        }

    async def rate(self) -> Rate | None:
        """For files that are not here. None where it cannot be measured."""
        machine = await asyncio.to_thread(inspect_machine)
        try:
            bandwidth = await self._bandwidth(machine)
        except (MemoryError, RuntimeError, StoreError) as error:    # RuntimeError: no thread to be had
            log.warning("the memory's bandwidth could not be measured", reason=str(error))
            return None
        plain = Rate(bandwidth, machine.num_cores)
        ratios = await self._ratios(plain)
        if not ratios:
            return plain
        correction = min(MOST_CORRECTION, max(1 / MOST_CORRECTION, median(ratios)))
        return Rate(bandwidth, machine.num_cores, correction, len(ratios))

    async def _bandwidth(self, machine: Machine) -> float:
        """Measured once for a machine. What was measured while models wrote is too little: it is not kept."""
        facts = asdict(machine)
        del facts["available_bytes"], facts["system"]           # which change without any effect on it
        return await self._measured_once(SETTING, facts, partial(_measure, machine))

    async def _measured_once(
        self, setting: str, machine: dict[str, Any], measure: Callable[[], Awaitable[float]]
    ) -> float:
        """Kept in the store with what it is of."""
        async with self._measuring:
            known, kept_rate = await self._db.read(settings.fitting, setting, _bandwidth_of, ({}, 0.0))
            if kept_rate and known == machine:
                return kept_rate
            is_busy = self._is_busy()
            bandwidth = await measure()
            if not is_busy and not self._is_busy():
                await self._db.run(
                    settings.set_of_system, setting, {"machine": machine, "bytes_per_s": round(bandwidth)}
                )
            return bandwidth

    def _is_busy(self) -> bool:
        return any(engine.metrics().num_running for engine in self._engines.loaded().values())

    async def _ratios(self, plain: Rate) -> list[float]:
        """Measured over expected, of each model that has answered here on the processor."""
        if await self._has_gpu():       # then nothing says where the layers were
            return []
        listed = [each for each in await self._db.read(models.list_all) if each.file_format == "gguf"]
        by_id = {each.id: each for each in listed}
        ratios = []
        for model_id, speeds in (await self._measured(listed)).items():
            if num_bytes := await self._bytes_per_token(by_id[model_id]):
                ratios.append(median(speeds) / plain.speed(num_bytes).tokens_per_s)
        return ratios

    async def _measured(self, wanted: Sequence[Model]) -> dict[str, list[float]]:
        """Tokens a second of the latest answers, by model, as it is now; without those that have written too few."""
        versions = {each.id: version_of(each) for each in wanted}
        found: dict[str, list[float]] = defaultdict(list)
        elsewhere = {each.id for each in wanted if each.is_elsewhere}       # over whichever connection it came
        for each in await self._db.read(figures.answer_speeds):
            if versions.get(each.model_id) == each.version or each.model_id in elsewhere:
                found[each.model_id].append(each.tokens_per_s)
        return {model_id: speeds for model_id, speeds in found.items() if len(speeds) >= LEAST_ANSWERS}

    async def _bytes_per_token(self, model: Model) -> int:
        """0 where its file cannot be read: elsewhere it is said why."""
        key = (model.path, model.modified_ns)
        if key not in self._bytes:
            try:
                header = await asyncio.to_thread(read_header, Path(model.path))
            except ModelLoadError:
                return 0
            self._bytes[key] = bytes_per_token(header)
        return self._bytes[key]

    async def _is_on_gpu(self, model: Model) -> bool:
        info = self._engines.status(model.id).info
        if info is not None:
            return info.gpu_layers > 0
        try:
            return (await self._engines.plan(model.id)).gpu_layers > 0
        except (AppError, EngineError):
            return True             # it cannot be loaded at all, so nothing is foretold

    async def _has_gpu(self) -> bool:
        try:
            return (await choose_gpu(self._engines.limits))[1] is not None
        except ModelLoadError:
            return True


def _bandwidth_of(kept: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """(Of which machine, bytes/s)."""
    bytes_per_s = float(kept["bytes_per_s"])
    if not 0 < bytes_per_s < math.inf:
        raise ValueError(bytes_per_s)
    return kept["machine"], bytes_per_s


async def _measure(machine: Machine) -> float:
    own = ThreadPoolExecutor(1, "bandwidth")            # those of the loop's executor have other work
    try:
        return await asyncio.get_running_loop().run_in_executor(own, measure_bandwidth, machine)
    finally:
        own.shutdown(wait=False)
