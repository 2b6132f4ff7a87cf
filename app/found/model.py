"""A model of another app's, as it is found on the disk: a value. Nothing there is ever changed, copied or deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import structlog

from app.language import Said
from engine.gguf import is_beside_a_model, parts_by_name

T = TypeVar("T")

MAX_ENTRIES = 20_000            # of one folder and all below it; a scan of a strange disk ends


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    app: str
    name: str                   # as it is called there
    path: Path                  # its file, or the first of several, or the folder of a safetensors model
    size_bytes: int
    pin: str = ""               # see `app.services.model_origin.Origin`
    problem: str = ""           # why it cannot be used: a sentence for a person


def found_gguf(app: str, name: str, path: Path, pin: str = "") -> Found | None:
    """None for what is no model of its own: a later part, or a file beside a model, such as the one that reads images.
    """
    parts = parts_by_name(path)
    if path != parts[0] or is_beside_a_model(path.name):
        return None
    missing = next((part for part in parts if not part.is_file()), None)
    size_bytes = sum(part.stat().st_size for part in parts if part != missing and part.is_file())
    problem = Said("found-part-missing", file=missing.name) if missing else ""
    return Found(app=app, name=name, path=path, size_bytes=size_bytes, pin=pin, problem=problem)


def below(folder: Path, pattern: str) -> Iterator[Path]:
    """Files, in order of their paths, without ends of links that lead in circles."""
    return iter(sorted(islice(filter(is_file, folder.rglob(pattern)), MAX_ENTRIES)))


def is_file(path: Path) -> bool:
    """False also for what the system does not take as a path: others write what they like into their settings."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def one_by_one(entries: Iterable[T], look: Callable[[T], Iterable[Found]]) -> Iterator[Found]:
    """What is found in each. One that cannot be read costs no other."""
    for entry in entries:
        try:
            yield from list(look(entry))
        except OSError as error:
            log.info("a model of another app could not be read", entry=str(entry), reason=str(error))
