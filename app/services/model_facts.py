"""What is known of a model from its files, as a row of the store; and what is told of that row. Files are read here: on
other threads than the event loop's.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.errors import InvalidInput, said, said_by_engine
from app.found.model import is_file
from app.language import Said
from app.names import clean_label
from app.services.model_origin import Origin, origin_of
from app.services.model_settings import ModelSettings
from engine.errors import ModelLoadError
from engine.judge import files_of, judge
from engine.load import ModelSpec
from engine.lora import Adapter
from engine.safetensors import ENDING
from engine.sizes import size
from store.tables import Model

_PART = re.compile(r"-\d{5}-of-\d{5}$")
_CONTENT = re.compile(r"\b(\d+) bytes, (\d{18,19})\b")
_HASH = re.compile(r"\b([0-9a-f]{12})(?:[0-9a-f]{28}|[0-9a-f]{52})\b")


def describe(path: Path, name: str = "", adapters: Sequence[Adapter] = (), origin: Origin | None = None) -> Model:
    """On any thread. Raises InvalidInput for what cannot be run here."""
    path = _resolved(path)
    adapters = [Adapter(_resolved(adapter.path), adapter.scale) for adapter in adapters]
    origin = origin or origin_of(path)
    try:
        judgement = judge(path, adapters)
        size_bytes, modified_ns = _stamp(path)
    except ModelLoadError as error:
        raise InvalidInput(said(error), field="path") from error
    except OSError as error:
        raise InvalidInput(Said("error-path-unreadable", path=str(path), detail=str(error)), field="path") from error
    if judgement.refusal is not None:
        raise InvalidInput(said_by_engine(judgement.refusal), field="path")
    stems = [adapter.path.stem for adapter in adapters]
    stem = _stem(path, origin)
    return Model(
        id=_slug(name if name and (adapters or path.is_dir()) else "-".join([stem, *stems])),
        name=name or " + ".join([clean_label(judgement.name) or clean_label(stem) or "model", *stems]),
        path=str(path),
        file_format=judgement.file_format,
        architecture=judgement.architecture,
        quantisation=judgement.quantisation,
        size_bytes=size_bytes,
        modified_ns=modified_ns,
        context_tokens=judgement.context_tokens,
        adapters=[_stored(adapter) for adapter in adapters],
        embeds=judgement.embeds,
        origin=origin.to_values(),
        template=judgement.examine_template().to_values(),
    )


def _stem(path: Path, origin: Origin) -> str:
    """What a file is called without its ending. A blob is called by its hash and a snapshot by its commit, so those are
    called as their apps do.
    """
    if path.name.startswith("sha256-"):
        return origin.name.removesuffix(":latest") or path.name[:19]
    if path.is_dir():
        return origin.name.rpartition("/")[2] or path.name
    return _PART.sub("", path.stem)


def _stored(adapter: Adapter) -> dict[str, Any]:
    stat = adapter.path.stat()
    return {
        "path": str(adapter.path), "scale": adapter.scale, "size_bytes": stat.st_size, "modified_ns": stat.st_mtime_ns
    }


def _resolved(path: Path) -> Path:
    try:
        path = path.expanduser().absolute()
        path = path.parent.resolve() / path.name        # a link keeps its name: the cache of a hub is made of them
        str(path).encode()
        is_there = path.is_file() or path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:    # no such home, a loop of links, no text, no way into it
        detail = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(Said("error-path-odd", path=ascii(str(path)), detail=detail), field="path") from error
    if not is_there:
        raise InvalidInput(Said("error-no-file", path=str(path)), field="path")
    return path


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "model"


# -- of a row ----------------------------------------------------------------------------------------------------------


def spec_from(model: Model) -> ModelSpec:
    settings = ModelSettings.of(model)
    adapters = tuple(Adapter(Path(each["path"]), each["scale"]) for each in model.adapters)
    return ModelSpec(
        model.id, model.name, Path(model.path), version_of(model), adapters,
        chat_template=settings.chat_template, own_limits=settings.own_limits,
    )


def version_of(model: Model) -> str:
    """Exactly which content, for the answers that it writes: by commit or hash where one is known. Of one elsewhere,
    what its server calls it.
    """
    if model.is_elsewhere:
        return str(model.origin.get("name", model.id))
    path, origin = Path(model.path), Origin.from_values(model.origin)
    content = f"{model.size_bytes} bytes, {model.modified_ns}"
    known = f"{path.name}, {content}" if model.repo else (
        f"{origin.name.rpartition('/')[2] or path.name}, {origin.pin or content}"
    )
    return "".join((
        f"{model.repo} at {model.commit_sha}, " if model.repo else "",
        known,
        *(
            f"; {Path(each['path']).name} at {each['scale']}, {each['size_bytes']} bytes, {each['modified_ns']}"
            for each in model.adapters
        ),
        "; a chat template of its own" if ModelSettings.of(model).chat_template else "",
    ))


def version_in_words(version: str) -> str:
    """What `version_of` told, for people: when a file was changed as a moment, a commit or hash by its beginning."""
    def dated(found: re.Match[str]) -> str:
        at = datetime.fromtimestamp(int(found[2]) // 10**9, UTC)
        return f"{size(int(found[1]))} of {at:%Y-%m-%d %H:%M} UTC"

    return _HASH.sub(lambda found: found[1], _CONTENT.sub(dated, version))


def problem_of(model: Model) -> str:
    """With its files, as they lie there now."""
    if model.is_elsewhere:
        return ""
    missing = missing_of(model)
    if missing is None:
        return ""
    origin = Origin.from_values(model.origin)
    if origin.app:
        return Said("error-files-gone-of-app", path=str(missing), app=origin.app)
    return Said("error-files-gone", path=str(missing))


def missing_of(model: Model) -> Path | None:
    """The first of its files that is none now: gone, or a folder or pipe in its place. Of a folder without any, that.
    """
    files = paths_of(model)
    return next((path for path in files if not is_file(path)), None) if files else Path(model.path)


def as_model(model: Model, facts: dict[str, Any]) -> Model:
    """The model as it was, or will be, of these facts: see `store.models.FACTS`."""
    return Model(id=model.id, name=model.name, settings=model.settings, **facts)


def is_replaced(model: Model) -> bool:
    try:
        size_bytes, modified_ns = _stamp(Path(model.path))
    except OSError:
        return False                # the loader says what is wrong
    return (size_bytes, modified_ns) != (model.size_bytes, model.modified_ns)


def _stamp(path: Path) -> tuple[int, int]:
    """Bytes of all files with weights, last change of all that belong to it. Raises OSError."""
    stats = {file: file.stat() for file in files_of(path)}
    if not stats:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    is_folder = path.is_dir()
    size_bytes = sum(stat.st_size for file, stat in stats.items() if not is_folder or file.suffix == ENDING)
    return size_bytes, max(stat.st_mtime_ns for stat in stats.values())


def paths_of(model: Model) -> list[Path]:
    """The model's files, and those of its adapters."""
    files = [Path(each["path"]) for each in model.files] or files_of(Path(model.path))
    return [*files, *(Path(each["path"]) for each in model.adapters)]


def size_on_disk(listed: Sequence[Model]) -> int:
    """In bytes; a file that several models use counts once."""
    sizes = {model.path: model.size_bytes for model in listed}
    for model in listed:
        sizes |= {each["path"]: each["size_bytes"] for each in model.adapters}
    return sum(sizes.values())


def delete_files(paths: Iterable[Path], root: Path) -> None:
    """And the folders below `root` that are empty then."""
    root = root.resolve()
    for path in paths:
        if not path.is_relative_to(root):
            continue
        path.unlink(missing_ok=True)
        with suppress(OSError):         # not empty, or gone already
            for folder in path.parents:
                if folder == root or not folder.is_relative_to(root):
                    break
                folder.rmdir()
