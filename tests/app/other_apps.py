"""Folders as other apps leave them, with tiny models in."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.engine.tiny_gguf import write_tiny_gguf

COMMIT, OLDER_COMMIT = "c" * 40, "a" * 40


def put_in_hub_cache(cache: Path, repo: str, name: str, *, commit: str = COMMIT, seed: int = 0) -> Path:
    """As `huggingface_hub` does: a blob, and a link to it. The link."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    blob = write_tiny_gguf(_made(folder / "blobs") / f"blob-{seed}", seed=seed)
    link = _made((folder / "snapshots" / commit / name).parent) / Path(name).name
    link.symlink_to(blob)
    (_made(folder / "refs") / "main").write_text(commit)
    return link


def put_in_ollama(store: Path, names: str = "registry.ollama.ai/library/tiny/latest", *, seed: int = 0) -> Path:
    """The blob."""
    content = write_tiny_gguf(_made(store / "blobs") / "written", seed=seed)
    digest = hashlib.sha256(content.read_bytes()).hexdigest()
    blob = content.rename(store / "blobs" / f"sha256-{digest}")
    write_manifest(store, names, [("application/vnd.ollama.image.model", f"sha256:{digest}")])
    return blob


def write_manifest(store: Path, names: str, layers: list[tuple[str, str]]) -> None:
    path = store / "manifests" / names
    _made(path.parent)
    template = ("application/vnd.ollama.image.template", f"sha256:{'e' * 64}")
    path.write_text(json.dumps({
        "schemaVersion": 2,
        "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "digest": f"sha256:{'d' * 64}"},
        "layers": [{"mediaType": kind, "digest": digest, "size": 1} for kind, digest in (*layers, template)],
    }))


def put_in_lm_studio(home: Path, name: str = "infra/ocelot/ocelot-q4.gguf", *, seed: int = 0) -> Path:
    path = home / "models" / name
    _made(path.parent)
    return write_tiny_gguf(path, seed=seed)


def put_in_jan(data: Path, model_id: str = "org/tiny", *, path: str = "", seed: int = 0) -> Path:
    folder = _made(data / "llamacpp" / "models" / model_id)
    file = data / (path or f"llamacpp/models/{model_id}/model.gguf")
    (folder / "model.yml").write_text(
        f"# by hand\nembedding: false\nname: {model_id}\n"
        f"model_path: {path or f'llamacpp/models/{model_id}/model.gguf'}\n"
        "size_bytes: 64\nnested:\n  model_path: /etc/passwd\n"
    )
    _made(file.parent)
    return write_tiny_gguf(file, seed=seed)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
