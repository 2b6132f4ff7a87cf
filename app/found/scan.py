"""All models of other apps on this machine. Called by `app.services.found_models`, on another thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from app.found import hugging_face, jan, lm_studio, ollama
from app.found.model import Found
from app.language import Said

MAX_FOUND = 5000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders in which to look, by app; those that are not there are passed over."""

    hugging_face: tuple[Path, ...] = ()
    ollama: tuple[Path, ...] = ()
    lm_studio: tuple[Path, ...] = ()
    jan: tuple[Path, ...] = ()


def scan(places: Places) -> list[Found]:
    """By app and name. A folder that may not be read is passed over."""
    rounds: tuple[tuple[tuple[Path, ...], Callable[[Path], Iterator[Found]]], ...] = (
        (places.hugging_face, hugging_face.find),
        (places.ollama, ollama.find),
        (places.lm_studio, lm_studio.find),
        (places.jan, jan.find),
    )
    found: dict[tuple[str, str, Path], Found] = {}
    for folders, find in rounds:
        for folder in folders:
            try:
                if folder.is_dir():
                    found |= {(each.app, each.name, each.path): each for each in map(_in_text, find(folder))}
            except OSError as error:
                log.info("a folder of another app could not be read", folder=str(folder), reason=str(error))
    return sorted(found.values(), key=lambda each: (each.app, each.name.lower(), str(each.path)))[:MAX_FOUND]


def _in_text(found: Found) -> Found:
    """A name that is no text, which the disk of a Unix may hold, can be neither shown nor kept: it is told."""
    try:
        f"{found.name}{found.path}".encode()
    except UnicodeEncodeError as error:
        name = found.name.encode(errors="backslashreplace").decode()
        problem = Said("error-path-odd", path=ascii(str(found.path)), detail=error.reason)
        return replace(found, name=name, problem=problem)
    return found
