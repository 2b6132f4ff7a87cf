"""The model hub for the rest of Inglenook: search, a model's page, the token. Called on the event loop.

Whatever goes over the network runs on the hub's own thread, where the one client of this process lives.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from app.errors import HubError, said, said_by_engine
from app.hub.client import FoundModel, HubClient, ModelPage, Sort
from app.hub.files import Variant
from app.hub.head import read_remote_header
from app.hub.thread import LoopThread
from app.hub.token import TokenStore
from app.language import Said
from app.services.engines import EngineRegistry
from app.settings import Settings
from app.vault import Vault
from engine.errors import ModelLoadError
from engine.fit import Fit, Rough, Verdict, guess, judge
from engine.gguf import GgufHeader
from engine.memory import LoadLimits
from engine.told import Told
from store.database import Database

T = TypeVar("T")

MAX_HEADERS_KEPT = 64
BYTES_PER_PARAMETER = {"gguf": 0.61, "safetensors": 2.0}        # of Q4_K_M, which most people take; of bfloat16
USUAL_CONTEXT_TOKENS = 8192


class HubService:
    """Every call raises HubError, at once where this machine is offline, or NotFound."""

    def __init__(self, db: Database, engines: EngineRegistry, settings: Settings, vault: Vault) -> None:
        self.tokens = TokenStore(db, vault, settings)
        self._engines = engines
        self._settings = settings
        self._headers: dict[str, GgufHeader] = {}       # by the first file's hash
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

    async def fit(self, repo: str, commit_sha: str, variant: Variant) -> Fit:
        """What the loader would do with it here, from its header at the hub. Never raises HubError: it is UNKNOWN then.
        """
        try:
            return await self._judge(await self._header(repo, commit_sha, variant))
        except (HubError, ModelLoadError) as error:
            return Fit(verdict=Verdict.UNKNOWN, reason=said(error))

    async def fits(self, page: ModelPage) -> dict[str, Fit]:
        """Of all variants of a page, by label: one header is read, and the weights of the others follow from sizes."""
        ggufs = [each for each in page.variants if each.file_format == "gguf" and not each.missing]
        unknown = Fit(verdict=Verdict.UNKNOWN, reason=Said("fit-unknown-format"))
        fits = {each.label: unknown for each in page.variants}
        if not ggufs:
            return fits
        try:
            header = await self._header(page.model.repo, page.commit_sha, ggufs[0])
        except (HubError, ModelLoadError) as error:
            return fits | {each.label: Fit(verdict=Verdict.UNKNOWN, reason=said(error)) for each in ggufs}
        for each in ggufs:
            fits[each.label] = await self._judge(header, scale=each.size_bytes / ggufs[0].size_bytes)
        return fits

    async def guesses(self, found: Sequence[FoundModel], file_format: str = "gguf") -> dict[str, Fit]:
        """Of what a search has found, by repository: from the number of parameters, so that nothing is asked for it.
        Those whose number is not known are left out.
        """
        roughs = {each.repo: rough for each in found if (rough := rough_of(each, file_format)) is not None}
        return dict(zip(roughs, await self.guess(list(roughs.values())), strict=True))

    async def guess(self, roughs: Sequence[Rough]) -> list[Fit]:
        fits = await guess(roughs, self._limits(), reclaimable_bytes=self._held_bytes())
        return [_told(fit) for fit in fits]

    async def run(self, work: Callable[[HubClient], Coroutine[Any, Any, T]]) -> T:
        """`work` runs on the hub's thread. Cancelling this cancels it, and waits for its end."""
        return await self._thread.run(self._with_client(work, await self.tokens.get()))

    async def close(self) -> None:
        """Ends what is under way. Idempotent."""
        if self._client is not None:
            await self._thread.run(self._client.close())
            self._client = None
        await self._thread.close()

    async def _header(self, repo: str, commit_sha: str, variant: Variant) -> GgufHeader:
        key = variant.files[0].etag
        if key not in self._headers:
            header = await self.run(lambda client: read_remote_header(client, repo, commit_sha, variant))
            while len(self._headers) >= MAX_HEADERS_KEPT:
                del self._headers[next(iter(self._headers))]
            self._headers[key] = header
        return self._headers[key]

    async def _judge(self, header: GgufHeader, scale: float = 1.0) -> Fit:
        """As if it were the only one: loaded models make room for another."""
        return _told(await judge(header, self._limits(), scale=scale, reclaimable_bytes=self._held_bytes()))

    def _limits(self) -> LoadLimits:
        return replace(self._engines.limits, budget_bytes=self._engines.budget_bytes)

    def _held_bytes(self) -> int:
        return sum(engine.info.weight_bytes + engine.metrics().held_bytes for engine in self._engines.loaded().values())

    async def _with_client(self, work: Callable[[HubClient], Coroutine[Any, Any, T]], token: str | None) -> T:
        if self._client is None:
            self._client = HubClient(self._settings.hub_endpoint, is_offline=self._settings.hub_offline)
        self._client.token = token
        return await work(self._client)


def _told(fit: Fit) -> Fit:
    """With a reason that pages can say in their reader's language."""
    return replace(fit, reason=said_by_engine(fit.reason)) if isinstance(fit.reason, Told) else fit


def rough_of(found: FoundModel, file_format: str) -> Rough | None:
    if not found.num_parameters:
        return None
    each_bytes = BYTES_PER_PARAMETER["gguf" if "gguf" in found.tags else file_format or "safetensors"]
    return Rough(
        name=found.repo, weight_bytes=round(found.num_parameters * each_bytes), num_parameters=found.num_parameters,
        context_tokens=found.context_tokens or USUAL_CONTEXT_TOKENS,
    )
