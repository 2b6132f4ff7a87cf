"""The model to start with: that which the settings name, by its id or as a file or folder, or else the default one.

Made once, by `container`. A file is looked at once, at start: its header is read, and it becomes known.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from app.errors import InvalidInput
from app.services.models import ModelService
from app.settings import Settings

log = structlog.get_logger(__name__)


class FirstModel:
    def __init__(self, models: ModelService, settings: Settings) -> None:
        self._models = models
        self._named = settings.model
        self._is_known = False
        self._wanted_id: str | None = None          # once it is known
        self._problem: InvalidInput | None = None   # with the file that the settings name

    async def make_known(self) -> None:
        """A file or folder that is not known yet becomes so, and new chats take it. Told by `wanted_id`, not here, is
        what is wrong with it.
        """
        if self._is_known:
            return
        self._is_known = True
        self._wanted_id = self._named
        path = None if self._named is None else await asyncio.to_thread(_existing_path, self._named)
        if path is None:
            return
        try:
            model = await self._models.add(path)
        except InvalidInput as error:
            self._problem = error
            return
        if not model.embeds:
            await self._models.set_default(model.id)
        self._wanted_id = model.id

    async def wanted_id(self) -> str | None:
        """None where there is none, or none that can be read, which is logged."""
        await self.make_known()
        if self._problem is not None:
            log.warning("a model could not be loaded at the start", model=self._named, reason=str(self._problem))
            return None
        if self._wanted_id is not None:
            return self._wanted_id
        default = await self._models.default()
        return default.id if default else None


def _existing_path(named: str) -> Path | None:
    """None: an id, or a path of nothing."""
    path = Path(named).expanduser()
    return path.resolve() if path.name != named and path.exists() else None
