"""Versions of a model: an update stands beside what it replaces, under the same id, and can be taken back.

On the event loop; files are read on other threads. What is in memory answers on, and goes when nobody uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlmodel import Session

from app.errors import Conflict, InvalidInput, NotFound
from app.language import Said
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry
from app.services.model_facts import as_model, describe, missing_of, paths_of, version_of
from app.services.model_origin import Downloaded, Origin
from app.services.models import ModelService
from app.settings import Settings
from engine.lora import Adapter
from store import leftovers, models
from store.database import Database
from store.tables import Model, ModelVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledVersion:
    version_id: str
    version: str                # as answers name it
    path: Path
    size_bytes: int
    quantisation: str
    installed_at: datetime
    is_in_use: bool
    is_there: bool              # its files are


class ModelVersions:
    def __init__(
        self, db: Database, models_: ModelService, engines: EngineRegistry, changes: Changes, settings: Settings
    ) -> None:
        self._db = db
        self._models = models_
        self._engines = engines
        self._changes = changes
        self._models_dir = settings.models_dir.resolve()
        self._one_change = asyncio.Lock()       # what is looked at is so still when it is acted on

    async def list(self, model_id: str) -> list[InstalledVersion]:
        """Oldest first; of a model that has had only one, that one."""
        model = await self._models.find(model_id)
        rows = await self._db.read(models.versions, model.id)
        if not rows:
            rows = [ModelVersion(id="", model_id=model.id, facts=models.facts_of(model), installed_at=model.added_at)]
        return await asyncio.to_thread(lambda: [_shown(model, row) for row in rows])

    async def update(
        self, model_id: str, path: Path, *, origin: Origin | None = None, downloaded: Downloaded | None = None
    ) -> Model:
        """From its next load on, the model is what lies there. Raises ModelNotFound, InvalidInput or Conflict."""
        model = await self._models.find_here(model_id)
        if model.is_starter:
            raise Conflict(Said("error-update-starter", model=model.name))
        adapters = [Adapter(Path(each["path"]), each["scale"]) for each in model.adapters]
        new = await asyncio.to_thread(describe, path, model.name, adapters, origin)
        if downloaded is not None:
            new.repo, new.commit_sha, new.files = downloaded.repo, downloaded.commit_sha, list(downloaded.files)
        async with self._one_change:
            return await self._install(model, new)

    async def _install(self, model: Model, new: Model) -> Model:
        path = Path(new.path)
        if new.embeds != model.embeds:
            raise InvalidInput(Said("error-update-kind", model=model.name, file=path.name), field="path")
        same = next((each for each in await self._db.read(models.list_all) if each.path == new.path), None)
        if same is not None:
            raise Conflict(Said("error-update-known", path=new.path, model=same.name, id=same.id))
        old = next((each for each in await self.list(model.id) if each.path == path), None)
        if old is not None and old.version_id:
            return await self._use(model.id, old.version_id)
        return self._changed(await self._db.run(models.install_version, model.id, models.facts_of(new)), model.id)

    async def roll_back(self, model_id: str, version_id: str = "") -> Model:
        """To the version before the one in use, or to the one that is named by its id or the beginning of that."""
        async with self._one_change:
            model = await self._models.find(model_id)
            listed = await self.list(model.id)
            target = _named(listed, version_id, model) if version_id else _before(listed, model)
            if target.is_in_use:
                raise Conflict(Said("error-version-already", model=model.name))
            if not target.is_there:
                raise Conflict(Said("error-version-gone", path=str(target.path), model=model.name))
            return await self._use(model.id, target.version_id)

    async def forget(self, model_id: str, version_id: str) -> None:
        """A version that is not in use. Its files in the models folder go too, but for those that others need."""
        async with self._one_change:
            await self._forget(await self._models.find(model_id), version_id)

    async def _forget(self, model: Model, version_id: str) -> None:
        target = _named(await self.list(model.id), version_id, model)
        if target.is_in_use:
            raise Conflict(Said("error-version-in-use", model=model.name))
        row = next(each for each in await self._db.read(models.versions, model.id) if each.id == target.version_id)
        files = await asyncio.to_thread(lambda: paths_of(as_model(model, row.facts)))
        await self._db.run(_take_out, row.id, [each for each in files if each.is_relative_to(self._models_dir)])
        await self._models.delete_leftovers()
        self._changes.announce_all(Change("models"))

    async def _use(self, model_id: str, version_id: str) -> Model:
        return self._changed(await self._db.run(models.use_version, version_id), model_id)

    def _changed(self, model: Model | None, model_id: str) -> Model:
        if model is None:
            raise NotFound(Said("error-model-removed", model=model_id))
        self._engines.retire(model.id)
        self._changes.announce_all(Change("models"))
        return model


def _take_out(session: Session, version_id: str, files: Sequence[Path]) -> None:
    leftovers.note(session, files)
    models.forget_version(session, version_id)


def _shown(model: Model, row: ModelVersion) -> InstalledVersion:
    then = as_model(model, row.facts)
    path = Path(then.path)
    return InstalledVersion(
        version_id=row.id,
        version=version_of(then),
        path=path,
        size_bytes=then.size_bytes,
        quantisation=then.quantisation,
        installed_at=row.installed_at,
        is_in_use=then.path == model.path,
        is_there=missing_of(then) is None,
    )


def _before(listed: Sequence[InstalledVersion], model: Model) -> InstalledVersion:
    at = next((at for at, each in enumerate(listed) if each.is_in_use), 0)
    if at == 0:
        raise Conflict(Said("error-version-first", model=model.name))
    return listed[at - 1]


def _named(listed: Sequence[InstalledVersion], version_id: str, model: Model) -> InstalledVersion:
    found = [each for each in listed if each.version_id and each.version_id.startswith(version_id)]
    if not version_id or len(found) != 1:
        message_id = "error-version-many" if found else "error-version-none"
        raise NotFound(Said(message_id, model=model.name, version=version_id[:50]))
    return found[0]

