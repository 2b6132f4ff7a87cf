"""What people do with downloads: ask for a model, pause, resume, give up. On the event loop; for pages, API, commands.

Who may do so is for the caller to check: admins.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from app.errors import Conflict, InvalidInput, ModelNotFound, NotFound, said
from app.hub.disk import Disk
from app.hub.files import RemoteFile, Variant, check_whole, choose
from app.hub.layout import SHORT_COMMIT_CHARS, Layout
from app.hub.pace import Patience
from app.hub.transfer import discard
from app.language import Said
from app.services.changes import Changes
from app.services.download_queue import UNDER_WAY, DownloadQueue
from app.services.download_rules import DownloadRules as DownloadRules
from app.services.download_status import DownloadStatus
from app.services.hub import HubService
from app.services.model_origin import Downloaded
from app.services.model_versions import ModelVersions
from app.services.models import ModelService
from app.settings import Settings
from engine.select import runnable_formats
from store import downloads
from store.database import Database
from store.tables import Download, DownloadState, Model

log = structlog.get_logger(__name__)


class DownloadService:
    def __init__(
        self, db: Database, hub: HubService, models: ModelService, versions: ModelVersions, changes: Changes,
        settings: Settings, *, disk: Disk | None = None, patience: Patience | None = None,
    ) -> None:
        self._db = db
        self._hub = hub
        self._models = models
        self._versions = versions
        self._queue = DownloadQueue(
            db, hub, changes, settings, disk or Disk(), patience or Patience(), self._register
        )
        self._one_change = asyncio.Lock()       # of rows and their files: no act meets another half-way
        models.on_removed(self._model_removed)

    async def start(self, *, runs_all: bool = True) -> None:
        """Take the queue, and go on with what ran when the last process ended. Without `runs_all`, only what is asked
        for from now on runs: for a command.
        """
        await self._queue.start(runs_all=runs_all)

    async def close(self) -> None:
        """Stops what runs, so that the next start goes on with it. Idempotent."""
        await self._queue.close()

    def list(self) -> list[DownloadStatus]:
        """Oldest first."""
        return [self._queue.status(row) for row in self._queue.rows.values()]

    def get(self, download_id: str) -> DownloadStatus:
        return self._queue.status(self._row(download_id))

    async def plan(self, repo: str, wanted: str = "") -> tuple[str, Variant]:
        """The commit and the files that `request` would take. Raises NotFound, InvalidInput or HubError."""
        page = await self._hub.page(repo)
        variant = choose(page.variants, wanted, repo)
        check_whole(variant, repo)
        return page.commit_sha, variant

    async def request(self, repo: str, wanted: str = "", *, anyway: bool = False) -> DownloadStatus:
        """Of a quantisation or file; "" takes the usual one. The same model is one download, whoever asks how often.

        `anyway`: also in a format that nothing here can run. Raises NotFound, InvalidInput, NoRoom or HubError.
        """
        await self._queue.check_is_ours()
        commit_sha, variant = await self.plan(repo, wanted)
        if variant.file_format not in runnable_formats() and not anyway:
            raise InvalidInput(Said("download-needs-torch", label=variant.label, repo=repo), field="model")
        async with self._one_change:
            return await self._ask_for(repo, commit_sha, variant)

    async def _ask_for(self, repo: str, commit_sha: str, variant: Variant) -> DownloadStatus:
        key = f"{repo}/{variant.files[0].name}"
        row = next((each for each in self._queue.rows.values() if each.key == key), None)
        if row is not None:
            return await self._again(row, commit_sha, variant)
        row = Download(
            key=key, repo=repo, commit_sha=commit_sha, label=variant.label, layout=self._queue.rules.layout,
            files=[file.as_json() for file in variant.files], total_bytes=variant.size_bytes,
        )
        await self._queue.count_bytes(row)
        await self._queue.check_room(row)
        row = await self._db.run(downloads.add, row)
        self._queue.rows.setdefault(row.id, row)
        await self._queue.places.begin(row)
        self._queue.want(row)
        return self.get(row.id)

    async def pause(self, download_id: str) -> DownloadStatus:
        """What came stays."""
        async with self._one_change:
            row = self._row(download_id)
            if row.state not in UNDER_WAY:
                raise Conflict(Said("download-not-under-way", label=row.label, repo=row.repo))
            await self._queue.stop(row, DownloadState.PAUSED)
            return self.get(download_id)

    async def resume(self, download_id: str) -> DownloadStatus:
        """Go on with one that pauses or has failed. After a failure the hub is asked again what the files are."""
        await self._queue.check_is_ours()
        row = self._row(download_id)
        if row.state is DownloadState.FAILED:
            planned = await self.plan(row.repo, row.files[0]["name"])
            async with self._one_change:
                return await self._again(self._row(download_id), *planned)
        async with self._one_change:
            row = self._row(download_id)
            if row.state is DownloadState.QUEUED:
                self._queue.want(row)
                return self.get(download_id)
            if row.state is not DownloadState.PAUSED:
                raise Conflict(Said("download-not-stopped", label=row.label, repo=row.repo))
            await self._queue.enqueue(row)
            return self.get(download_id)

    async def cancel(self, download_id: str) -> None:
        """Give up: stop, remove what came of it, forget it. A model that is whole is only forgotten here, and stays.

        Raises Conflict where what came cannot be removed: then it is not forgotten either.
        """
        async with self._one_change:
            await self._give_up(self._row(download_id))

    async def _give_up(self, row: Download) -> None:
        await self._queue.stop(row, DownloadState.PAUSED)
        if row.state is not DownloadState.ON_DISK:
            await self._discard(row)
        await self._queue.forget(row)

    async def _discard(self, row: Download) -> None:
        """What came of one that does not run; not what others of its repository bring too, maybe in this moment."""
        others = [
            self._queue.layout(each) for each in self._queue.rows.values()
            if each.id != row.id and each.repo == row.repo and each.state is not DownloadState.ON_DISK
        ]
        needed = await self._models.known_paths()       # it may be a model already, in whose moment it was stopped
        for layout in others:
            needed |= {path for file in layout.files for path in (layout.part(file), layout.place(file))}
        try:
            await asyncio.to_thread(discard, self._queue.layout(row), needed)
        except OSError as error:
            raise Conflict(Said("download-not-removed", detail=str(error))) from error

    @property
    def rules(self) -> DownloadRules:
        return self._queue.rules

    async def set_rules(self, rules: DownloadRules) -> None:
        """In force at once. Raises InvalidInput."""
        await self._queue.set_rules(rules)

    async def _again(self, row: Download, commit_sha: str, variant: Variant) -> DownloadStatus:
        """The same files go on where they were, under the commit that they had. Others are a new version: once whole
        it is an update of the model that is here. Of an old one that was not whole nothing stays.
        """
        is_same = {file["name"]: RemoteFile(**file).etag for file in row.files} == {
            file.name: file.etag for file in variant.files
        }
        if row.state in UNDER_WAY:
            self._queue.want(row)
            return self.get(row.id)
        if row.state is DownloadState.ON_DISK and is_same and await self._has_model(row):
            return self.get(row.id)
        if not is_same:
            if row.state is not DownloadState.ON_DISK:
                await self._discard(row)
            await self._queue.change(
                row, commit_sha=commit_sha, label=variant.label, total_bytes=variant.size_bytes,
                files=[file.as_json() for file in variant.files], layout=self._queue.rules.layout,
                state=DownloadState.PAUSED,
            )
            await self._queue.places.begin(row)
        await self._queue.enqueue(row)
        return self.get(row.id)

    async def _has_model(self, row: Download) -> bool:
        """Another process may have removed it."""
        try:
            await self._models.find(row.model_id or "")
        except ModelNotFound:
            return False
        return True

    async def _register(self, row: Download, layout: Layout) -> str:
        """As a model, or as the newer version of one that another commit of the same file has brought."""
        files = [
            {"path": str(layout.place(file)), "size_bytes": file.size_bytes, "sha256": file.sha256}
            for file in layout.files
        ]
        downloaded = Downloaded(repo=row.repo, commit_sha=row.commit_sha, files=files)
        place, name = layout.place(layout.files[0]), ""
        if place.suffix == ".safetensors":      # such a model is a folder, here called after its commit
            place, name = place.parent, row.repo.partition("/")[2]
        try:
            if (known := await self._of_another_commit(row, place)) is not None:
                return (await self._versions.update(known.id, place, downloaded=downloaded)).id
            return (await self._models.add(place, name=name, downloaded=downloaded)).id
        except InvalidInput as error:
            raise InvalidInput(Said("download-unusable", detail=said(error)), field="model") from error

    async def _of_another_commit(self, row: Download, place: Path) -> Model | None:
        """None also where this very place is known: it is a model, or a version, already."""
        listed = [entry.model for entry in await self._models.list()]
        if any(Path(each.path) == place for each in listed):
            return None
        return next((
            each for each in listed
            if each.repo == row.repo and not each.adapters
            and _within(Path(each.path), each.commit_sha) == _within(place, row.commit_sha)
        ), None)

    async def _model_removed(self, model_id: str) -> None:
        """Its files are gone: asked for again, it is downloaded again. An update that is on its way is given up."""
        async with self._one_change:
            for row in [row for row in self._queue.rows.values() if row.model_id == model_id]:
                try:
                    await self._give_up(row)
                except Conflict as error:           # its model is gone all the same
                    log.warning("what came of an update could not be removed", repo=row.repo, reason=str(error))
                    await self._queue.forget(row)

    def _row(self, download_id: str) -> Download:
        if (row := self._queue.rows.get(download_id)) is None:
            raise NotFound(Said("download-none"))
        return row


def _within(path: Path, commit_sha: str | None) -> tuple[str, ...]:
    """The path inside its commit's folder, whatever the layout; nothing that another could equal where it has none."""
    commit = (commit_sha or "-")[:SHORT_COMMIT_CHARS]
    at = next((at for at, part in enumerate(path.parts) if part.startswith(commit)), 0)
    return path.parts[at + 1:] if at else path.parts
