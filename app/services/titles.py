"""Gives a chat a title after its first answer, by the model that wrote it. On the event loop.

The request goes on with the very text of the chat, so its KV is shared, not replaced: the next turn finds all of it
(case 42). It is made only where it costs nobody anything: the model is loaded and has a slot and room to spare, and
nobody waits. Otherwise the chat waits for its title until some answer ends. People's own requests come first at any
moment: when one has to wait, the title is given up for now.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog
from sqlmodel import Session

from app.errors import AppError
from app.services.changes import Change, Changes
from app.services.context import Question, fit_into_window
from app.services.engines import EngineRegistry, ModelState
from app.services.generation import Generation
from app.services.generations import GenerationService
from app.services.title_words import ASK, BEGINNING, MAX_TITLE_TOKENS, STOP, title_of
from engine.engine import ChatRequest, Engine
from engine.errors import EngineError
from engine.params import SamplingParams
from store import conversations, messages, settings
from store.database import Database
from store.errors import StoreError
from store.tables import Message, MessageRole, MessageStatus, TitleSource

TITLES_SETTING = "titles"           # of a person: False turns them off
PRIORITY = 10                       # after everybody's own
PARAMS = SamplingParams(temperature=0.0, max_tokens=MAX_TITLE_TOKENS, stop=STOP)
MAX_PENDING = 200

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Untitled:
    user_id: str
    conversation_id: str
    model_id: str


class TitleService:
    def __init__(
        self, db: Database, engines: EngineRegistry, generations: GenerationService, changes: Changes
    ) -> None:
        self._db = db
        self._engines = engines
        self._generations = generations
        self._changes = changes
        self._pending: dict[str, _Untitled] = {}            # by conversation, the oldest first
        self._task: asyncio.Task[None] | None = None

    @property
    def is_at_work(self) -> bool:
        return self._task is not None

    async def is_wanted(self, user_id: str) -> bool:
        return bool(await self._db.read(settings.get_of_user, user_id, TITLES_SETTING, True))

    async def set_wanted(self, user_id: str, is_wanted: bool) -> None:
        await self._db.run(settings.set_of_user, user_id, TITLES_SETTING, is_wanted)

    def answer_ended(self, generation: Generation) -> None:
        """`GenerationService.on_ended` calls this."""
        if generation.status is MessageStatus.COMPLETE and len(self._pending) < MAX_PENDING:
            untitled = _Untitled(generation.user_id, generation.conversation_id, generation.model_id)
            self._pending[generation.conversation_id] = untitled
        if self._pending and self._task is None:
            self._task = asyncio.create_task(self._work(), name="titles")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._pending.clear()

    async def _work(self) -> None:
        """One after another, until there is none left that can be had now."""
        tried: set[str] = set()
        try:
            while waiting := [each for each in self._pending.values() if each.conversation_id not in tried]:
                untitled = waiting[0]
                tried.add(untitled.conversation_id)
                if await self._try(untitled):
                    del self._pending[untitled.conversation_id]
        finally:
            self._task = None

    async def _try(self, untitled: _Untitled) -> bool:
        try:
            return await self._give_title(untitled)
        except (AppError, EngineError, StoreError) as error:
            log.info("a chat keeps its first words as title", reason=str(error))
            return True

    async def _give_title(self, untitled: _Untitled) -> bool:
        """False where it is to be tried again later."""
        thread = await self._db.read(_first_turn, untitled.user_id, untitled.conversation_id)
        if not thread or not await self.is_wanted(untitled.user_id):
            return True
        if self._engines.status(untitled.model_id).state is not ModelState.READY:
            return True             # a title is not worth a load
        async with self._engines.acquire(untitled.model_id) as engine:
            request = await _request(engine, untitled.user_id, thread)
            if request is None:
                return True
            if not await _has_room(engine, request):
                return False
            written = await self._ask(engine, request)
        if written is None:
            return False
        title = title_of(written, thread[-2].content)
        if title is not None and await self._db.run(
            conversations.name_by_model, untitled.user_id, untitled.conversation_id, title
        ):
            self._changes.announce(untitled.user_id, Change("conversations", untitled.conversation_id))
        return True

    async def _ask(self, engine: Engine, request: ChatRequest) -> str | None:
        """None where somebody had to wait meanwhile."""
        written = ""
        async with aclosing(engine.chat(request)) as deltas:
            async for delta in deltas:
                written += delta.text
                if delta.finish_reason is None and engine.metrics().num_waiting:
                    return None
        return written


def _first_turn(session: Session, user_id: str, conversation_id: str) -> tuple[Message, ...]:
    """A person's message and its answer, after system messages; () where there is more by now, or a better title."""
    conversation = conversations.get(session, user_id, conversation_id)
    if conversation is None or conversation.title_source is not TitleSource.WORDS:
        return ()
    branch = [message for message, _ in messages.branch(session, user_id, conversation_id) or ()]
    turns = [message.role for message in branch if message.role is not MessageRole.SYSTEM]
    is_first = turns == [MessageRole.USER, MessageRole.ASSISTANT] and branch[-1].content.strip()
    return tuple(branch) if is_first and branch[-1].status is MessageStatus.COMPLETE else ()


async def _request(engine: Engine, user_id: str, thread: tuple[Message, ...]) -> ChatRequest | None:
    """The chat as it was, word by word, and then the wish. None where the window does not hold both."""
    last = thread[-1]
    wish = Message(conversation_id=last.conversation_id, role=MessageRole.USER, content=ASK)
    begun, params = BEGINNING, PARAMS
    if engine.info.is_elsewhere:            # few servers go on with what is begun, so the title may begin with a quote
        begun, params = "", replace(PARAMS, stop=("\n",))
    question = Question(thread=(*thread, wish), params=params, user_id=user_id, text_so_far=begun)
    fitted = await fit_into_window(question, engine.info.max_model_len, engine.count_tokens)
    return None if fitted.left_out else replace(fitted.request, priority=PRIORITY)


async def _has_room(engine: Engine, request: ChatRequest) -> bool:
    """Nobody waits, a slot is free, and the blocks of the chat and its title can be had without each other's. A server
    elsewhere looks after that by itself.
    """
    if engine.info.is_elsewhere:
        return True
    metrics = engine.metrics()
    if metrics.num_waiting or metrics.num_running >= engine.info.max_num_seqs:
        return False
    num_tokens = await engine.count_tokens(request) + MAX_TITLE_TOKENS
    return metrics.num_free_blocks * metrics.block_size >= 2 * num_tokens
