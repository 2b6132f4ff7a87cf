"""When the data folder has moved, the files in it have too. Called by `app.services.container`, as the store is opened.

The store knows where each model's files lie; those that were brought from elsewhere stay where they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy.orm.attributes import flag_modified
from sqlmodel import Session, select

from store.settings import get_of_system, set_of_system
from store.tables import Model, ModelVersion

FOLDER_KEY = "data_folder"          # of the system's settings: where it was when the store was last opened


def has_moved(session: Session, folder: Path) -> bool:
    """Whether there is something to follow, or to note for the first time. `folder` is resolved."""
    return bool(get_of_system(session, FOLDER_KEY) != str(folder))


def follow(session: Session, folder: Path) -> int:
    """How many models and versions of them lead to another place now."""
    before = get_of_system(session, FOLDER_KEY)
    set_of_system(session, FOLDER_KEY, str(folder))
    if not isinstance(before, str):
        return 0
    num_moved = 0
    for model in session.exec(select(Model)):
        known = {"path": model.path, "adapters": model.adapters, "files": model.files}
        if (moved := _moved(known, Path(before), folder)) != known:
            model.path, model.adapters, model.files = moved["path"], moved["adapters"], moved["files"]
            num_moved += 1
    for version in session.exec(select(ModelVersion)):
        if (moved := _moved(version.facts, Path(before), folder)) != version.facts:
            version.facts = moved
            flag_modified(version, "facts")
            num_moved += 1
    return num_moved


def _moved(value: Any, before: Path, now: Path) -> Any:
    """The same, with each path below `before` of a file that is below `now` as well."""
    match value:
        case dict():
            return {key: _path(each, before, now) if key == "path" else _moved(each, before, now)
                    for key, each in value.items()}
        case list():
            return [_moved(each, before, now) for each in value]
    return value


def _path(path: Any, before: Path, now: Path) -> Any:
    if not isinstance(path, str) or not Path(path).is_relative_to(before):
        return path
    there = now / Path(path).relative_to(before)
    return str(there) if there.exists() else path
