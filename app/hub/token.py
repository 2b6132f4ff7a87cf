"""The hub's access token: kept sealed, shown to nobody again, never logged. On the event loop."""

from __future__ import annotations

import asyncio

from app.errors import InvalidInput
from app.language import Said
from app.settings import Settings
from app.vault import Vault
from store import settings as stored_settings
from store.database import Database

SETTING = "hub_token"
MAX_CHARS = 512


class TokenStore:
    """What an admin entered comes first, then what the settings say (HF_TOKEN)."""

    def __init__(self, db: Database, vault: Vault, settings: Settings) -> None:
        self._db = db
        self._vault = vault
        self._settings = settings

    async def get(self) -> str | None:
        sealed = await self._db.read(stored_settings.get_of_system, SETTING)
        token = await asyncio.to_thread(self._vault.open, sealed) if isinstance(sealed, str) and sealed else None
        if token is None and self._settings.hub_token is not None:
            return self._settings.hub_token.get_secret_value()
        return token

    async def set(self, token: str) -> None:
        """"" forgets it. Raises InvalidInput for what cannot be one."""
        token = token.strip()
        if not (token.isascii() and token.isprintable() and len(token) <= MAX_CHARS) or " " in token:
            raise InvalidInput(Said("error-hub-token"), field="token")
        sealed = await asyncio.to_thread(self._vault.seal, token) if token else ""
        await self._db.run(stored_settings.set_of_system, SETTING, sealed)

    async def is_set(self) -> bool:
        return await self.get() is not None
