"""Models in Jan's data folder: `<data>/llamacpp/models/<id>/model.yml`, which names the file; an id may have slashes.

Of the YAML only plain lines of the top level are read, `name: value`: there are no others in it that matter here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.found.model import Found, below, found_gguf, is_file, one_by_one
from app.language import Said

APP = "Jan"

_MAX_BYTES = 1 << 16


def find(data: Path) -> Iterator[Found]:
    folder = data / "llamacpp" / "models"

    def look(description: Path) -> Iterator[Found]:
        named = _values(description).get("model_path", "")
        if not named or "\0" in named:
            return
        path = data / named                     # a model that Jan uses in place has an absolute one
        name = description.parent.relative_to(folder).as_posix()
        if is_file(path):
            if found := found_gguf(APP, name, path):
                yield found
        else:
            yield Found(app=APP, name=name, path=path, size_bytes=0, problem=Said("found-gone", path=str(path)))

    return one_by_one(below(folder, "model.yml"), look)


def _values(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    pairs = (line.partition(":") for line in text.splitlines() if line[:1] not in (" ", "#", "-", ""))
    return {name.strip(): _plain(value) for name, _, value in pairs}


def _plain(value: str) -> str:
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
