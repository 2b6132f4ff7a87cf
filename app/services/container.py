"""All services of a running Inglenook, made once and handed to both faces, the pages and the API."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from app.errors import ModelNotFound, ModelUnavailable
from app.services.accounts import AccountService
from app.services.benchmarks import BenchmarkService
from app.services.changes import Change, Changes
from app.services.chat import ChatService
from app.services.connections import ConnectionService
from app.services.conversations import ConversationService
from app.services.downloads import DownloadService
from app.services.endpoints import Endpoints
from app.services.engines import EngineRegistry, Loader
from app.services.exports import ExportService
from app.services.first_model import FirstModel
from app.services.found_models import FoundModels
from app.services.generations import GenerationService
from app.services.hub import HubService
from app.services.imports import ImportService
from app.services.library_files import LibraryFiles
from app.services.listing import ListingService
from app.services.meter import ContextMeter
from app.services.model_presets import ModelPresets
from app.services.model_settings import ModelSettingsService
from app.services.model_speeds import ModelSpeeds
from app.services.model_updates import ModelUpdates
from app.services.model_uploads import ModelUploads
from app.services.model_versions import ModelVersions
from app.services.models import ModelService, wanted_of
from app.services.optimizer import ModelOptimizer
from app.services.organise import OrganiseService
from app.services.other_processes import OtherProcesses
from app.services.people import PeopleService
from app.services.presets import PresetService
from app.services.prompts import PromptService
from app.services.searching import SearchService
from app.services.temporary import TemporaryChats
from app.services.titles import TitleService
from app.settings import Settings
from app.vault import Vault
from engine.disk_cache.cache import DiskCache
from engine.load import LoadLimits
from store import moving
from store.database import Database
from store.errors import StoreError

PURGE_AFTER = timedelta(days=1)         # how long a deleted chat can be brought back
PURGE_INTERVAL_S = 3600.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    settings: Settings
    db: Database
    disk_cache: DiskCache
    changes: Changes
    accounts: AccountService
    people: PeopleService
    conversations: ConversationService
    vault: Vault
    hub: HubService
    endpoints: Endpoints
    connections: ConnectionService
    models: ModelService
    first_model: FirstModel
    model_settings: ModelSettingsService
    model_presets: ModelPresets
    model_versions: ModelVersions
    model_speeds: ModelSpeeds
    model_updates: ModelUpdates
    found_models: FoundModels
    model_uploads: ModelUploads
    downloads: DownloadService
    optimizer: ModelOptimizer
    engines: EngineRegistry
    generations: GenerationService
    chat: ChatService
    meter: ContextMeter
    temporary: TemporaryChats
    presets: PresetService
    prompts: PromptService
    library_files: LibraryFiles
    exports: ExportService
    imports: ImportService
    organise: OrganiseService
    listing: ListingService
    searching: SearchService
    titles: TitleService
    other_processes: OtherProcesses
    benchmarks: BenchmarkService

    @classmethod
    def open(cls, settings: Settings, loader: Loader) -> Services:
        """Opens the database, which may raise StoreError; everything else waits for `start`."""
        db = Database.open(settings.database_path)
        folder = settings.data_dir.resolve()
        if db.read_sync(moving.has_moved, folder) and (num_moved := db.run_sync(moving.follow, folder)):
            log.info("the data folder has moved, and its models with it", count=num_moved)
        changes = Changes()
        disk_cache = DiskCache(settings.data_dir / "cache" / "kv", settings.cache_disk_bytes)
        limits = _limits(settings, disk_cache)
        vault = Vault(settings.data_dir)
        endpoints = Endpoints(db, vault, changes)
        engines = EngineRegistry(
            partial(wanted_of, db, settings.keep_alive_s, endpoints.engine), loader, limits, changes,
            settings.memory_budget_bytes,
        )
        accounts = AccountService(db, settings, changes)
        temporary = TemporaryChats(db)
        conversations = ConversationService(db, temporary, changes)
        models = ModelService(db, engines, changes, settings)
        model_versions = ModelVersions(db, models, engines, changes, settings)
        model_presets = ModelPresets(db)
        hub = HubService(db, engines, settings, vault)
        generations = GenerationService(db, engines, changes)
        presets, prompts = PresetService(db, changes), PromptService(db, changes)
        imports = ImportService(db, changes, settings)
        titles = TitleService(db, engines, generations, changes)
        _connect(changes, accounts, conversations, temporary, generations, titles, imports)
        return cls(
            settings=settings,
            db=db,
            disk_cache=disk_cache,
            changes=changes,
            accounts=accounts,
            people=PeopleService(db, accounts),
            conversations=conversations,
            vault=vault,
            hub=hub,
            endpoints=endpoints,
            connections=ConnectionService(db, endpoints, engines, vault, changes),
            models=models,
            first_model=FirstModel(models, settings),
            model_settings=ModelSettingsService(db, engines, changes, keep_alive_s=settings.keep_alive_s),
            model_presets=model_presets,
            model_versions=model_versions,
            model_speeds=ModelSpeeds(db, engines),
            model_updates=ModelUpdates(db, hub, models, changes),
            found_models=FoundModels(models, settings),
            model_uploads=ModelUploads(models, settings),
            downloads=DownloadService(db, hub, models, model_versions, changes, settings),
            optimizer=ModelOptimizer(models, settings, limits),
            engines=engines,
            generations=generations,
            chat=ChatService(db, conversations, generations, models, model_presets, temporary, changes),
            meter=ContextMeter(engines),
            temporary=temporary,
            presets=presets,
            prompts=prompts,
            library_files=LibraryFiles(prompts, presets),
            exports=ExportService(db),
            imports=imports,
            organise=OrganiseService(db, conversations, changes),
            listing=ListingService(db),
            searching=SearchService(db),
            titles=titles,
            other_processes=OtherProcesses(db, changes),
            benchmarks=BenchmarkService(db, models, engines, changes),
        )

    async def start(self) -> None:
        """Mend what a crash left, and make the starter and the model that the settings name known, so that whoever asks
        first finds them. Quick: models are loaded in the background.
        """
        if num_interrupted := await self.generations.interrupt_stale():
            log.info("answers were interrupted by the last stop", count=num_interrupted)
        await self.imports.remove_leftovers()
        try:
            await self.models.delete_leftovers()
        except OSError as error:            # no reason not to start
            log.warning("files of a removed model could not be deleted", reason=str(error))
        await self.model_uploads.remove_leftovers()
        await self.models.register_starter()
        await self.model_settings.apply_memory_budget()
        await self.first_model.make_known()
        await self.downloads.start()
        self.disk_cache.start()

    async def preload(self) -> None:
        """In the background, so that the first page is there before a model is: the one to start with, then others that
        an admin wants ready, as far as there is room beside those.
        """
        first = await self.first_model.wanted_id()
        others = [model.id for model in await self.model_settings.preloaded() if model.id != first]
        for model_id in ([first] if first else []) + others:
            try:
                await self.engines.load(await self.models.known_id(model_id), makes_room=model_id == first)
            except ModelNotFound as error:
                log.warning("a model could not be loaded at the start", model=model_id, reason=str(error))
            except ModelUnavailable:
                pass        # it failed, which the registry has logged, or somebody stopped its loading

    async def keep_tidy(self) -> None:
        """Until cancelled: remove for good what was deleted a while ago."""
        while True:
            try:
                await self.conversations.purge_deleted(PURGE_AFTER)
            except StoreError as error:         # a full disk, say: the next time may do
                log.warning("deleted chats could not be removed", reason=str(error))
            await asyncio.sleep(PURGE_INTERVAL_S)

    async def stop(self) -> None:
        """End what runs, each answer saved with its text, and free the models. Idempotent; the database stays open."""
        await self.imports.close()
        await self.titles.close()
        await self.benchmarks.close()
        await self.downloads.close()
        await self.hub.close()
        await self.generations.close()
        self.changes.fall_silent()
        await self.engines.close()
        await self.endpoints.close()
        await asyncio.to_thread(self.disk_cache.close)

    def close(self) -> None:
        """After `stop`."""
        self.accounts.close()
        self.temporary.close()
        self.db.close()


def _connect(
    changes: Changes, accounts: AccountService, conversations: ConversationService, temporary: TemporaryChats,
    generations: GenerationService, titles: TitleService, imports: ImportService,
) -> None:
    """Who hears of whose ends: what is written for somebody, or somewhere, that is gone stops."""
    conversations.on_deleted(generations.conversation_deleted)
    temporary.on_ended(generations.conversation_deleted)
    temporary.on_ended(lambda user_id, chat_id: changes.announce(user_id, Change("thread", chat_id)))
    accounts.on_access_ended(generations.access_ended)
    accounts.on_access_ended(imports.access_ended)
    generations.on_ended(titles.answer_ended)


def _limits(settings: Settings, disk_cache: DiskCache) -> LoadLimits:
    return LoadLimits(
        context_tokens=settings.context_tokens,
        max_num_seqs=settings.max_num_seqs,
        cache_bytes=settings.cache_bytes,
        threads=settings.threads,
        kv_type=settings.kv_type,
        gpu_layers=settings.gpu_layers,
        main_gpu=settings.main_gpu,
        draft_model=settings.draft_model,
        max_queue=settings.max_queue,
        state_dir=settings.data_dir / "cache",
        disk=disk_cache,
    )
