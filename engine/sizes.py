"""Sizes as the terminal and errors tell them, in one kind of unit. Pages write the same in the reader's language, by
`ui.words`.
"""

from __future__ import annotations

MIB = 1 << 20
GIB = 1 << 30


def size(num_bytes: float) -> str:
    """"4.9 GiB"; below a tenth of that "98 MiB", "0.4 MiB" or "0 MiB"."""
    if num_bytes >= GIB / 10:
        return f"{num_bytes / GIB:,.1f} GiB"
    num_digits = 1 if MIB / 20 < num_bytes < 10 * MIB else 0
    return f"{num_bytes / MIB:.{num_digits}f} MiB"


def rate(bytes_per_s: float) -> str:
    return f"{size(bytes_per_s)}/s"
