"""One line in a terminal that shows how far a download is: a bar, the rate, the time that is left. Elsewhere, in a pipe
or a log, a line for each tenth. Part of the command line.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any

from app.hub.disk import in_gb

BAR_CHARS = 24
MIN_COLUMNS = 20


class ProgressLine:
    def __init__(self) -> None:
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._said = ""
        self._has_line = False

    def show(self, status: dict[str, Any]) -> None:
        if self._is_terminal:
            columns = max(MIN_COLUMNS, shutil.get_terminal_size().columns - 1)
            text = line_of(status)[:columns]
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._has_line = True
            return
        said = f"{status['state']} {int(status['fraction'] * 10)} {status['reason']}"
        if said != self._said:
            self._said = said
            print(line_of(status, with_bar=False), file=sys.stderr, flush=True)

    def end(self, status: dict[str, Any] | None = None) -> None:
        """The next output begins on a line of its own."""
        if status is not None and self._is_terminal and self._has_line:
            self.show(status)
        if self._has_line:
            print(file=sys.stderr)
            self._has_line = False


def line_of(status: dict[str, Any], *, with_bar: bool = True) -> str:
    fraction = min(1.0, status["fraction"])
    filled = round(fraction * BAR_CHARS)
    bar = f"[{'#' * filled}{'-' * (BAR_CHARS - filled)}] " if with_bar else ""
    name = {"verifying": "checking", "on_disk": "done"}.get(status["state"], status["state"])
    parts = [f"{bar}{fraction:4.0%}", f"{in_gb(status['done_bytes'])} of {in_gb(status['total_bytes'])}", name]
    if status["bytes_per_s"]:
        parts.append(f"{status['bytes_per_s'] / 1e6:,.1f} MB/s")
    if status["remaining_s"] is not None:
        parts.append(f"{in_time(status['remaining_s'])} left")
    if status["reason"] and status["state"] != "on_disk":
        parts.append(status["reason"])
    return "  ".join(parts)


def in_time(seconds: float) -> str:
    """As people say it: the two largest units, or one."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
