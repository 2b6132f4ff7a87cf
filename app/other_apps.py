"""Where other programs keep their models, by what they are told themselves. Read by `app.settings`, at start, which
expands `~`.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path

from engine.small_file import read_small

MAX_NOTE_BYTES = 65_536


def hub_cache_dir() -> Path:
    """Of Hugging Face's library, and of all who use it."""
    if cache := _first_of("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        return Path(cache)
    home = _first_of("HF_HOME")
    return (Path(home) if home else Path(_first_of("XDG_CACHE_HOME") or "~/.cache") / "huggingface") / "hub"


def ollama_dirs() -> tuple[Path, ...]:
    """Stores: that of a person, and that of the service on Linux."""
    if store := _first_of("OLLAMA_MODELS"):
        return (Path(store),)
    return Path("~/.ollama/models"), Path("/usr/share/ollama/.ollama/models")


def lm_studio_dirs() -> tuple[Path, ...]:
    """Homes: the one that its own note names, or else those that it has had."""
    try:
        named = read_small(Path("~/.lmstudio-home-pointer").expanduser(), MAX_NOTE_BYTES).decode().strip()
    except (OSError, ValueError, RuntimeError):
        named = ""
    return (Path(named),) if named else (Path("~/.lmstudio"), Path("~/.cache/lm-studio"))


def jan_dirs() -> tuple[Path, ...]:
    """Data folders; on Linux there was another one before."""
    here = user_data_path("Jan", appauthor=False, roaming=True)
    before = Path(_first_of("XDG_CONFIG_HOME") or "~/.config") / "Jan"
    return here / "data", before / "data"


def _first_of(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name, ""))), "")
