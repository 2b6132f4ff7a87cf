"""Model files that a browser brings: kept in the models folder, looked over, and made known. On the event loop.

Who may do so is for the caller to check: admins. Nothing partial is ever loadable: until it is whole a file is
`….part`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import structlog

from app.errors import InvalidInput, said
from app.hub.disk import KEPT_FREE_BYTES, free_bytes
from app.hub.layout import PART_ENDING
from app.hub.names import safe_component
from app.language import Said
from app.services.chunks import in_pieces, on_disk, write_whole
from app.services.models import ModelService
from app.settings import Settings
from engine.errors import ModelLoadError
from engine.gguf import check_one_of_several, parts_by_name
from store.tables import Model

FOLDER = "uploads"
KEPT_S = 7 * 86_400             # a part of several files, after the last that came
ENDING = ".gguf"

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """`model` is None where others of its files are still missing."""

    model: Model | None
    missing: tuple[str, ...] = ()


class ModelUploads:
    """A model in several files is one once the last is there; until then each is kept, and may be sent again."""

    def __init__(self, models: ModelService, settings: Settings) -> None:
        self._models = models
        self._folder = settings.models_dir / FOLDER

    async def remove_leftovers(self) -> None:
        """At start: files that the last end of the process has cut off, and parts whose others never came. What had
        come whole, but was not made known any more, is now.
        """
        await asyncio.to_thread(_remove_cut_off, self._folder)
        known = await self._models.known_paths()
        await asyncio.to_thread(_remove_abandoned, self._folder, known)
        for path in await asyncio.to_thread(_forgotten, self._folder, known):
            try:
                await self._models.add(path)
            except InvalidInput as error:
                logger.warning("an upload is no model", file=path.name, detail=str(error))

    async def room_bytes(self) -> int:
        """How large a file may be now."""
        return await asyncio.to_thread(_room_bytes, self._folder)

    async def receive(self, file_name: str, chunks: AsyncIterable[bytes], *, num_bytes: int | None) -> Received:
        """Raises InvalidInput where it is no model, where one of that name is there, or where the disk is full. Nothing
        is left then, nor where the browser goes away.
        """
        name = safe_component(Path(file_name).name)
        if not name.lower().endswith(ENDING):
            raise InvalidInput(Said("error-upload-ending"), field="file")
        if (num_bytes or 0) > await self.room_bytes():
            raise InvalidInput(Said("error-disk-full"), field="file")
        place = (await asyncio.to_thread(self._folder.resolve)) / name
        parts = parts_by_name(place)
        is_part = len(parts) > 1
        if is_part:
            await self._check_unneeded(place)
        part = place.with_name(name + PART_ENDING)
        file = await on_disk(_create, part, place, may_replace=is_part)       # another's is not ours to remove
        try:
            await self._receive(file, chunks, num_bytes)
            if is_part:
                await self._check_unneeded(place)       # it may be a model's by now
                await self._check_part(part, place)
            await on_disk(part.replace, place)
        except BaseException:
            await asyncio.to_thread(part.unlink, missing_ok=True)
            raise
        if is_part:
            missing = await asyncio.to_thread(lambda: tuple(each.name for each in parts if not each.is_file()))
            if missing:
                return Received(None, missing)
        try:
            return Received(await self._models.add(parts[0]))
        except InvalidInput:
            for each in parts:          # which of them is wrong, nobody can say
                await asyncio.to_thread(each.unlink, missing_ok=True)
            raise

    async def _check_unneeded(self, place: Path) -> None:
        """A model whose file is gone may have it back."""
        if await asyncio.to_thread(place.exists) and place in await self._models.known_paths():
            raise InvalidInput(Said("error-upload-there"), field="file")

    async def _check_part(self, part: Path, place: Path) -> None:
        def check() -> None:
            with part.open("rb", buffering=0) as file:
                check_one_of_several(place, file, part.stat().st_size)

        try:
            await on_disk(check)
        except ModelLoadError as error:
            raise InvalidInput(said(error), field="file") from error

    async def _receive(self, file: FileIO, chunks: AsyncIterable[bytes], num_bytes: int | None) -> None:
        num_received = 0
        try:
            async for piece in in_pieces(chunks):
                num_received += len(piece)
                await on_disk(write_whole, file, piece)
        finally:
            await asyncio.to_thread(file.close)
        if num_received == 0 or (num_bytes is not None and num_received != num_bytes):
            raise InvalidInput(Said("error-upload-cut"), field="file")


def _room_bytes(folder: Path) -> int:
    return max(0, free_bytes(folder) - KEPT_FREE_BYTES)


def _remove_cut_off(folder: Path) -> None:
    for part in folder.glob(f"*{PART_ENDING}"):
        part.unlink(missing_ok=True)


def _remove_abandoned(folder: Path, needed: set[Path]) -> None:
    """Parts of models that nobody has completed for long."""
    now_s = time.time()
    for path in folder.resolve().glob(f"*{ENDING}"):
        parts = [each for each in parts_by_name(path) if each.exists()]
        is_whole = len(parts) == len(parts_by_name(path))
        if is_whole or needed.intersection(parts) or any(now_s - _written_s(each) < KEPT_S for each in parts):
            continue
        path.unlink(missing_ok=True)


def _forgotten(folder: Path, known: set[Path]) -> list[Path]:
    """The first file of each whole model that nobody knows of."""
    firsts = {parts_by_name(path)[0] for path in folder.resolve().glob(f"*{ENDING}")}
    return sorted(first for first in firsts - known if all(each.is_file() for each in parts_by_name(first)))


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:           # removed in this very moment
        return 0.0


def _create(part: Path, place: Path, *, may_replace: bool) -> FileIO:
    """Raises InvalidInput where it is there, or on its way by another request."""
    part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        if place.exists() and not may_replace:
            raise FileExistsError(place)
        return part.open("xb", buffering=0)
    except FileExistsError as error:
        raise InvalidInput(Said("error-upload-there"), field="file") from error
