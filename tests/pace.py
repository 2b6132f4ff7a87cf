"""Bounds on work in steps of this machine: seconds say little of a slow one, or of one with another run beside."""

from __future__ import annotations

import time
from functools import cache


def seconds_of(num_million_steps: int) -> float:
    """Of the processor, which a plain loop of so many steps takes here: some 12 million in one of a fast processor."""
    return num_million_steps * _million_steps_s()


@cache
def _million_steps_s() -> float:
    begun_s = time.thread_time()
    sum(number * number for number in range(1_000_000))
    return time.thread_time() - begun_s
