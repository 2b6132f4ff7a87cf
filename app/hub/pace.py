"""How fast, when, how patiently: a limit on bytes, hours of the day, waits between attempts. On the hub's thread."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta

BURST_S = 0.25              # of the allowed rate that may be taken at once


class Pace:
    """A limit that all downloads share. `bytes_per_s` may change at any time; None: none."""

    def __init__(
        self, bytes_per_s: int | None = None, *, clock: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.bytes_per_s = bytes_per_s
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._sleep = sleep
        self._free_at_s = 0.0           # when what was taken so far is paid for

    def portion(self, most_bytes: int) -> int:
        """How much to fetch before it is taken: less with a small limit, for it lies in memory until it is paid for."""
        return max(1, min(most_bytes, int(self.bytes_per_s * BURST_S))) if self.bytes_per_s else most_bytes

    async def take(self, num_bytes: int) -> None:
        """Returns when so many more bytes may have come."""
        if not self.bytes_per_s:
            return
        now_s = self._clock()
        self._free_at_s = max(self._free_at_s, now_s - BURST_S) + num_bytes / self.bytes_per_s
        if self._free_at_s > now_s:
            await self._sleep(self._free_at_s - now_s)


@dataclass(frozen=True, slots=True)
class Hours:
    """Of the day, by this machine's clock: "22:00-06:00". Empty: always."""

    text: str = ""

    def wait_s(self, now: datetime) -> float:
        """Until downloads may run; 0 if they may now."""
        if not self.text:
            return 0.0
        start, end = (time.fromisoformat(part) for part in self.text.split("-"))
        at = now.time()
        is_open = start <= at < end if start < end else at >= start or at < end
        if is_open or start == end:
            return 0.0
        opening = now.replace(hour=start.hour, minute=start.minute, second=0, microsecond=0)
        return ((opening if opening > now else opening + timedelta(days=1)) - now).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often something is tried without a single new byte, and the waits between: growing, and never quite alike."""

    num_attempts: int = 10
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def waits(self) -> Iterator[float]:
        wait_s = self.first_wait_s
        for _ in range(self.num_attempts - 1):
            yield wait_s * random.uniform(0.75, 1.25)
            wait_s = min(wait_s * 2, self.longest_wait_s)
