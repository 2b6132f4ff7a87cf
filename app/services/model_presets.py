"""The preset with which new chats with a model begin, whoever begins them: an admin's, chosen in the model's settings.

Used by `ChatService` and the chat page, on the event loop. Who has a default preset of their own begins with that.
"""

from __future__ import annotations

from dataclasses import replace

from app.services.model_settings import ModelSettings
from app.services.setup import ChatSetup
from store import library, models
from store.database import Database
from store.tables import Model, Preset


class ModelPresets:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def offered(self) -> list[Preset]:
        """Those that a model can have: all admins', by name."""
        return await self._db.read(library.list_of_admins)

    async def setups(self, user_id: str) -> dict[str, ChatSetup]:
        """How a new chat of this person begins, by the id of its model; without those that have nothing to say."""
        listed = await self._db.read(models.list_all)
        wanted = {model.id: preset_id for model in listed if (preset_id := ModelSettings.of(model).preset_id)}
        if not wanted:
            return {}
        presets = {preset.id: preset for preset in await self.offered()}
        return {
            model_id: _copy(presets[preset_id], user_id)
            for model_id, preset_id in wanted.items() if preset_id in presets
        }

    async def setup_for(self, user_id: str, model: Model) -> ChatSetup:
        """Of a chat that nobody has set up otherwise: as its owner's own default says, else as the model's does."""
        if (own := await self._db.read(library.find_default, user_id)) is not None:
            return ChatSetup.of(own)
        return (await self.setups(user_id)).get(model.id) or ChatSetup()


def _copy(preset: Preset, user_id: str) -> ChatSetup:
    """The model is chosen already; and another's preset is no name for what a person has."""
    setup = replace(ChatSetup.of(preset), model_id=None)
    return setup if preset.user_id == user_id else replace(setup, preset_id=None)
