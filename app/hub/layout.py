"""Where a model's files go: a folder of Inglenook's own, or the cache that Hugging Face's tools share. Any thread.

Own:     <models>/<owner>/<repository>/<commit>/<name>
Shared:  <cache>/models--<owner>--<repository>/{blobs/<etag>, snapshots/<commit>/<name> -> blob, refs/main}

A file on its way is `….part` beside its place, so that the last step is a rename within one volume.
"""

from __future__ import annotations

import hashlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from app.hub.client import check_repo
from app.hub.files import RemoteFile
from app.hub.names import safe_component, safe_paths

LayoutName = Literal["own", "shared"]
PART_ENDING = ".part"
SHORT_COMMIT_CHARS = 12
OWNER_CHARS = 8


class Layout(ABC):
    """The places of one model's files. `root` is never left."""

    is_shared = False       # with other programs

    def __init__(self, root: Path, repo: str, commit_sha: str, files: Sequence[RemoteFile]) -> None:
        check_repo(repo)
        self.root = root
        self.repo = repo
        self.commit_sha = commit_sha
        self.files = tuple(files)

    @abstractmethod
    def place(self, file: RemoteFile) -> Path:
        """Where it lies once it is whole and checked."""

    @abstractmethod
    def part(self, file: RemoteFile) -> Path:
        """Where it lies until then."""

    @abstractmethod
    def is_placed(self, file: RemoteFile) -> bool:
        """Whether it is whole and checked already: only such files ever lie in their places."""

    @abstractmethod
    def put(self, file: RemoteFile) -> None:
        """Move a checked file from its part to its place; at once, or not at all."""

    def blob(self, file: RemoteFile) -> Path | None:
        """The same content, brought by another program or for another commit. It is to be checked like a part."""
        return None

    def remove(self, file: RemoteFile) -> None:
        """What has come of it, if it is not in its place."""
        self.part(file).unlink(missing_ok=True)
        journal_of(self.part(file)).unlink(missing_ok=True)

    def remove_empty_folders(self) -> None:
        for file in self.files:
            remove_empty_folders(self.part(file).parent, self.root)

    def _inside(self, path: Path) -> Path:
        if not path.is_relative_to(self.root) or ".." in path.parts:
            raise ValueError(f"{path} is not below {self.root}")
        return path


class OwnLayout(Layout):
    def __init__(self, root: Path, repo: str, commit_sha: str, files: Sequence[RemoteFile]) -> None:
        super().__init__(root, repo, commit_sha, files)
        owner, name = repo.split("/")
        self._folder = root / safe_component(owner) / safe_component(name) / commit_sha[:SHORT_COMMIT_CHARS]
        self._paths = safe_paths(file.name for file in files)

    def place(self, file: RemoteFile) -> Path:
        return self._inside(self._folder / self._paths[file.name])

    def part(self, file: RemoteFile) -> Path:
        place = self.place(file)
        return place.with_name(place.name + PART_ENDING)

    def is_placed(self, file: RemoteFile) -> bool:
        return _has_size(self.place(file), file.size_bytes)

    def put(self, file: RemoteFile) -> None:
        _move(self.part(file), self.place(file))


class SharedLayout(Layout):
    """As huggingface_hub reads and writes it. Names stay as they are at the hub: its tools look for those.

    `owner` tells apart the parts of several Inglenooks, each with a data folder of its own: two that wrote into one
    would leave what neither has checked.
    """

    is_shared = True

    def __init__(
        self, root: Path, repo: str, commit_sha: str, files: Sequence[RemoteFile], owner: str = ""
    ) -> None:
        super().__init__(root, repo, commit_sha, files)
        self._owner = hashlib.sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:OWNER_CHARS]
        safe_paths(file.name for file in files)         # for its ValueError
        self._folder = root / f"models--{repo.replace('/', '--')}"

    def place(self, file: RemoteFile) -> Path:
        name = file.name
        if sys.platform == "win32":
            name = safe_paths(each.name for each in self.files)[name]
        return self._inside(self._folder / "snapshots" / self.commit_sha / name)

    def part(self, file: RemoteFile) -> Path:
        return self._inside(self._folder / "blobs" / f"{file.etag}.inglenook-{self._owner}{PART_ENDING}")

    def is_placed(self, file: RemoteFile) -> bool:
        return _has_size(self.place(file), file.size_bytes)

    def put(self, file: RemoteFile) -> None:
        """A link to the blob; where the system knows no links, the file itself, as the library does it."""
        blob, place = self._blob(file), self.place(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.part(file).exists():
            _move(self.part(file), blob)
        with suppress(FileNotFoundError):
            place.unlink()
        try:
            place.symlink_to(os.path.relpath(blob, place.parent))
        except OSError:
            _move(blob, place)
        self._note_revision()

    def blob(self, file: RemoteFile) -> Path | None:
        """The cache keeps one content once."""
        return blob if _has_size(blob := self._blob(file), file.size_bytes) else None

    def _blob(self, file: RemoteFile) -> Path:
        return self._inside(self._folder / "blobs" / file.etag)

    def _note_revision(self) -> None:
        """`main` is what was asked for, so that other tools find this commit offline."""
        reference = self._folder / "refs" / "main"
        reference.parent.mkdir(parents=True, exist_ok=True)
        draft = reference.with_name(f"main{PART_ENDING}")
        draft.unlink(missing_ok=True)           # as well a pipe, which would keep us for ever
        draft.write_text(self.commit_sha, encoding="ascii")
        draft.replace(reference)


def layout_of(
    name: str, *, models_dir: Path, cache_dir: Path, repo: str, commit_sha: str, files: Sequence[RemoteFile],
    owner: str = "",
) -> Layout:
    """`owner` of parts in the shared cache; "": who has this models folder."""
    if name == "shared":
        return SharedLayout(cache_dir, repo, commit_sha, files, owner=owner or str(models_dir))
    return OwnLayout(models_dir, repo, commit_sha, files)


def journal_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def remove_empty_folders(folder: Path, root: Path) -> None:
    """From `folder` upwards, as long as there is nothing in them; `root` stays."""
    while folder != root and folder.is_relative_to(root):
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:             # not empty
            return
        folder = folder.parent


def sync_folder(folder: Path) -> None:
    """So that a rename outlives a power cut. Windows has no such thing, and does it by itself."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _move(part: Path, place: Path) -> None:
    """The journal goes last: without its part it says nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    part.replace(place)
    sync_folder(place.parent)
    journal_of(part).unlink(missing_ok=True)


def _has_size(path: Path, size_bytes: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size_bytes
    except OSError:
        return False
