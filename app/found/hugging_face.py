"""Models in the cache that Hugging Face's tools share.

    <cache>/models--<owner>--<repository>/{refs/main, snapshots/<commit>/<name> -> ../../blobs/<hash>}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from app.errors import said_by_engine
from app.found.model import Found, below, found_gguf, one_by_one
from app.language import Said
from engine.errors import ModelLoadError
from engine.select import select_backend
from engine.told import Told

APP = "Hugging Face"

_COMMIT = re.compile(r"[0-9a-f]{40}")


def find(cache: Path) -> Iterator[Found]:
    return one_by_one(sorted(cache.glob("models--*")), _in_repository)


def _in_repository(folder: Path) -> Iterator[Found]:
    repo = folder.name.removeprefix("models--").replace("--", "/")
    seen: set[str] = set()
    for snapshot in _newest_first(folder):
        for found in _in_snapshot(repo, snapshot):
            if found.name not in seen:
                seen.add(found.name)
                yield found


def _newest_first(folder: Path) -> list[Path]:
    """The one that `main` names, then by age: older ones hold what was downloaded before."""
    snapshots = [path for path in (folder / "snapshots").glob("*") if _COMMIT.fullmatch(path.name) and path.is_dir()]
    ref = folder / "refs" / "main"
    main = _beginning(ref) if ref.is_file() else ""
    return sorted(snapshots, key=lambda path: (path.name != main, -path.stat().st_mtime))


def _beginning(ref: Path) -> str:
    with ref.open("rb") as file:
        return file.read(40).decode("ascii", "replace")


def _in_snapshot(repo: str, snapshot: Path) -> Iterator[Found]:
    pin = f"{repo}@{snapshot.name}"
    for path in below(snapshot, "*.gguf"):
        if found := found_gguf(APP, f"{repo}/{path.relative_to(snapshot).as_posix()}", path, pin):
            yield found
    if weights := [path for path in snapshot.glob("*.safetensors") if path.is_file()]:
        size_bytes = sum(path.stat().st_size for path in weights)
        yield Found(app=APP, name=repo, path=snapshot, size_bytes=size_bytes, pin=pin, problem=_problem(snapshot))


def _problem(snapshot: Path) -> str:
    """Whether it is whole is looked at when it is added."""
    try:
        select_backend(snapshot)
    except ModelLoadError as error:
        told = error.sentence
        it = Said("found-it")
        return said_by_engine(told, file=it) if isinstance(told, Told) else Said("found-unfit", detail=told)
    return ""
