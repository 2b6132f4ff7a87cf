"""One line in a terminal that shows how far something is. Elsewhere, in a pipe or a log, a line for each step of it.
Part of the command line.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any

BAR_CHARS = 24
MIN_COLUMNS = 20

Status = dict[str, Any]


class ProgressLine:
    """`line_of(status, with_bar)` is what it says; a line of its own is due where `step_of(status)` is another."""

    def __init__(self, line_of: Callable[[Status, bool], str], step_of: Callable[[Status], object]) -> None:
        self._line_of = line_of
        self._step_of = step_of
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._said: object = None
        self._has_line = False

    def show(self, status: Status) -> None:
        if self._is_terminal:
            columns = max(MIN_COLUMNS, shutil.get_terminal_size().columns - 1)
            text = self._line_of(status, True)[:columns]
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._has_line = True
            return
        step = self._step_of(status)
        if step != self._said:
            self._said = step
            print(self._line_of(status, False), file=sys.stderr, flush=True)

    def end(self, status: Status | None = None) -> None:
        """The next output begins on a line of its own."""
        if status is not None and self._is_terminal and self._has_line:
            self.show(status)
        if self._has_line:
            print(file=sys.stderr)
            self._has_line = False


def bar_of(fraction: float) -> str:
    filled = round(min(1.0, fraction) * BAR_CHARS)
    return f"[{'#' * filled}{'-' * (BAR_CHARS - filled)}] "


def in_time(seconds: float) -> str:
    """As people say it: the two largest units, or one."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
