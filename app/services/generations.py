"""Writes answers. A generation belongs to the server, not to a page: pages come and go and only watch it.

Made once, by `Services.open`; `ChatService` starts generations. All on the event loop; text is saved on a store thread.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from app.errors import AppError, said
from app.language import Said
from app.services.answer_saver import AnswerSaver, Progress
from app.services.changes import Change, Changes
from app.services.context import FittedQuestion, Question, fit_into_window
from app.services.engines import EngineRegistry, ModelState
from app.services.generation import TOO_LONG, Generation, GenerationState, GenerationStats
from app.services.pace import Pace
from app.services.summaries import summarise
from engine.engine import Delta, Engine
from engine.errors import ContextLengthExceeded, EngineError, EngineFailed
from store import answers
from store.database import Database
from store.errors import StoreError
from store.tables import Message, MessageRole, MessageStatus

KEPT_AFTER_END_S = 30.0         # for watchers that are just reconnecting; later ones read the store

log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Run:
    generation: Generation
    writing: asyncio.Task[None]
    whole: asyncio.Task[None]                       # writing, then saving
    stop_as: MessageStatus = MessageStatus.INTERRUPTED


class GenerationService:
    def __init__(self, db: Database, engines: EngineRegistry, changes: Changes) -> None:
        self._db = db
        self._engines = engines
        self._changes = changes
        self._on_ended: list[Callable[[Generation], None]] = []
        self._progress: dict[Database, Progress] = {}
        self._paces: defaultdict[str, Pace] = defaultdict(Pace)     # by model id
        self._runs: dict[str, _Run] = {}            # by the answer's message id, ended ones for KEPT_AFTER_END_S more

    @property
    def num_running(self) -> int:
        return sum(not run.generation.is_ended for run in self._runs.values())

    def conversations_being_written(self, user_id: str) -> set[str]:
        running = (run.generation for run in self._runs.values() if not run.generation.is_ended)
        return {generation.conversation_id for generation in running if generation.user_id == user_id}

    def get(self, message_id: str) -> Generation | None:
        run = self._runs.get(message_id)
        return run.generation if run else None

    def on_ended(self, callback: Callable[[Generation], None]) -> None:
        """`callback(generation)` after each answer is saved, however it ended."""
        self._on_ended.append(callback)

    def start(self, answer: Message, question: Question, model_id: str, home: Database) -> Generation:
        """Begin to write `answer`, a STREAMING row of `home`, from its text so far."""
        generation = Generation(
            answer.id,
            answer.conversation_id,
            question.user_id,
            model_id,
            text=answer.content,
            reasoning=answer.reasoning if answer.content else "",       # without a word of text it begins anew
            stats=_stats_so_far(answer),
        )
        progress = self._progress.setdefault(home, Progress(home))
        saver = AnswerSaver(progress, generation, lambda: self._cancel(answer.id, MessageStatus.STOPPED))
        writing = asyncio.create_task(self._write(generation, question, saver), name=f"write {answer.id}")
        whole = asyncio.create_task(self._see_through(generation, writing, saver), name=f"answer {answer.id}")
        self._runs[answer.id] = _Run(generation, writing, whole)
        return generation

    async def stop(self, message_id: str, status: MessageStatus = MessageStatus.STOPPED) -> None:
        """Returns when the answer is saved as it stands. Nothing happens where it has ended."""
        if run := self._cancel(message_id, status):
            await asyncio.wait({run.whole})

    def conversation_deleted(self, user_id: str, conversation_id: str) -> None:
        """What is being written there stops; `ConversationService.on_deleted` calls this."""
        self._cancel_all(lambda generation: generation.conversation_id == conversation_id, MessageStatus.STOPPED)

    def access_ended(self, user_id: str, token_hash: str | None) -> None:
        """Answers of who is disabled stop, of who signs out go on; `AccountService.on_access_ended` calls this."""
        if token_hash is None:
            self._cancel_all(lambda generation: generation.user_id == user_id, MessageStatus.STOPPED)

    async def interrupt_stale(self) -> int:
        """At start: what a crash left as being written is interrupted, with its text. How many there were."""
        return await self._db.run(answers.interrupt_streaming)

    async def close(self) -> None:
        """Interrupt all answers and save them. Idempotent."""
        if runs := self._cancel_all(lambda generation: True, MessageStatus.INTERRUPTED):
            await asyncio.wait({run.whole for run in runs})

    def _cancel_all(self, concerned: Callable[[Generation], bool], status: MessageStatus) -> list[_Run]:
        message_ids = [run.generation.message_id for run in self._runs.values() if concerned(run.generation)]
        return [run for message_id in message_ids if (run := self._cancel(message_id, status))]

    def _cancel(self, message_id: str, status: MessageStatus) -> _Run | None:
        run = self._runs.get(message_id)
        if run is None or run.generation.is_ended:
            return None
        if run.writing.cancel():
            run.stop_as = status
        return run

    async def _write(self, generation: Generation, question: Question, saver: AnswerSaver) -> None:
        clock = asyncio.get_running_loop().time
        started_s = clock()
        stats = generation.stats
        is_continued = stats.time_to_first_token_s is not None      # then only its writing adds to the figures, no wait
        spent_s = (stats.duration_s or 0.0) if is_continued else 0.0
        pace = self._paces[generation.model_id]
        async with self._engines.acquire(generation.model_id) as engine:
            fitted = await self._fitted(engine, generation, question, saver)
            generation.state, generation.num_to_read = GenerationState.WAITING, _num_to_read(engine, question, fitted)
            generation.announce()
            stats.model_version = engine.info.version
            begun_s, first_token_s = clock(), None
            async with aclosing(engine.chat(fitted.request)) as deltas:
                async for delta in deltas:
                    if delta.queue_position is not None:
                        begun_s = clock()
                    if delta.num_tokens and first_token_s is None:
                        first_token_s = clock()
                    counted_from_s = first_token_s if is_continued else started_s
                    self._take(generation, delta, spent_s + (clock() - counted_from_s if counted_from_s else 0.0))
                    saver.touch()
            if first_token_s is not None and stats.prompt_tokens is not None:
                pace.learn_reading(stats.prompt_tokens - (stats.cached_tokens or 0), first_token_s - begun_s)
                pace.learn_answer(clock() - begun_s)

    async def _fitted(
        self, engine: Engine, generation: Generation, question: Question, saver: AnswerSaver
    ) -> FittedQuestion:
        """The question as the window holds it, with a summary of the rest made and kept where that is wanted."""
        window = engine.info.max_model_len
        fitted = await fit_into_window(question, window, engine.count_tokens)
        if fitted.unsummarised:
            generation.state = GenerationState.SUMMARISING
            generation.announce()
            summary = await summarise(engine, question, fitted.summary, fitted.unsummarised)
            if summary:
                last = fitted.left_out[-1].id
                await saver.keep_summary(last, summary)
                fitted = await fit_into_window(
                    replace(question, new_summaries={**question.new_summaries, last: summary}),
                    window, engine.count_tokens,
                )
        generation.num_left_out, generation.first_message_id = len(fitted.left_out), fitted.first_message_id
        return fitted

    def about_s(self, generation: Generation) -> float | None:
        """How long an answer that waits may still wait for what it waits for; None where nothing was measured yet."""
        pace = self._paces[generation.model_id]
        match generation.state, generation.queue_position:
            case GenerationState.LOADING, _:
                return self._engines.status(generation.model_id).about_s
            case GenerationState.WAITING, int(position):
                engine = self._engines.loaded().get(generation.model_id)
                return pace.queue_s(position, engine.metrics().num_running) if engine else None
            case GenerationState.WAITING, None if generation.num_to_read is not None:
                return pace.reading_s(generation.num_to_read)
        return None

    def _take(self, generation: Generation, delta: Delta, elapsed_s: float) -> None:
        stats = generation.stats
        stats.duration_s = elapsed_s
        stats.completion_tokens += delta.num_tokens
        if delta.connection:
            generation.connection = delta.connection
            stats.model_version = f"{delta.connection}/{stats.model_version}"
        if delta.num_tokens and stats.time_to_first_token_s is None:
            stats.time_to_first_token_s = elapsed_s
        if delta.reasoning and not generation.text:
            stats.reasoning_s = elapsed_s - (stats.time_to_first_token_s or elapsed_s)
        if delta.finish_reason is not None:
            stats.finish_reason = delta.finish_reason.value
        if delta.usage is not None:
            stats.prompt_tokens, stats.cached_tokens = delta.usage.prompt_tokens, delta.usage.cached_tokens
        generation.queue_position = delta.queue_position
        if delta.num_tokens:
            generation.state = GenerationState.WRITING
        generation.append(delta.text, delta.reasoning)

    async def _see_through(self, generation: Generation, writing: asyncio.Task[None], saver: AnswerSaver) -> None:
        """Whatever becomes of the writing, the answer ends: saved, and with a status that says what happened."""
        await asyncio.wait({writing})
        status, error = self._verdict(generation, writing)
        try:
            await saver.finish(status, error)
        except StoreError as failure:
            log.exception("an answer could not be saved", message_id=generation.message_id)
            status, error = MessageStatus.FAILED, Said("error-not-saved", detail=str(failure))
        generation.status, generation.error, generation.state = status, error, GenerationState.ENDED
        generation.queue_position = None
        generation.announce()
        self._changes.announce(generation.user_id, Change("generation", generation.conversation_id))
        for callback in self._on_ended:
            callback(generation)
        asyncio.get_running_loop().call_later(KEPT_AFTER_END_S, self._forget, generation)

    def _verdict(self, generation: Generation, writing: asyncio.Task[None]) -> tuple[MessageStatus, str | None]:
        if writing.cancelled():
            return self._runs[generation.message_id].stop_as, None
        match writing.exception():
            case None:
                return MessageStatus.COMPLETE, None
            case EngineFailed() if self._engines.status(generation.model_id).state is not ModelState.FAILED:
                return MessageStatus.INTERRUPTED, None      # its model was unloaded
            case ContextLengthExceeded() as error:
                return MessageStatus.FAILED, Said(TOO_LONG, count=error.num_prompt_tokens, limit=error.max_model_len)
            case AppError() | EngineError() as error:
                return MessageStatus.FAILED, said(error)
            case error:
                log.error("an answer broke", message_id=generation.message_id, exc_info=error)
                return MessageStatus.FAILED, Said("error-broke")

    def _forget(self, generation: Generation) -> None:
        run = self._runs.get(generation.message_id)
        if run is not None and run.generation is generation:        # not the one that continues it
            del self._runs[generation.message_id]


def _stats_so_far(answer: Message) -> GenerationStats:
    """Of an answer that is continued: its figures are those of all its stretches, without the waits between them."""
    return GenerationStats(
        completion_tokens=answer.completion_tokens or 0,
        reasoning_s=answer.reasoning_s if answer.content else None,
        time_to_first_token_s=answer.time_to_first_token_s,
        duration_s=answer.duration_s,
    )


def _num_to_read(engine: Engine, question: Question, fitted: FittedQuestion) -> int:
    """Of the prompt's tokens: what the last answer was made from, and that answer, are likely to be known still."""
    last = next((each for each in reversed(question.thread) if each.role is MessageRole.ASSISTANT), None)
    if last is None or last.model_version != engine.info.version or last.first_message_id != fitted.first_message_id:
        return fitted.num_tokens
    return max(0, fitted.num_tokens - (last.prompt_tokens or 0) - (last.completion_tokens or 0))
