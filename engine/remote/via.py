"""By which Inglenooks a request has come, so that none asks itself, over whichever others, without end.

As the header Via of RFC 9110 (7.6.3). What came in is kept beside the request that it came with, in a context variable:
whatever is asked elsewhere for it carries that on. The names say nothing: each process makes one.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from secrets import token_hex

HEADER = "Via"
MAX_HOPS = 8
HERE = f"inglenook-{token_hex(8)}"

_NAME = re.compile(r"\binglenook-[0-9a-f]{16}\b")
_came_by: ContextVar[tuple[str, ...]] = ContextVar("Inglenooks that a request came by", default=())


def take_in(header: str) -> bool:
    """Of a request that comes in. False: it was here before, or has come too far, and leads nowhere."""
    names = tuple(_NAME.findall(header))
    if HERE in names or len(names) >= MAX_HOPS:
        return False
    _came_by.set(names)
    return True


def header() -> str:
    """Of what is asked elsewhere now."""
    return ", ".join(f"1.1 {name}" for name in (*_came_by.get(), HERE))
