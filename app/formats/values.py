"""What a stranger's JSON holds, taken as far as it makes sense: a wrong type is as if nothing stood there.

Used by the readers of this folder. `BadEntry` is for what cannot be made sense of at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
MAX_COUNT = 2**53           # what JSON's numbers hold, and SQLite's integers with room to spare
MAX_NAME_CHARS = 200


class BadEntry(ValueError):
    """`str(error)` is a sentence for a person: why this conversation cannot be taken in."""


def text(value: Any) -> str:
    """Half a surrogate pair, which a cut emoji leaves behind, is no text to a database: U+FFFD takes its place."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def name(value: Any) -> str | None:
    """An id or a model's name; None for what is none."""
    return text(value)[:MAX_NAME_CHARS].strip() or None


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if is_count else None


def seconds(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MAX_COUNT else None       # NaN is not between


def time(value: Any) -> datetime | None:
    """Seconds since 1970, or milliseconds, microseconds, nanoseconds where that is what makes a date; or ISO 8601."""
    if isinstance(value, str):
        return _iso_time(value)
    number = seconds(value)
    if number is None and isinstance(value, (int, float)) and not isinstance(value, bool) and value > MAX_COUNT:
        number = float(value) if value < 2**63 else None                         # nanoseconds go beyond MAX_COUNT
    if number is None or not math.isfinite(number):
        return None
    for per_second in (1, 10**3, 10**6, 10**9):
        if number / per_second < LATEST.timestamp():
            at = datetime.fromtimestamp(number / per_second, UTC)
            return at if at >= EARLIEST else None
    return None


def _iso_time(value: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(value[:40])
        at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at if EARLIEST <= at < LATEST else None
