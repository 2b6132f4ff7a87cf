"""Which model answers on a chat's page: that chosen on it, or the chat's own, or the default. `ChatPage` has one."""

from __future__ import annotations

from dataclasses import dataclass

from app.services.absent_models import Absence, ModelName
from app.services.container import Services
from app.services.models import ModelEntry
from app.services.setup import ChatSetup


@dataclass(frozen=True, slots=True)
class Choice:
    """Which will be asked. Without an entry none is: that which was named is absent, or there is no model at all."""

    entry: ModelEntry | None
    absence: Absence | None = None
    instead: ModelEntry | None = None       # of an absent one: whom a person may want, the default


class ChosenModel:
    def __init__(self, services: Services, model_id: str | None) -> None:
        self._services = services
        self.listed: list[ModelEntry] = []
        self.speeds: dict[str, float] = {}      # tokens a second of models elsewhere, by id, where they are known
        self.model_id = model_id            # chosen for this page; None: the chat's own, or the default
        self.names: dict[str, ModelName] = {}           # of all that wrote answers, those that are gone too
        self._absences: dict[str, Absence] = {}

    async def read(self) -> None:
        self.listed = await self._services.models.list()
        self.speeds = await self._services.model_speeds.elsewhere([entry.model for entry in self.listed])
        self._absences = await self._services.models.absences()
        self.names = await self._services.models.names()
        if any(entry.model.id == self.model_id and entry.model.embeds for entry in self.listed):
            self.model_id = None            # never one that could answer

    def forget(self) -> None:
        self.model_id = None

    def of(self, setup: ChatSetup) -> Choice:
        """As `ChatService` will choose: for one that is named and absent no other stands in."""
        default = next((entry for entry in self.listed if entry.model.is_default), None)
        named = self.model_id or setup.model_id
        if named is None:
            return Choice(default)
        entry = next((entry for entry in self.listed if entry.model.id == named), None)
        if entry is not None:
            return Choice(entry)
        return Choice(None, self._absences.get(named) or Absence.of_unknown(named), default)
