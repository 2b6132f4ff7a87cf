"""What a safetensors model says about itself: one file, or several with an index, and the JSON files beside them.

Called where models are judged, on any thread: it takes milliseconds, and at most 2 s and 200 MB. Files named `.bin` are
never opened.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ModelLoadError
from engine.gguf_reader import gone
from engine.json_pieces import JsonPieces
from engine.safetensors_reader import Budget, RawHeader, read_raw_header
from engine.tokenizer_config import spelling_of, template_in
from engine.told import Told

INDEX_NAME = "model.safetensors.index.json"
ENDING = ".safetensors"

_MAX_PARTS = 1000
_MAX_INDEX_BYTES = 24 << 20
_MAX_SIDE_FILE_BYTES = 2 << 20
_MAX_CONTEXT_TOKENS = 1 << 30
_MAX_TEMPLATE_BYTES = 1 << 18
_PART_NAME = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.safetensors", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetensorsHeader:
    """One model, however many files it has."""

    path: Path                          # of its folder, or of its only file where nothing stands beside that
    part_paths: tuple[Path, ...]
    architecture: str                   # "qwen3"; "" where no config.json says it
    quantisation: str                   # the type that most of its weights have: "BF16"
    context_length: int                 # tokens it was trained for; 0 where nothing says it
    weight_bytes: int
    file_bytes: int
    has_tokenizer: bool
    chat_template: str | None
    special_tokens: tuple[str, ...]     # as its tokenizer spells them
    bos_token: str
    eos_token: str


def read_safetensors(path: Path) -> SafetensorsHeader:
    """Of a folder, or of a file in one. Raises ModelLoadError with what is wrong, and what to do."""
    folder = path if path.is_dir() else path.parent
    budget = Budget()
    part_paths, places = _parts(path, folder)
    parts = [_read_part(part_path, places, budget) for part_path in part_paths]
    tensors = [tensor for part in parts for tensor in part.tensors]
    if not tensors:
        raise ModelLoadError(Told("file-no-weights", file=path.name))
    if len(parts) > 1 and len({tensor.name for tensor in tensors}) < len(tensors):
        raise ModelLoadError(Told("file-tensor-twice", file=path.name))
    num_bytes: Counter[str] = Counter()
    for tensor in tensors:
        num_bytes[tensor.dtype] += tensor.num_bytes
    config = _side_file(folder / "config.json")
    tokenizer = _side_file(folder / "tokenizer_config.json")
    return SafetensorsHeader(
        path=path,
        part_paths=part_paths,
        architecture=_text(config, "model_type"),
        quantisation=num_bytes.most_common(1)[0][0],
        context_length=_context_length(config),
        weight_bytes=sum(tensor.num_bytes for tensor in tensors),
        file_bytes=sum(part.file_bytes for part in parts),
        has_tokenizer=any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model")),
        chat_template=_chat_template(folder, tokenizer),
        special_tokens=_special_tokens(tokenizer),
        bos_token=spelling_of(tokenizer.get("bos_token")),
        eos_token=spelling_of(tokenizer.get("eos_token")),
    )


# -- its files ---------------------------------------------------------------------------------------------------------


def _parts(path: Path, folder: Path) -> tuple[tuple[Path, ...], Mapping[str, str] | None]:
    """All files of the model, in order, and by its index which tensor lies where. None: it has no index."""
    named = None if path.is_dir() else _PART_NAME.fullmatch(path.name)
    index = folder / INDEX_NAME
    if (path.is_dir() or named) and index.is_file():
        places = _read_index(index)
        return _all_there(folder, sorted(set(places.values()))), places
    if named is not None:
        num_parts = _checked_count(path.name, int(named["parts"]))
        names = [f"{named['stem']}-{number:05}-of-{num_parts:05}{ENDING}" for number in range(1, num_parts + 1)]
        return _all_there(folder, names), None
    if not path.is_dir():
        return (path,), None
    files = sorted(file for file in folder.glob(f"*{ENDING}") if not file.name.startswith("."))[: _MAX_PARTS + 1]
    if not files:
        raise ModelLoadError(Told("folder-no-safetensors", folder=path.name))
    if (first := _PART_NAME.fullmatch(files[0].name)) is not None:
        return _parts(folder / first[0], folder)
    if len(files) > 1:
        raise ModelLoadError(Told("folder-several-models", folder=path.name, file=files[0].name))
    return (files[0],), None


def _all_there(folder: Path, names: list[str]) -> tuple[Path, ...]:
    _checked_count(folder.name, len(names))
    for name in names:
        if (named := _PART_NAME.fullmatch(name)) is not None and int(named["parts"]) != len(names):
            raise ModelLoadError(
                Told("file-parts-count", file=name, count=int(named["parts"]), there=len(names))
            )
    paths = tuple(folder / name for name in names)
    for number, path in enumerate(paths, 1):
        if not path.is_file():
            raise ModelLoadError(Told(
                "file-part-missing", number=number, count=len(paths), file=path.name,
            ))
    return paths


def _checked_count(name: str, num_parts: int) -> int:
    if not 0 < num_parts <= _MAX_PARTS:
        raise ModelLoadError(Told("file-many-parts", file=name, count=num_parts, most=_MAX_PARTS))
    return num_parts


def _read_index(path: Path) -> dict[str, str]:
    """File by tensor. Names of files that lead out of the folder are refused."""
    json_text = JsonPieces(path.name, _bounded_bytes(path, _MAX_INDEX_BYTES))
    files: dict[str, str] = {}
    places: dict[str, str] = {}
    seen: set[str] = set()
    for key in json_text.entries("the index"):
        if key in seen:
            json_text.refuse(f"has {key!r} twice")
        seen.add(key)
        if key != "weight_map":
            json_text.flat_object(repr(key))
            continue
        for tensor in json_text.entries("the index"):
            if tensor in places:
                json_text.refuse(f"has the tensor {tensor!r} twice")
            file = json_text.text(f"the file of {tensor!r}")
            if not _is_good_name(file):
                json_text.refuse(f"names {file[:100]!r}, which is no file of this folder")
            places[tensor] = files.setdefault(file, file)
            if len(places) > Budget().tensors or len(files) > _MAX_PARTS:
                json_text.refuse("lists more than any model has")
    json_text.end()
    if not places:
        json_text.refuse("lists no tensors")
    return places


def _is_good_name(name: str) -> bool:
    return name.endswith(ENDING) and name.isprintable() and not {"/", "\\", ":"} & set(name) and len(name) < 200


def _read_part(path: Path, places: Mapping[str, str] | None, budget: Budget) -> RawHeader:
    raw = read_raw_header(path, budget)
    if places is not None:
        astray = next((tensor.name for tensor in raw.tensors if places.get(tensor.name) != path.name), None)
        if astray is not None:
            raise ModelLoadError(Told("file-tensor-astray", file=path.name, tensor=repr(astray)))
    return raw


# -- the JSON files beside them ----------------------------------------------------------------------------------------


def _bounded_bytes(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError as error:
        raise gone(path) from error
    except (OSError, ValueError) as error:
        raise ModelLoadError(Told("file-unreadable", path=str(path), detail=str(error))) from error
    if len(content) > limit:
        raise ModelLoadError(Told("file-too-large", file=path.name, size=limit >> 20))
    return content


def _side_file(path: Path) -> dict[str, Any]:
    """Empty where there is none."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(_bounded_bytes(path, _MAX_SIDE_FILE_BYTES))
    except (ValueError, RecursionError) as error:
        raise ModelLoadError(Told("file-no-json", file=path.name)) from error
    return content if isinstance(content, dict) else {}


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return value[:200] if isinstance(value, str) else ""


def _context_length(config: dict[str, Any]) -> int:
    inner = config.get("text_config")
    for each in (config, inner if isinstance(inner, dict) else {}):
        value = each.get("max_position_embeddings")
        if isinstance(value, int) and 0 < value <= _MAX_CONTEXT_TOKENS:
            return value
    return 0


def _chat_template(folder: Path, tokenizer: dict[str, Any]) -> str | None:
    """A file of its own, or in the tokenizer's."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return _bounded_bytes(file, _MAX_TEMPLATE_BYTES).decode("utf-8", "replace")
    return template_in(tokenizer)


def _special_tokens(tokenizer: dict[str, Any]) -> tuple[str, ...]:
    added = tokenizer.get("added_tokens_decoder")
    tokens = added.values() if isinstance(added, dict) else ()
    return tuple(spelling for token in tokens if (spelling := spelling_of(token)))
