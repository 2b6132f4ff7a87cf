"""Models of other apps on this machine: offered, and used in place where somebody adds one. On the event loop; folders
are read on another thread. Nothing is looked for unasked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.errors import Conflict, NotFound
from app.found.model import Found
from app.found.scan import Places, scan
from app.services.model_origin import Origin
from app.services.models import ModelService
from app.settings import Settings
from store.tables import Model


@dataclass(frozen=True, slots=True)
class Offer:
    found: Found
    model_id: str           # under which it is known here already; "" where it is not


class FoundModels:
    def __init__(self, models: ModelService, settings: Settings) -> None:
        self._models = models
        self._places = Places(
            hugging_face=(settings.hub_cache_dir,),
            ollama=settings.ollama_dirs,
            lm_studio=settings.lm_studio_dirs,
            jan=settings.jan_dirs,
        )

    async def list(self) -> list[Offer]:
        found = await asyncio.to_thread(scan, self._places)
        known = {entry.model.path: entry.model.id for entry in await self._models.list()}
        paths = await asyncio.to_thread(lambda: [str(each.path.parent.resolve() / each.path.name) for each in found])
        return [Offer(each, known.get(path, "")) for each, path in zip(found, paths, strict=True)]

    async def add(self, name: str) -> Model:
        """By its name there, or the end of that. Raises NotFound, Conflict or InvalidInput."""
        offers = [offer.found for offer in await self.list()]
        named = [each for each in offers if each.name == name] or [
            each for each in offers if each.name.endswith(f"/{name}") or each.name.partition(":")[0] == name
        ]
        if not named:
            raise NotFound(f"There is no file {name}, and no model of that name in another app: see `models found`.")
        if len({each.path for each in named}) > 1:
            which = ", ".join(f"{each.name} ({each.app})" for each in named[:5])
            raise Conflict(f"Several models are called so: {which}. Add one by its whole name, or by its path.")
        found = named[0]
        if found.problem:
            raise Conflict(f"{found.name} of {found.app} cannot be used. {found.problem}")
        return await self._add(found)

    async def use(self, offer: Offer) -> Model:
        """One of `list`. Raises Conflict or InvalidInput."""
        return await self._add(offer.found)

    async def _add(self, found: Found) -> Model:
        return await self._models.add(found.path, origin=Origin(app=found.app, name=found.name, pin=found.pin))
