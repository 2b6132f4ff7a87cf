"""Models in LM Studio's folder: `<home>/models/<publisher>/<model>/<file>.gguf`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.found.model import Found, below, found_gguf

APP = "LM Studio"


def find(home: Path) -> Iterator[Found]:
    folder = home / "models"
    for path in below(folder, "*.gguf"):
        if found := found_gguf(APP, path.relative_to(folder).as_posix(), path):
            yield found
