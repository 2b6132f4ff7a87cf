"""Names for files that people get: in their own script, and safe on any system. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

MAX_NAME_BYTES = 120        # of 255; leaves room for a date, a number and an ending
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)        # on Windows, with any ending


def safe_name(title: str, *, otherwise: str = "Chat") -> str:
    """A title as the stem of a file's name: no separators, no controls, no marks that turn the direction of text."""
    kept = "".join(" " if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char for char in title)
    words = " ".join(_FORBIDDEN.sub(" ", unicodedata.normalize("NFC", kept)).split())
    cut = words.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
    if _RESERVED.fullmatch(cut.partition(".")[0].strip()):
        cut = f"{cut} chat"
    return cut or otherwise


def attachment(file_name: str) -> str:
    """A Content-Disposition: the name for all browsers of today, and ASCII for what else may read it (RFC 6266)."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\%' else "_" for char in file_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"
