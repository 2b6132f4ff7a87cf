"""What a repository at the hub holds, as a person chooses from it: its files grouped into models. Pure functions.

A split GGUF and a sharded safetensors are one choice each. Pickles are none, for loading one may run anything in it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from app.errors import InvalidInput, NotFound
from app.language import Said
from engine.gguf import is_beside_a_model

DEFAULT_QUANTISATIONS = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q5_K_M", "Q6_K", "Q8_0")      # the first that there is
MAX_NAME_CHARS = 512
_MAX_LISTED = 30

_PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})(?P<ending>\.gguf|\.safetensors)", re.DOTALL)
_QUANTISATION = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:I?Q\d(?:_[A-Z0-9]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|FP16|F32|FP32))(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_BESIDE_WEIGHTS = (".json", ".jinja", ".txt", ".model", ".tiktoken")       # what a safetensors model needs to be read


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """One file of one commit. `sha256` of what lies in large-file storage; of the rest Git's own SHA-1 of a blob."""

    name: str                       # its path in the repository
    size_bytes: int
    sha256: str = ""
    git_oid: str = ""

    @property
    def etag(self) -> str:
        """As the hub tells it, and as the shared cache calls the file."""
        return self.sha256 or self.git_oid

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One model of a repository, to be taken whole."""

    label: str                      # "Q4_K_M", "safetensors", or a name that tells it from the others
    file_format: str                # "gguf", "safetensors"
    files: tuple[RemoteFile, ...]   # the first is the one to load
    missing: tuple[str, ...] = ()   # parts that should be there

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def weight_files(self) -> tuple[RemoteFile, ...]:
        return tuple(file for file in self.files if file.name.lower().endswith((".gguf", ".safetensors")))

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.label, "file_format": self.file_format, "size_bytes": self.size_bytes,
            "files": [file.name for file in self.files], "missing": list(self.missing),
        }


def variants_of(files: Iterable[RemoteFile]) -> tuple[Variant, ...]:
    """Smallest first. Each label stands for one."""
    named = {file.name: file for file in files if is_good_name(file.name)}
    groups: dict[tuple[str, str, str], list[RemoteFile]] = defaultdict(list)
    for file in named.values():
        if (group := _group_of(file.name)) is not None:
            groups[group].append(file)
    found = [_variant(group, members, named.values()) for group, members in groups.items()]
    return tuple(sorted(_with_own_labels(found), key=lambda each: (each.size_bytes, each.files[0].name)))


def is_good_name(name: str) -> bool:
    """Whether a name from the hub can be a file inside a folder of ours, once it is made safe. No way out of it."""
    parts = name.split("/")
    return (
        0 < len(name) <= MAX_NAME_CHARS
        and not any(part in ("", ".", "..") for part in parts)
        and not any(ord(char) < 32 or char == "\\" or "\ud800" <= char <= "\udfff" for char in name)
        and ":" not in parts[0]
    )


def choose(variants: Sequence[Variant], wanted: str, repo: str) -> Variant:
    """By a label or a file's name; "" is the one that most people take. Raises NotFound or InvalidInput that name
    what there is.
    """
    if not variants:
        raise NotFound(Said("hub-no-model-file", repo=repo))
    if not wanted:
        return _usual(variants)
    by_file = [each for each in variants if any(file.name == wanted for file in each.files)]
    by_label = [each for each in variants if each.label.casefold() == wanted.casefold()]
    found = by_file or by_label
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.label for each in variants[:_MAX_LISTED])
    raise NotFound(Said("hub-no-variant", repo=repo, wanted=wanted[:200], known=known))


def is_usual(variant: Variant, variants: Sequence[Variant]) -> bool:
    """Whether it is the one that is taken where nobody says which."""
    return _usual(variants) == variant


def check_whole(variant: Variant, repo: str) -> None:
    """Raises InvalidInput that names a part which is not there."""
    if variant.missing:
        message = Said("hub-incomplete", repo=repo, file=variant.missing[0], more=len(variant.missing) - 1)
        raise InvalidInput(message, field="model")


def _usual(variants: Sequence[Variant]) -> Variant:
    for label in DEFAULT_QUANTISATIONS:
        for each in variants:
            if each.label.upper() == label and not each.missing:
                return each
    ggufs = [each for each in variants if each.file_format == "gguf"]
    return (ggufs or list(variants))[0]


def _group_of(name: str) -> tuple[str, str, str] | None:
    """Files of one model have equal ones: (format, stem, number of parts)."""
    lower = name.lower()
    ending = next((ending for ending in ("gguf", "safetensors") if lower.endswith(f".{ending}")), None)
    if ending is None or is_beside_a_model(name.rpartition("/")[2]):
        return None
    found = _PART.fullmatch(name)
    return (ending, found["stem"], found["parts"]) if found else (ending, name[: -len(ending) - 1], "")


def _variant(group: tuple[str, str, str], members: list[RemoteFile], everything: Iterable[RemoteFile]) -> Variant:
    file_format, stem, parts = group
    members.sort(key=lambda file: file.name)
    missing: tuple[str, ...] = ()
    if parts:
        ending = PurePosixPath(members[0].name).suffix
        there = {file.name for file in members}
        due = (f"{stem}-{number:05}-of-{parts}{ending}" for number in range(1, min(int(parts), 1000) + 1))
        missing = tuple(name for name in due if name not in there)
    beside = _beside(stem, everything) if file_format == "safetensors" else []
    return Variant(
        label=_label(stem, file_format), file_format=file_format, files=(*members, *beside), missing=missing
    )


def _beside(stem: str, everything: Iterable[RemoteFile]) -> list[RemoteFile]:
    folder = stem.rpartition("/")[0]
    return sorted(
        (
            file for file in everything
            if file.name.rpartition("/")[0] == folder and file.name.lower().endswith(_BESIDE_WEIGHTS)
        ),
        key=lambda file: file.name,
    )


def _label(stem: str, file_format: str) -> str:
    """The quantisation, as the file's name says it, or else its folder's."""
    if file_format == "safetensors":
        return "safetensors"
    for part in reversed(stem.split("/")):
        if found := _QUANTISATION.findall(part):
            return str(found[-1]).upper()
    return stem.rpartition("/")[2]


def _with_own_labels(variants: Sequence[Variant]) -> list[Variant]:
    counts: dict[str, int] = defaultdict(int)
    for each in variants:
        counts[each.label.casefold()] += 1
    return [
        each if counts[each.label.casefold()] == 1 else
        Variant(label=each.files[0].name, file_format=each.file_format, files=each.files, missing=each.missing)
        for each in variants
    ]
