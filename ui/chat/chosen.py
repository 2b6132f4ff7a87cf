"""Which model answers on a chat's page: that chosen on it, or the chat's own, or the default. `ChatPage` has one."""

from __future__ import annotations

from app.services.container import Services
from app.services.models import ModelEntry
from app.services.setup import ChatSetup
from store.tables import Model


class ChosenModel:
    def __init__(self, services: Services, model_id: str | None) -> None:
        self._services = services
        self.listed: list[ModelEntry] = []
        self.speeds: dict[str, float] = {}      # tokens a second of models elsewhere, by id, where they are known
        self.model_id = model_id            # chosen for this page; None: the chat's own, or the default

    async def read(self) -> None:
        self.listed = await self._services.models.list()
        self.speeds = await self._services.model_speeds.elsewhere([entry.model for entry in self.listed])
        if self.model_id not in self._answering:
            self.model_id = None            # removed meanwhile, or never there: what is shown is what will be asked

    @property
    def _answering(self) -> set[str]:
        return {entry.model.id for entry in self.listed if not entry.model.embeds}

    def forget(self) -> None:
        self.model_id = None

    @property
    def by_id(self) -> dict[str, Model]:
        return {entry.model.id: entry.model for entry in self.listed}

    def of(self, setup: ChatSetup) -> ModelEntry | None:
        """As `ChatService` will choose."""
        known = {entry.model.id: entry for entry in self.listed}
        for model_id in (self.model_id, setup.model_id):
            if model_id in known:
                return known[model_id]
        return next((entry for entry in self.listed if entry.model.is_default), None)
