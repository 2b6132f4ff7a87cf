"""Model files that a browser brings: kept in the models folder, looked over, and made known. On the event loop.

Who may do so is for the caller to check: admins. Nothing partial is ever loadable: until it is whole a file is
`….part`.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterable, Callable
from pathlib import Path
from typing import IO, ParamSpec, TypeVar

from app.errors import InvalidInput
from app.hub.disk import KEPT_FREE_BYTES, free_bytes
from app.hub.layout import PART_ENDING
from app.hub.names import safe_component
from app.language import Said
from app.services.chunks import in_pieces
from app.services.models import ModelService
from app.settings import Settings
from store.tables import Model

FOLDER = "uploads"
ENDING = ".gguf"

P = ParamSpec("P")
T = TypeVar("T")


class ModelUploads:
    def __init__(self, models: ModelService, settings: Settings) -> None:
        self._models = models
        self._folder = settings.models_dir / FOLDER

    async def remove_leftovers(self) -> None:
        """At start: files that the last end of the process has cut off."""
        await asyncio.to_thread(_remove_parts, self._folder)

    async def room_bytes(self) -> int:
        """How large a file may be now."""
        return await asyncio.to_thread(_room_bytes, self._folder)

    async def receive(self, file_name: str, chunks: AsyncIterable[bytes], *, num_bytes: int | None) -> Model:
        """Raises InvalidInput where it is no model, where one of that name is there, or where the disk is full. Nothing
        is left then, nor where the browser goes away.
        """
        name = safe_component(Path(file_name).name)
        if not name.lower().endswith(ENDING):
            raise InvalidInput(Said("error-upload-ending"), field="file")
        if (num_bytes or 0) > await self.room_bytes():
            raise InvalidInput(Said("error-disk-full"), field="file")
        place = self._folder / name
        part = place.with_name(name + PART_ENDING)
        try:
            await self._receive(part, place, chunks, num_bytes)
            await self._on_disk(part.rename, place)
        except BaseException:
            await asyncio.to_thread(part.unlink, missing_ok=True)
            raise
        try:
            return await self._models.add(place)
        except InvalidInput:
            await asyncio.to_thread(place.unlink, missing_ok=True)
            raise

    async def _receive(self, part: Path, place: Path, chunks: AsyncIterable[bytes], num_bytes: int | None) -> None:
        file = await self._on_disk(_create, part, place)
        num_received = 0
        try:
            async for piece in in_pieces(chunks):
                num_received += len(piece)
                await self._on_disk(file.write, piece)
        finally:
            await asyncio.to_thread(file.close)
        if num_received == 0 or (num_bytes is not None and num_received != num_bytes):
            raise InvalidInput(Said("error-upload-cut"), field="file")

    async def _on_disk(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(do, *args, **kwargs)
        except FileExistsError as error:
            raise InvalidInput(Said("error-upload-there"), field="file") from error
        except OSError as error:
            is_full = error.errno == errno.ENOSPC
            told = Said("error-disk-full") if is_full else Said("error-file-not-kept", detail=str(error.strerror))
            raise InvalidInput(told, field="file") from error


def _room_bytes(folder: Path) -> int:
    return max(0, free_bytes(folder) - KEPT_FREE_BYTES)


def _remove_parts(folder: Path) -> None:
    for part in folder.glob(f"*{PART_ENDING}"):
        part.unlink(missing_ok=True)


def _create(part: Path, place: Path) -> IO[bytes]:
    """Raises FileExistsError where it is there, or on its way by another request."""
    part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.exists():
        raise FileExistsError(place)
    return part.open("xb", buffering=0)
