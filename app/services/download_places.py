"""Where each download's files go: to the folder in which it was begun, though the settings may name another by now, or
the data folder has moved. So what came of it is found again, and removed when it is given up. On the event loop.
"""

from __future__ import annotations

from pathlib import Path

from app.hub.files import RemoteFile
from app.hub.layout import Layout, layout_of
from app.settings import Settings
from store import settings as stored_settings
from store.database import Database
from store.tables import Download

SETTING = "download_places"         # by id: the shared cache's folder, and whose the parts in it are called


class DownloadPlaces:
    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self._models_dir = settings.models_dir.resolve()
        self._cache_dir = settings.hub_cache_dir
        self._begun: dict[str, tuple[str, str]] = {}

    async def load(self, rows: dict[str, Download]) -> None:
        """Those of an older version go where they would go now."""
        stored = await self._db.read(stored_settings.fitting, SETTING, _read, {})
        here = (str(self._cache_dir), str(self._models_dir))
        self._begun = {each: self._still_good(*stored.get(each, here)) for each in rows}
        if self._begun != stored:
            await self._keep()

    async def begin(self, row: Download) -> None:
        """From now on it goes where the settings say."""
        self._begun[row.id] = (str(self._cache_dir), str(self._models_dir))
        await self._keep()

    def layout(self, row: Download) -> Layout:
        folder, owner = self._begun.get(row.id, (str(self._cache_dir), str(self._models_dir)))
        return layout_of(
            row.layout, models_dir=self._models_dir, cache_dir=Path(folder), owner=owner,
            repo=row.repo, commit_sha=row.commit_sha, files=[RemoteFile(**each) for each in row.files],
        )

    def _still_good(self, folder: str, owner: str) -> tuple[str, str]:
        """A folder that is gone holds nothing. Where the owner's own is still there, ours is a copy of it, and two must
        never write into one part.
        """
        is_copy = Path(owner) != self._models_dir and Path(owner).exists()
        return (
            folder if Path(folder).is_dir() else str(self._cache_dir), str(self._models_dir) if is_copy else owner
        )

    async def _keep(self) -> None:
        await self._db.run(stored_settings.set_of_system, SETTING, {each: list(at) for each, at in self._begun.items()})


def _read(stored: dict[str, list[str]]) -> dict[str, tuple[str, str]]:
    """Raises ValueError for what is none."""
    return {each: (str(folder), str(owner)) for each, (folder, owner) in stored.items()}
