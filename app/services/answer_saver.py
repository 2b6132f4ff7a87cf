"""Saves answers while they are written. Made and owned by `GenerationService`; one `AnswerSaver` a run.

On the event loop; the saving itself is a store thread's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app.language import kept
from app.services.generation import Generation
from store import answers
from store.database import Database
from store.errors import StoreError
from store.tables import MessageStatus

SAVE_INTERVAL_S = 0.7           # a crash loses no more than this of an answer

log = structlog.get_logger(__name__)


class Progress:
    """Writes what there is so far of all answers of a database, SAVE_INTERVAL_S after the first change since last time.

    Together: a transaction costs a millisecond of the processor, however many rows it has.
    """

    def __init__(self, db: Database) -> None:
        self.db = db
        self._changed: dict[str, AnswerSaver] = {}      # by their messages' ids
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def touch(self, saver: AnswerSaver) -> None:
        self._changed[saver.generation.message_id] = saver
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SAVE_INTERVAL_S, self._begin)

    async def leave(self, saver: AnswerSaver) -> None:
        """Returns when nothing of it is on its way any more."""
        self._changed.pop(saver.generation.message_id, None)
        if self._saving is not None:
            await asyncio.wait({self._saving})
            self._changed.pop(saver.generation.message_id, None)        # one that failed would be tried again

    def _begin(self) -> None:
        self._timer = None
        if self._saving is None:
            self._saving = asyncio.create_task(self._save())
        else:                           # the disk is slow: again later
            self._timer = asyncio.get_running_loop().call_later(SAVE_INTERVAL_S, self._begin)

    async def _save(self) -> None:
        savers, self._changed = self._changed, {}
        answers_so_far = {each: _so_far(saver.generation) for each, saver in savers.items()}
        gone: set[str] = set()
        try:
            if answers_so_far:
                gone = await self.db.run(answers.save_progress, answers_so_far)
        except StoreError:
            log.warning("the texts so far could not be saved", num_answers=len(answers_so_far), exc_info=True)
            for saver in savers.values():
                self.touch(saver)
        finally:
            self._saving = None
        for message_id in gone:
            savers[message_id].on_gone()


@dataclass(slots=True, eq=False)
class AnswerSaver:
    """Of one answer. `progress` is of the database in which its chat is kept."""

    progress: Progress
    generation: Generation
    on_gone: Callable[[], object]       # the message is no longer there to be written

    def touch(self) -> None:
        """It has changed."""
        self.progress.touch(self)

    async def keep_summary(self, message_id: str, summary: str) -> None:
        """Of the branch down to that message, for later answers."""
        await self.progress.db.run(answers.save_summary, message_id, summary)

    async def finish(self, status: MessageStatus, error: str | None) -> None:
        """All of it, and how it ended. Raises StoreError."""
        await self.progress.leave(self)
        generation = self.generation
        await self.progress.db.run(
            answers.finish,
            generation.message_id,
            status,
            content=generation.text,
            reasoning=generation.reasoning,
            **_columns(generation, error),
        )


def _so_far(generation: Generation) -> answers.SoFar:
    stats = generation.stats
    return answers.SoFar(
        generation.text, generation.reasoning, stats.completion_tokens, stats.time_to_first_token_s, stats.duration_s,
        stats.reasoning_s,
    )


def _columns(generation: Generation, error: str | None) -> answers.AnswerStats:
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
