"""The model hub for the rest of Inglenook: search, a model's page, the token. Called on the event loop.

Whatever goes over the network runs on the hub's own thread, where the one client of this process lives.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from app.hub.client import FoundModel, HubClient, ModelPage, Sort
from app.hub.thread import LoopThread
from app.hub.token import TokenStore
from app.settings import Settings
from app.vault import Vault
from store.database import Database

T = TypeVar("T")


class HubService:
    """Every call raises HubError, at once where this machine is offline, or NotFound."""

    def __init__(self, db: Database, settings: Settings, vault: Vault) -> None:
        self.tokens = TokenStore(db, vault, settings)
        self._settings = settings
        self._thread = LoopThread("hub")
        self._client: HubClient | None = None           # touched on the hub's thread only

    async def search(
        self, text: str = "", *, file_format: str = "gguf", licence: str = "", parameters: str = "",
        sort: Sort = "downloads", limit: int = 30,
    ) -> list[FoundModel]:
        return await self.run(lambda client: client.search(
            text, file_format=file_format, licence=licence, parameters=parameters, sort=sort, limit=limit
        ))

    async def page(self, repo: str, revision: str = "main") -> ModelPage:
        return await self.run(lambda client: client.page(repo, revision))

    async def card(self, page: ModelPage) -> str:
        """Markdown from a stranger: whoever shows it cleans it."""
        return await self.run(lambda client: client.card(page.model.repo, page.commit_sha))

    async def run(self, work: Callable[[HubClient], Coroutine[Any, Any, T]]) -> T:
        """`work` runs on the hub's thread. Cancelling this cancels it, and waits for its end."""
        return await self._thread.run(self._with_client(work, await self.tokens.get()))

    async def close(self) -> None:
        """Ends what is under way. Idempotent."""
        if self._client is not None:
            await self._thread.run(self._client.close())
            self._client = None
        await self._thread.close()

    async def _with_client(self, work: Callable[[HubClient], Coroutine[Any, Any, T]], token: str | None) -> T:
        if self._client is None:
            self._client = HubClient(self._settings.hub_endpoint, is_offline=self._settings.hub_offline)
        self._client.token = token
        return await work(self._client)
