"""Downloads over the stand-in hub, with the real services and an impatience that tests need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import gguf

from app.hub.disk import Disk
from app.hub.pace import Patience
from app.services.container import Services
from app.services.download_status import DownloadStatus
from app.services.downloads import DownloadService
from app.services.hub import HubService
from app.services.model_versions import ModelVersions
from app.services.models import ModelService
from app.settings import Settings
from app.vault import Vault
from tests.app.house import PATIENCE_S, until
from tests.app.hub import Hub
from tests.engine.tiny_gguf import write_tiny_gguf

REPO = "birds/Parrot-GGUF"
IMPATIENT = Patience(num_attempts=3, first_wait_s=0.001, longest_wait_s=0.002)


@cache
def tiny_model(seed: int = 0) -> bytes:
    with TemporaryDirectory() as folder:
        return write_tiny_gguf(Path(folder) / "tiny.gguf", seed=seed).read_bytes()


@cache
def tiny_part(number: int, count: int) -> bytes:
    """A file of several, each of which holds all the weights under names of its own: only their headers are read."""
    add_name = gguf.GGUFWriter.add_name

    def add_split(self: gguf.GGUFWriter, name: str) -> None:
        add_name(self, name)
        self.add_uint16("split.no", number)
        self.add_uint16("split.count", count)

    with TemporaryDirectory() as folder, mock.patch.object(gguf.GGUFWriter, "add_name", add_split):
        content = write_tiny_gguf(Path(folder) / "tiny.gguf", seed=number).read_bytes()
    for name in (b"token_embd.weight", b"output_norm.weight", b"output.weight", b"blk.0.", b"blk.1."):
        content = content.replace(name, b"%d%b" % (number, name[1:])) if number else content
    return content


@dataclass
class Shop:
    """One process that has the queue. `again` is the next one, after a restart."""

    services: Services
    hub: Hub
    downloads: DownloadService
    hub_service: HubService
    disk: Disk

    @classmethod
    def open(cls, services: Services, hub: Hub, disk: Disk | None = None, **settings: object) -> Shop:
        told = {"data_dir": services.settings.data_dir, "hub_endpoint": hub.url, **settings}
        configured = Settings.model_validate(told)
        hub_service = HubService(services.db, services.engines, configured, Vault(configured.data_dir))
        # Its own service of models, which it tells to be told what is removed.
        models = ModelService(services.db, services.engines, services.changes, configured)
        disk = disk or Disk(kept_free_bytes=0)
        versions = ModelVersions(services.db, models, services.engines, services.changes, configured)
        downloads = DownloadService(
            services.db, hub_service, models, versions, services.changes, configured, disk=disk, patience=IMPATIENT
        )
        return cls(services, hub, downloads, hub_service, disk)

    async def close(self) -> None:
        await self.downloads.close()
        await self.hub_service.close()

    async def until(self, download_id: str, is_so: Callable[[DownloadStatus], bool]) -> DownloadStatus:
        """When the download's status is so; looked at whenever pages are told to look."""
        told = asyncio.Event()
        unwatch = self.services.changes.watch(None, lambda _change: told.set())
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not is_so(status := self.downloads.get(download_id)):
                    told.clear()
                    await told.wait()
        finally:
            unwatch()
        return status

    async def held(self, download_id: str, num_bytes: int = 1) -> None:
        """When the hub holds it, and what it has sent is here."""
        await until(lambda: self.downloads.get(download_id).done_bytes >= num_bytes)
