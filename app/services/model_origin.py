"""Where a model comes from, and which version of it exactly: a value that is stored with it. Any thread.

What lies in the cache that Hugging Face's tools share, or in Ollama's store, says so by its path, hash included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUGGING_FACE, OLLAMA = "Hugging Face", "Ollama"

_COMMIT = re.compile(r"[0-9a-f]{40}")
_BLOB = re.compile(r"sha256-([0-9a-f]{64})")
_REPO = "models--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """`pin` names a content that never changes, by a commit or a hash; "" where only the file's own facts tell it."""

    app: str = ""                # the program that brought it, or the hub; "": a person
    name: str = ""               # as it is called there: "llama3.2:3b"
    pin: str = ""                # "bartowski/Qwen3-8B-GGUF@<commit>", "sha256:<hash>"

    def to_values(self) -> dict[str, Any]:
        return {name: value for name in ("app", "name", "pin") if (value := getattr(self, name))}

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> Origin:
        return cls(**{name: str(values[name]) for name in ("app", "name", "pin") if name in values})


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """From the hub, by us: and all its files, {path, size_bytes, sha256} of each."""

    repo: str
    commit_sha: str
    files: Sequence[dict[str, Any]]


def origin_of(path: Path) -> Origin:
    """By its path alone."""
    if (blob := _BLOB.fullmatch(path.name)) and path.parent.name == "blobs":
        return Origin(app=OLLAMA, pin=f"sha256:{blob[1]}")
    parts = path.parts
    for at in range(len(parts) - 2):
        if parts[at].startswith(_REPO) and parts[at + 1] == "snapshots" and _COMMIT.fullmatch(parts[at + 2]):
            repo = parts[at].removeprefix(_REPO).replace("--", "/")
            return Origin(
                app=HUGGING_FACE, name="/".join((repo, *parts[at + 3 :])), pin=f"{repo}@{parts[at + 2]}"
            )
    return Origin()
