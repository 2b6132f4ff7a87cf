"""Names of models, as people read them. Used by the pages about models."""

from __future__ import annotations

import re

_ENDING = re.compile(r"[-_.]?(gguf|safetensors)$", re.IGNORECASE)


def repo_name(repo: str) -> str:
    """"Qwen/Qwen3-8B-GGUF" is "Qwen3 8B"."""
    name = _ENDING.sub("", repo.rpartition("/")[2])
    return name.replace("_", " ").replace("-", " ").strip() or repo


def repo_owner(repo: str) -> str:
    return repo.partition("/")[0]
