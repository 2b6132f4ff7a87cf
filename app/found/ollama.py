"""Models in Ollama's store: a manifest a model, whose layers are files named by their hash. The one of the weights is a
GGUF, used in place; its chat template is the file's own, for the one in the manifest is in another language than ours.

    <store>/manifests/<registry>/<owner>/<model>/<tag>, <store>/blobs/sha256-<hash>
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.found.model import Found, below, one_by_one
from app.language import Said

APP = "Ollama"

_MAX_MANIFEST_BYTES = 1 << 20
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")          # nothing else: it becomes a path
_WEIGHTS, _ADAPTER, _TENSOR = (f"application/vnd.ollama.image.{kind}" for kind in ("model", "adapter", "tensor"))
_OWN_REGISTRY, _OWN_OWNER = "registry.ollama.ai", "library"


def find(store: Path) -> Iterator[Found]:
    manifests = store / "manifests"

    def look(path: Path) -> Iterator[Found]:
        names = path.relative_to(manifests).parts
        if len(names) >= 3 and (layers := _layers(path)):
            yield _found(_name(names), layers, store / "blobs")

    return one_by_one(below(manifests, "*"), look)


def _name(names: tuple[str, ...]) -> str:
    """As `ollama list` shows it."""
    *owners, model, tag = names
    if owners[0] == _OWN_REGISTRY:
        owners = [] if owners[1:] == [_OWN_OWNER] else owners[1:]
    return f"{'/'.join((*owners, model))}:{tag}"


def _layers(path: Path) -> list[dict[str, Any]]:
    if path.stat().st_size > _MAX_MANIFEST_BYTES:
        return []
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return []
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    return [layer for layer in layers if isinstance(layer, dict)] if isinstance(layers, list) else []


def _found(name: str, layers: list[dict[str, Any]], blobs: Path) -> Found:
    weights = [layer for layer in layers if layer.get("mediaType") == _WEIGHTS]
    digest = _DIGEST.fullmatch(str(weights[0].get("digest"))) if len(weights) == 1 else None
    if digest is None:
        return Found(app=APP, name=name, path=blobs, size_bytes=0, problem=Said("found-no-gguf"))
    path = blobs / f"sha256-{digest[1]}"
    problem = "" if path.is_file() else Said("found-not-whole", app=APP)
    if any(layer.get("mediaType") == _ADAPTER for layer in layers):
        problem = problem or Said("found-adapter")
    size_bytes = path.stat().st_size if path.is_file() else 0
    return Found(app=APP, name=name, path=path, size_bytes=size_bytes, pin=digest[0], problem=problem)
