"""Numbers, times and names as people read them. Pure functions, used by pages and by the stream route."""

from __future__ import annotations

from datetime import datetime

from store.tables import Model

GIB = 2**30
MIB = 2**20


def greeting(name: str, at: datetime) -> str:
    """`at` is local time."""
    if 5 <= at.hour < 12:
        part = "Good morning"
    elif 12 <= at.hour < 18:
        part = "Good afternoon"
    elif 18 <= at.hour < 23:
        part = "Good evening"
    else:
        part = "Hello"
    return f"{part}, {first_name(name)}"


def first_name(name: str) -> str:
    return name.split()[0]


def initials(name: str) -> str:
    """At most two letters: of the first and the last word."""
    parts = name.split()
    letters = parts[0][0] + (parts[-1][0] if len(parts) > 1 else "")
    return letters.upper()


def size(num_bytes: int) -> str:
    """"4.9 GiB"; below a tenth of that, "98 MiB"."""
    if num_bytes >= GIB / 10:
        return f"{num_bytes / GIB:.1f} GiB"
    return f"{num_bytes / MIB:.0f} MiB"


def context(num_tokens: int) -> str:
    """"32k", "2k", "500"."""
    return f"{num_tokens // 1024}k" if num_tokens >= 1024 else str(num_tokens)


def seconds(value: float) -> str:
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def brief(value_s: float) -> str:
    """A time that is known to two digits: "1.9 s", "34 s", "420 ms"."""
    rounded_s = float(f"{value_s:.2g}")
    return f"{rounded_s:g} s" if rounded_s >= 1 else f"{rounded_s * 1000:g} ms"


def speed(tokens_per_s: float) -> str:
    return f"{tokens_per_s:.0f} tok/s" if tokens_per_s >= 10 or not tokens_per_s else f"{tokens_per_s:.1f} tok/s"


def percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f} %"


def ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def model_label(model: Model) -> str:
    return f"{model.name}, {model.quantisation}" if model.quantisation else model.name
