"""The ways between the event loop and a thread of an engine: commands go in by a queue, on which the thread may sleep;
what it tells comes out by `loop.call_soon_threadsafe`. Each worker has one, made on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar, TypeVarTuple, Unpack

from engine.request import FinishReason

Asked = TypeVar("Asked")
Arguments = TypeVarTuple("Arguments")


@dataclass(frozen=True, slots=True)
class Submit(Generic[Asked]):
    request: Asked


@dataclass(frozen=True, slots=True)
class Abort:
    request_id: str
    reason: FinishReason = FinishReason.ABORT


@dataclass(frozen=True, slots=True)
class Close:
    """End, whatever still runs."""


class Mailbox(Generic[Asked]):
    """`put` on any thread; the rest is for the worker's."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._commands: SimpleQueue[Submit[Asked] | Abort | Close] = SimpleQueue()

    def put(self, command: Submit[Asked] | Abort | Close) -> None:
        self._commands.put(command)

    def take(self, *, may_sleep: bool, sleep_s: float | None = None) -> Submit[Asked] | Abort | Close | None:
        """The next command, or None. It sleeps until there is one, `sleep_s` at the most, where it may."""
        try:
            return self._commands.get(may_sleep, sleep_s)
        except Empty:
            return None

    def tell(self, callback: Callable[[Unpack[Arguments]], None], *args: *Arguments) -> None:
        """Have the event loop call this."""
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            self._commands.put(Close())        # nobody is left to hear: end at the next chance
