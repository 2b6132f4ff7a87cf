"""A file that is made in memory, and its address, which changes with its content. Any thread."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nicegui
from nicegui.version import __version__ as NICEGUI_VERSION

ASSETS = Path(__file__).resolve().parent.parent.parent / "assets"
NICEGUI_STATIC = Path(nicegui.__file__).parent / "static"
NICEGUI_ADDRESS = f"/_nicegui/{NICEGUI_VERSION}/static"
HERE = Path(__file__).parent

# Before a script most of which runs while the page is made: Chromium compiles it whole, on another thread, as it comes,
# and not function by function where the page waits for each. To other browsers it is a comment.
COMPILED_WHOLE = "//# allFunctionsCalledOnLoad\n"


@dataclass(frozen=True, slots=True)
class MadeFile:
    name: str                       # under /assets/
    media_type: str
    version: str
    make: Callable[[], str]         # costs some 30 ms, at the first request only

    @property
    def path(self) -> str:
        return f"/assets/{self.name}"

    @property
    def address(self) -> str:
        return f"{self.path}?v={self.version}"


def version_of(sources: Iterable[Path]) -> str:
    """Of a file that is made of these, in this way."""
    digest = hashlib.sha256(NICEGUI_VERSION.encode())
    for path in [*sources, *sorted(HERE.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


@cache
def nicegui_file(name: str) -> str:
    return (NICEGUI_STATIC / name).read_text(encoding="utf-8")
