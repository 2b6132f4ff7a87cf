"""What becomes of a model's files and chats when it is removed: told before and after, on the page and by the command
line. A value, made by `ModelService` from what lies on the disk at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.language import Said
from app.services.model_facts import paths_of
from app.services.model_origin import Origin
from store.tables import Model


@dataclass(frozen=True, slots=True)
class Removal:
    deleted: tuple[Path, ...]       # in the models folder, and no other model's
    kept: Path | None               # the model's own file, where it is there and stays
    app: str                        # whose it is, too; "": no other program's
    num_chats: int                  # that would go on with it

    @property
    def sentences(self) -> list[Said]:
        told = []
        if self.deleted:
            told.append(Said("model-remove-files", files=", ".join(path.name for path in self.deleted)))
        if self.kept is not None and self.app:
            told.append(Said("model-remove-kept-of-app", path=str(self.kept), app=self.app))
        elif self.kept is not None:
            told.append(Said("model-remove-kept", path=str(self.kept)))
        elif not self.deleted:
            told.append(Said("model-remove-gone"))
        if self.num_chats:
            told.append(Said("model-remove-chats", count=self.num_chats))
        return told


def removal_of(
    model: Model, versions: Sequence[Model], others: Sequence[Model], models_dir: Path, num_chats: int
) -> Removal:
    """Looks at the disk. What is gone already goes with nobody."""
    needed = {path for each in others for path in paths_of(each)}
    folder = models_dir.resolve()
    paths = dict.fromkeys(path for each in (model, *versions) for path in paths_of(each))
    ours = tuple(
        path for path in paths if path.is_relative_to(folder) and path not in needed and _is_there(path)
    )
    own = Path(model.path)
    return Removal(
        deleted=ours, kept=own if own not in ours and _stays(own, ours) else None,
        app=Origin.from_values(model.origin).app, num_chats=num_chats,
    )


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _stays(own: Path, ours: Sequence[Path]) -> bool:
    """A folder of files that all go is empty then, and goes too."""
    return _is_there(own) and not (own.is_dir() and any(path.is_relative_to(own) for path in ours))
