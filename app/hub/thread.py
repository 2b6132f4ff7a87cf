"""One thread with an event loop of its own, for all that goes to and from the hub: the main loop never waits for it.

Started with the first work, ended by `close`. Called on the main event loop.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

NICENESS = 10           # of 19 at most: whatever computes an answer has the processor first


class LoopThread:
    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result. Cancelling this cancels the work, and returns when that has tidied up."""
        loop = self._started()
        done: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(loop.create_task(work))
            tasks[0].add_done_callback(lambda task: _copy(task, done))

        def cancel() -> None:
            tasks[0].cancel()

        loop.call_soon_threadsafe(begin)
        here = asyncio.wrap_future(done)
        try:
            return await asyncio.shield(here)
        except asyncio.CancelledError:
            if not here.done():
                loop.call_soon_threadsafe(cancel)
                await asyncio.wait({here})
            if not here.cancelled():
                here.exception()        # it was told to end; how it took that is nobody's matter
            raise

    async def close(self) -> None:
        """Cancels what still runs. Idempotent."""
        if self._loop is None or self._thread is None:
            return
        await self.run(_cancel_others())
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(thread.join)
        loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    if sys.platform == "linux":         # where a thread has a priority of its own, which its executor's threads inherit
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    loop.run_forever()


def _copy(task: asyncio.Task[T], done: Future[T]) -> None:
    if task.cancelled():
        done.cancel()
    elif error := task.exception():
        done.set_exception(error)
    else:
        done.set_result(task.result())


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
