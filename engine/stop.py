"""Stop strings over streamed text. `OutputProcessor` owns one checker a request; event loop only.

The answer ends before the earliest place where a stop string begins, wherever tokens happen to be cut: the same place
that a search through the whole text would find.
"""

from __future__ import annotations


class StopChecker:
    """Holds back no more than what could be the beginning of a stop string; `matched` once one was found."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""
        self.matched: str | None = None

    def push(self, text: str) -> str:
        """Add text; get the part of all text so far that is certain to be shown and was not given before."""
        if not self._stops:
            return text
        self._held += text
        start, stop = self._earliest_match()
        open_start = self._earliest_open_start()
        if stop is None or open_start < start:      # a match that begins later must wait for one that may begin earlier
            shown, self._held = self._held[:open_start], self._held[open_start:]
            return shown
        return self._end_at(start, stop)

    def flush(self) -> str:
        """No more text will come: the held part, or what stands before a match in it."""
        start, stop = self._earliest_match()
        if stop is not None:
            return self._end_at(start, stop)
        shown, self._held = self._held, ""
        return shown

    def _end_at(self, start: int, stop: str) -> str:
        shown, self._held = self._held[:start], ""
        self.matched = stop
        return shown

    def _earliest_match(self) -> tuple[int, str | None]:
        """Where a whole stop string begins; of several that begin there, the longest."""
        matches = [(start, -len(stop), stop) for stop in self._stops if (start := self._held.find(stop)) >= 0]
        if not matches:
            return len(self._held), None
        start, _, stop = min(matches)
        return start, stop

    def _earliest_open_start(self) -> int:
        """Where text begins that reaches to the end and is the beginning of a stop string; the end if none does."""
        held = self._held
        longest = 0
        for stop in self._stops:
            candidates = range(min(len(stop) - 1, len(held)), longest, -1)
            longest = next((length for length in candidates if held.endswith(stop[:length])), longest)
        return len(held) - longest
