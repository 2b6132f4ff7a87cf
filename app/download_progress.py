"""How far a download is, in a line: a bar, the rate, the time that is left. Part of the command line."""

from __future__ import annotations

from typing import Any

from app.progress_line import bar_of, in_time
from engine.sizes import rate, size


def step_of(status: dict[str, Any]) -> str:
    """A tenth, or another state."""
    return f"{status['state']} {int(status['fraction'] * 10)} {status['reason']}"


def line_of(status: dict[str, Any], with_bar: bool = True) -> str:
    fraction = min(1.0, status["fraction"])
    bar = bar_of(fraction) if with_bar else ""
    name = {"verifying": "checking", "on_disk": "done"}.get(status["state"], status["state"])
    parts = [f"{bar}{fraction:4.0%}", f"{size(status['done_bytes'])} of {size(status['total_bytes'])}", name]
    if status["bytes_per_s"]:
        parts.append(rate(status["bytes_per_s"]))
    if status["remaining_s"] is not None:
        parts.append(f"{in_time(status['remaining_s'])} left")
    if status["reason"] and status["state"] != "on_disk":
        parts.append(status["reason"])
    return "  ".join(parts)
