"""Tells open pages that something of theirs changed, so that they read it again. On the event loop only.

A change says what to look at, never what it holds: whoever hears it asks the service, which checks whose it is.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Change:
    kind: Literal[
        "conversations", "thread", "models", "generation", "import", "downloads", "library", "benchmarks", "people",
        "role"
    ]
    conversation_id: str | None = None


Watcher = Callable[[Change], None]


class Changes:
    def __init__(self) -> None:
        self._watchers: dict[str | None, dict[object, Watcher]] = defaultdict(dict)      # by user; None: nobody's own

    def watch(self, user_id: str | None, callback: Watcher) -> Callable[[], None]:
        """`callback` hears this person's changes and those for all; with None, only the latter. Returns how to stop."""
        key = object()
        self._watchers[user_id][key] = callback

        def unwatch() -> None:
            watchers = self._watchers.get(user_id, {})
            watchers.pop(key, None)
            if not watchers:
                self._watchers.pop(user_id, None)

        return unwatch

    @property
    def is_watched(self) -> bool:
        return bool(self._watchers)

    def fall_silent(self) -> None:
        """The server ends: whoever heard of a change would read what is being closed."""
        self._watchers.clear()

    def announce(self, user_id: str, change: Change) -> None:
        self._tell(user_id, change)

    def announce_all(self, change: Change) -> None:
        for user_id in list(self._watchers):
            self._tell(user_id, change)

    def _tell(self, user_id: str | None, change: Change) -> None:
        # Each in a turn of its own: a watcher that fails harms neither the others nor whoever made the change.
        for key in self._watchers.get(user_id, {}):
            asyncio.get_running_loop().call_soon(self._call, user_id, key, change)

    def _call(self, user_id: str | None, key: object, change: Change) -> None:
        if watcher := self._watchers.get(user_id, {}).get(key):      # it may have left in the meantime
            watcher(change)
