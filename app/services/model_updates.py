"""Whether the hub has a newer version of what was downloaded from it. Asked only when somebody wants to know, or once a
day where an admin has switched that on. On the event loop.

What was found is kept, so that a page says it without asking. The newer one comes by `DownloadService`, which installs
it beside the one in use (`app.services.model_versions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

import structlog

from app.errors import AppError, Conflict, HubError
from app.hub.client import ModelPage
from app.hub.files import Variant
from app.language import Said
from app.services.changes import Change, Changes
from app.services.hub import HubService
from app.services.models import ModelService
from store import models, settings
from store.database import Database
from store.errors import StoreError
from store.tables import Model

FOUND, LOOKS_DAILY, LOOKED_AT = "model_updates", "model_updates_daily", "model_updates_looked_at"
EACH = timedelta(days=1)
NEVER = datetime.min.replace(tzinfo=UTC)
LOOK_INTERVAL_S = 3600.0

log = structlog.get_logger(__name__)


class Newness(StrEnum):
    NEWEST = "newest"
    NEWER = "newer"             # than the one here: the hub has it
    HERE = "here"               # the newer one is installed, beside the one in use
    GONE = "gone"               # the hub has no such file any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What the hub has said of one model."""

    newness: Newness
    of_commit: str              # the one that is in use here
    commit_sha: str             # the hub's newest
    file: str                   # by which `DownloadService.request` gets it
    size_bytes: int
    looked_at: str              # ISO 8601
    changed_at: str = ""        # the repository, as far as the hub says


class ModelUpdates:
    def __init__(self, db: Database, hub: HubService, models_: ModelService, changes: Changes) -> None:
        self._db = db
        self._hub = hub
        self._models = models_
        self._changes = changes

    async def known(self, model: Model) -> Update | None:
        """As it was found last; None where nobody has asked since this version came. Asks nobody."""
        stored = (await self._found()).get(model.id)
        try:
            update = _update_of(stored) if stored else None
        except (KeyError, TypeError, ValueError):         # of another version
            return None
        if update is None or update.of_commit != model.commit_sha:
            return None
        return await self._beside(model, update)

    async def look(self, model_id: str) -> Update:
        """Raises HubError, NotFound, ModelNotFound, or Conflict for a model that is not from the hub."""
        model = await self._models.find(model_id)
        if not model.repo:
            raise Conflict(Said("update-not-of-hub", model=model.name))
        update = _compared(model, await self._hub.page(model.repo))
        kept = await self._found()
        here = {entry.model.id for entry in await self._models.list()}
        kept = {each: values for each, values in kept.items() if each in here} | {model.id: asdict(update)}
        await self._db.run(settings.set_of_system, FOUND, kept)
        self._changes.announce_all(Change("models"))
        return await self._beside(model, update)

    async def look_at_all(self) -> dict[str, Update | AppError]:
        """Of every model that is from the hub; where one could not be asked for, why. Raises HubError where none could.
        """
        found: dict[str, Update | AppError] = {}
        for entry in await self._models.list():
            if entry.model.repo:
                try:
                    found[entry.model.id] = await self.look(entry.model.id)
                except AppError as error:
                    found[entry.model.id] = error
        errors = [each for each in found.values() if isinstance(each, HubError)]
        if errors and len(errors) == len(found):
            raise errors[0]
        return found

    # --- once a day, where it is wanted -------------------------------------------------------------------------------

    async def looks_daily(self) -> bool:
        return await self._db.read(settings.get_of_system, LOOKS_DAILY) is True

    async def set_looks_daily(self, is_on: bool) -> None:
        await self._db.run(settings.set_of_system, LOOKS_DAILY, is_on)

    async def keep_looking(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look_if_due()
            except (AppError, StoreError) as error:         # no network, say: the next time may do
                log.info("the hub could not be asked for newer versions", reason=str(error))
            await asyncio.sleep(LOOK_INTERVAL_S)

    async def look_if_due(self) -> bool:
        """Whether it was."""
        if not await self.looks_daily():
            return False
        last = await self._db.read(settings.fitting, LOOKED_AT, datetime.fromisoformat, NEVER)
        now = datetime.now(UTC)
        if last.tzinfo is not None and now - EACH < last <= now:
            return False
        await self.look_at_all()
        await self._db.run(settings.set_of_system, LOOKED_AT, now.isoformat())
        return True

    async def _found(self) -> dict[str, Any]:
        return await self._db.read(settings.fitting, FOUND, dict[str, Any], {})

    async def _beside(self, model: Model, update: Update) -> Update:
        """As `look` said, but for what was installed meanwhile."""
        if update.newness is not Newness.NEWER:
            return update
        installed = {each.facts.get("commit_sha") for each in await self._db.read(models.versions, model.id)}
        if update.commit_sha not in installed:
            return update
        return Update(**asdict(update) | {"newness": Newness.HERE})


def _update_of(stored: dict[str, Any]) -> Update:
    """Raises KeyError, TypeError or ValueError for what is none."""
    update = Update(**stored | {"newness": Newness(stored["newness"])})
    for at in filter(None, (update.looked_at, update.changed_at)):
        datetime.fromisoformat(at)
    if not isinstance(update.size_bytes, int) or not isinstance(update.file, str):
        raise TypeError("of another version")
    return update


def _compared(model: Model, page: ModelPage) -> Update:
    variant = _same_file(model, page.variants)
    changed = page.model.modified_at
    told: dict[str, Any] = {
        "of_commit": model.commit_sha, "commit_sha": page.commit_sha, "looked_at": datetime.now(UTC).isoformat(),
        "changed_at": changed.isoformat() if changed else "",
    }
    if variant is None or variant.missing:
        return Update(newness=Newness.GONE, file="", size_bytes=0, **told)
    # A new commit may be a better text about the same files: by what they hold it is told, where hashes are known.
    here = {file["sha256"] for file in model.files if file.get("sha256")}
    there = {file.sha256 for file in variant.weight_files}
    is_same = page.commit_sha == model.commit_sha or (bool(here) and there <= here)
    newness = Newness.NEWEST if is_same else Newness.NEWER
    return Update(newness=newness, file=variant.files[0].name, size_bytes=variant.size_bytes, **told)


def _same_file(model: Model, variants: Sequence[Variant]) -> Variant | None:
    if model.file_format == "safetensors":
        return next((each for each in variants if each.file_format == "safetensors"), None)
    name = Path(model.path).name
    return next((each for each in variants if PurePosixPath(each.files[0].name).name == name), None)
