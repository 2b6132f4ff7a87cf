"""Models in LM Studio's folder: `<home>/models/<publisher>/<model>/<file>.gguf`, or where its settings have moved it.

    <home>/settings.json: {"downloadsFolder": "/big/disk/models", …}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from app.found.model import Found, below, found_gguf

APP = "LM Studio"

_MAX_SETTINGS_BYTES = 1 << 20


def find(home: Path) -> Iterator[Found]:
    """Of the old folder too: what was not taken along lies there."""
    for folder in dict.fromkeys((home / "models", _moved_to(home) or home / "models")):
        for path in below(folder, "*.gguf"):
            if found := found_gguf(APP, path.relative_to(folder).as_posix(), path):
                yield found


def _moved_to(home: Path) -> Path | None:
    settings = home / "settings.json"
    if not settings.is_file() or settings.stat().st_size > _MAX_SETTINGS_BYTES:
        return None
    try:
        named = json.loads(settings.read_bytes()).get("downloadsFolder")
    except (ValueError, AttributeError, RecursionError):        # no JSON, or no object
        return None
    if not isinstance(named, str) or "\0" in named:
        return None
    folder = Path(named)
    return folder if folder.is_absolute() and folder.is_dir() else None
