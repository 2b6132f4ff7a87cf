"""Saves an answer while it is written. Owned by its run in `GenerationService`.

On the event loop; the saving itself is a store thread's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from app.language import kept
from app.services.generation import Generation
from store import messages
from store.database import Database
from store.errors import StoreError
from store.tables import MessageStatus

SAVE_INTERVAL_S = 0.7           # a crash loses no more than this of an answer

log = structlog.get_logger(__name__)


class AnswerSaver:
    """Writes the text so far, SAVE_INTERVAL_S after the first change since the last time.

    `db` is where the answer's chat is kept.
    """

    def __init__(self, db: Database, generation: Generation, *, on_gone: Callable[[], object]) -> None:
        self._db = db
        self._generation = generation
        self._on_gone = on_gone         # the message is no longer there to be written
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def touch(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SAVE_INTERVAL_S, self._begin)

    async def keep_summary(self, message_id: str, summary: str) -> None:
        """Of the branch down to that message, for later answers."""
        await self._db.run(messages.save_summary, message_id, summary)

    async def finish(self, status: MessageStatus, error: str | None) -> None:
        """All of it, and how it ended. Raises StoreError."""
        if self._timer is not None:
            self._timer.cancel()
        if self._saving is not None:
            await self._saving
        generation = self._generation
        await self._db.run(
            messages.finish,
            generation.message_id,
            status,
            content=generation.text,
            reasoning=generation.reasoning,
            **_columns(generation, error),
        )

    def _begin(self) -> None:
        self._timer = None
        if self._saving is None:
            self._saving = asyncio.create_task(self._save())
        else:
            self.touch()                # the disk is slow: again later

    async def _save(self) -> None:
        generation = self._generation
        try:
            is_there = await self._db.run(
                messages.save_progress, generation.message_id, generation.text, generation.reasoning
            )
        except StoreError:
            log.warning("the text so far could not be saved", message_id=generation.message_id, exc_info=True)
            is_there = True
            self.touch()
        finally:
            self._saving = None
        if not is_there:
            self._on_gone()


def _columns(generation: Generation, error: str | None) -> messages.AnswerStats:
    stats = generation.stats
    return {
        "error": kept(error) if error else None,
        "model_id": generation.model_id,
        "model_version": stats.model_version,
        "connection": generation.connection,
        "finish_reason": stats.finish_reason,
        "prompt_tokens": stats.prompt_tokens,
        "cached_tokens": stats.cached_tokens,
        "completion_tokens": stats.completion_tokens,
        "time_to_first_token_s": stats.time_to_first_token_s,
        "duration_s": stats.duration_s,
        "reasoning_s": stats.reasoning_s,
        "num_left_out": generation.num_left_out,
        "first_message_id": generation.first_message_id,
    }
