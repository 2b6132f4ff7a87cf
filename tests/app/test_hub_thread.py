"""The thread of all that goes to and from the hub."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest

from app.hub.thread import NICENESS, LoopThread


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="only there a thread has a priority of its own")
async def test_it_and_its_executor_stand_back_behind_whoever_computes() -> None:
    async def both() -> tuple[int, int]:
        return niceness(), await asyncio.to_thread(niceness)

    own, thread = niceness(), LoopThread("hub")
    try:
        assert await thread.run(both()) == (max(own, NICENESS), max(own, NICENESS))
        assert niceness() == own
    finally:
        await thread.close()
