"""Names of files and folders that any system can keep, in any script. Pure functions.

Different names stay different: where a name must be changed, a piece of its hash goes into the new one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from app.hub.files import is_good_name

MAX_BYTES = 150             # of 255 that file systems take; folders and endings are to fit beside it
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)     # on Windows
_PART = re.compile(r"(.+?)(-\d{5}-of-\d{5})", re.DOTALL)
_DIRECTING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def safe_paths(names: Iterable[str]) -> dict[str, str]:
    """Relative paths for files of one repository; no two are the same on a system that takes a for A.

    Raises ValueError for a name that leads out of its folder.
    """
    names = list(names)
    taken: dict[str, str] = {}
    for name in names:
        if not is_good_name(name):
            raise ValueError(f"{name[:200]!r} is no name of a file")
        path = "/".join(safe_component(part) for part in name.split("/"))
        if _folded(path) in (_folded(each) for each in taken.values()):
            folder, slash, last = path.rpartition("/")
            path = folder + slash + _with_hash(last, name)
        taken[name] = path
    return taken


def safe_component(name: str) -> str:
    """A name of one file or folder. One that is fine already stays as it is."""
    kept = "".join("_" if unicodedata.category(char) in _DIRECTING and char != "\u200d" else char for char in name)
    cleaned = _FORBIDDEN.sub("_", unicodedata.normalize("NFC", kept)).rstrip(" .").lstrip(" ")
    if not cleaned.strip("_. ") or _RESERVED.fullmatch(cleaned.partition(".")[0].rstrip()):
        cleaned = f"_{cleaned.lstrip('.')}"
    if cleaned == unicodedata.normalize("NFC", name) and len(cleaned.encode()) <= MAX_BYTES:
        return cleaned
    return _with_hash(cleaned, name)


def _with_hash(name: str, original: str) -> str:
    """The number of a part stays at its end, for llama.cpp finds the other parts by it; all of them get one hash."""
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending.encode()) > 16:
        stem, ending = name, ""
    original_stem = original.rpartition(".")[0] if dot else original
    part = ""
    if (found := _PART.fullmatch(stem)) is not None:
        stem, part = found[1], found[2]
        original_stem = original_stem.removesuffix(part)
    digest = hashlib.sha256(original_stem.encode(errors="surrogatepass")).hexdigest()[:8]
    tail = f"~{digest}{part}{dot if ending else ''}{ending}"
    return stem.encode()[: MAX_BYTES - len(tail.encode())].decode(errors="ignore").rstrip(" .") + tail


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
