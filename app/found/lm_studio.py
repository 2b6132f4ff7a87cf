"""Models in LM Studio's folder: `<home>/models/<publisher>/<model>/<file>.gguf`, or where its settings have moved it.

    <home>/settings.json: {"downloadsFolder": "/big/disk/models", …}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from app.found.model import Found, below, found_gguf, one_by_one
from engine.small_file import read_small

APP = "LM Studio"

_MAX_SETTINGS_BYTES = 1 << 20


def find(home: Path) -> Iterator[Found]:
    """Of the old folder too: what was not taken along lies there."""
    for folder in dict.fromkeys((home / "models", _moved_to(home) or home / "models")):
        yield from one_by_one(below(folder, "*.gguf"), partial(_look, folder))


def _look(folder: Path, path: Path) -> Iterator[Found]:
    if found := found_gguf(APP, path.relative_to(folder).as_posix(), path):
        yield found


def _moved_to(home: Path) -> Path | None:
    settings = home / "settings.json"
    try:
        folder = Path(json.loads(read_small(settings, _MAX_SETTINGS_BYTES)).get("downloadsFolder"))
        return folder if folder.is_absolute() and folder.is_dir() else None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):      # no JSON, no object, no path
        return None
