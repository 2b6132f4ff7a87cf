"""What a person does in a chat: send, edit, regenerate, continue, stop. Called by pages, on the event loop.

Each use case writes the store once, in one transaction, and then leaves the answer to `GenerationService`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlmodel import Session

from app.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from app.language import Said
from app.names import can_be_seen
from app.services.changes import Change, Changes
from app.services.context import Question
from app.services.conversations import ConversationService, title_from
from app.services.generations import GenerationService
from app.services.model_presets import ModelPresets
from app.services.models import ModelService
from app.services.parameters import fitting_parameters, sampling
from app.services.setup import ChatSetup
from app.services.temporary import TemporaryChats
from store import deletions, messages
from store.database import Database
from store.errors import AnswerInProgress
from store.messages import Turn
from store.tables import Conversation, Message, Model

WriteTurn: TypeAlias = Callable[[Session], Turn | None]

MAX_MESSAGE_CHARS = 1_000_000       # more than any model's window; keeps one paste from filling the disk


@dataclass(frozen=True, slots=True)
class Sent:
    """Where to look for the answer that is now being written."""

    conversation_id: str
    user_message_id: str
    answer_id: str


class ChatService:
    def __init__(
        self,
        db: Database,
        conversations: ConversationService,
        generations: GenerationService,
        models: ModelService,
        presets: ModelPresets,
        temporary: TemporaryChats,
        changes: Changes,
    ) -> None:
        self._db = db
        self._conversations = conversations
        self._generations = generations
        self._models = models
        self._presets = presets
        self._temporary = temporary
        self._changes = changes
        self._beginnings: set[asyncio.Task[Sent]] = set()       # kept: the loop holds tasks only weakly

    async def send(
        self,
        user_id: str,
        conversation_id: str | None,
        text: str,
        *,
        model_id: str | None = None,
        parent_id: str | None = None,
        setup: ChatSetup | None = None,
        is_temporary: bool = False,
    ) -> Sent:
        """Say something under `parent_id`, or at the end of the shown branch. Without a conversation, begin one: with
        this setup, or as its default preset has it, and perhaps as one that is never stored.

        Raises NotFound, ModelNotFound where the chat's model cannot be asked any more, ModelUnavailable where there is
        no model at all, InvalidInput, Conflict.
        """
        text = _checked(text)
        if conversation_id is None:
            model = await self._choose_model(model_id, setup.model_id if setup else None)
            columns = (setup or await self._presets.setup_for(user_id, model)).checked().columns()
            columns["model_id"] = model.id
            return await self._begin(
                user_id,
                model,
                lambda session: messages.start_conversation(session, user_id, title_from(text), text, **columns),
                home=self._temporary.memory if is_temporary else self._db,
            )
        conversation = await self._conversations.get(user_id, conversation_id)
        model = await self._choose_model(model_id, conversation.model_id)
        return await self._begin(
            user_id,
            model,
            lambda session: messages.add_turn(
                session, user_id, conversation.id, text, model_id=model.id, parent_id=parent_id
            ),
            home=self._temporary.home_of(conversation.id),
        )

    async def edit(self, user_id: str, message_id: str, text: str, *, model_id: str | None = None) -> Sent:
        """Say a message otherwise: a sibling of it, with an answer of its own. The old branch stays."""
        text = _checked(text)
        model = await self._choose_model(model_id, await self._model_of(user_id, message_id))
        return await self._begin(
            user_id,
            model,
            lambda session: messages.edit_turn(session, user_id, message_id, text, model_id=model.id),
            home=self._temporary.home_of(message_id),
        )

    async def regenerate(self, user_id: str, answer_id: str, *, model_id: str | None = None) -> Sent:
        """Another answer to the same message; the old one stays beside it."""
        model = await self._choose_model(model_id, await self._model_of(user_id, answer_id))
        return await self._begin(
            user_id,
            model,
            lambda session: messages.add_answer(session, user_id, answer_id, model_id=model.id),
            home=self._temporary.home_of(answer_id),
            is_another=True,
        )

    async def answer(self, user_id: str, message_id: str, *, model_id: str | None = None) -> Sent:
        """An answer to a message of the person's own that has none, because it was deleted."""
        model = await self._choose_model(model_id, await self._model_of(user_id, message_id))
        return await self._begin(
            user_id,
            model,
            lambda session: messages.answer_turn(session, user_id, message_id, model_id=model.id),
            home=self._temporary.home_of(message_id),
        )

    async def edit_answer(self, user_id: str, answer_id: str, text: str) -> None:
        """The answer's text as its reader wants it, in its place. What the model wrote stays, a version beside it."""
        text = _checked(text)
        if (await self.message(user_id, answer_id)).content == text:
            return
        home = self._temporary.home_of(answer_id)
        try:
            edited = await home.run(messages.edit_answer, user_id, answer_id, text)
        except AnswerInProgress as error:
            raise Conflict(Said("error-answer-in-progress")) from error
        if edited is None:
            raise _no_message()
        conversation, edited_id = edited
        if home is self._temporary.memory:
            self._temporary.note(conversation, edited_id)
        self._announce(user_id, conversation)

    async def delete(self, user_id: str, message_id: str) -> None:
        """A message with what follows it on every branch: out of sight at once, until `restore` or the purge.

        What is being written there stops first, so that it comes back with its text.
        """
        home = self._temporary.home_of(message_id)
        for answer_id in await home.read(deletions.streaming_under, user_id, message_id) or ():
            await self._generations.stop(answer_id)
        self._announce(user_id, await home.run(deletions.mark_deleted, user_id, message_id))

    async def restore(self, user_id: str, message_id: str) -> None:
        home = self._temporary.home_of(message_id)
        self._announce(user_id, await home.run(deletions.restore, user_id, message_id))

    async def continue_answer(self, user_id: str, answer_id: str) -> Sent:
        """Go on with an answer that was stopped, interrupted, or ran to its length: the same message grows, by whoever
        began it. Raises ModelNotFound where that one cannot be asked.
        """
        answer = await self.message(user_id, answer_id)
        model = await self._choose_model(answer.model_id or await self._model_of(user_id, answer_id))
        return await self._begin(
            user_id,
            model,
            lambda session: messages.reopen_answer(session, user_id, answer_id),
            home=self._temporary.home_of(answer_id),
        )

    async def stop(self, user_id: str, answer_id: str) -> None:
        """End an answer where it is; returns when that is saved. Nothing happens where it has ended already."""
        await self.message(user_id, answer_id)
        await self._generations.stop(answer_id)

    async def message(self, user_id: str, message_id: str) -> Message:
        """One message, as the store has it now. Raises NotFound."""
        message = await self._temporary.home_of(message_id).read(messages.get, user_id, message_id)
        if message is None:
            raise _no_message()
        return message

    def _announce(self, user_id: str, conversation: Conversation | None) -> None:
        if conversation is None:
            raise _no_message()
        self._changes.announce(user_id, Change("conversations", conversation.id))
        self._changes.announce(user_id, Change("thread", conversation.id))

    async def _begin(
        self, user_id: str, model: Model, write: WriteTurn, *, home: Database, is_another: bool = False
    ) -> Sent:
        """Write the turn and start its answer. Both or neither: a page that goes away leaves no answer unbegun."""
        beginning = asyncio.create_task(self._write_and_start(user_id, model, write, home, is_another))
        self._beginnings.add(beginning)
        beginning.add_done_callback(self._beginnings.discard)
        return await asyncio.shield(beginning)

    async def _write_and_start(
        self, user_id: str, model: Model, write: WriteTurn, home: Database, is_another: bool
    ) -> Sent:
        try:
            turn, thread = await home.run(_write_turn, user_id, write)
        except AnswerInProgress as error:
            raise Conflict(Said("error-answer-in-progress")) from error
        is_temporary = home is self._temporary.memory
        if is_temporary:
            self._temporary.note(turn.conversation, turn.user_message.id, turn.answer.id)
        conversation = turn.conversation
        parameters = fitting_parameters(conversation.parameters)
        question = Question(
            thread=thread,
            params=sampling(model, parameters, is_another=is_another),
            user_id=user_id,
            text_so_far=turn.answer.content,
            system_prompt=conversation.system_prompt,
            reasoning=parameters.get("reasoning"),
            private_to=conversation.id if is_temporary else None,
            when_full=conversation.when_full,
        )
        self._generations.start(turn.answer, question, model.id, home)
        self._announce(user_id, conversation)
        return Sent(conversation.id, turn.user_message.id, turn.answer.id)

    async def _choose_model(self, *named: str | None) -> Model:
        """The first that is named. Where that cannot be asked another never stands in for it unasked: it may be on
        another machine, or know less. Where none is named, the default.
        """
        if (first := next(filter(None, named), None)) is not None:
            return await self._models.find(first)
        default = await self._models.default()
        if default is None:
            raise ModelUnavailable(Said("error-no-model-yet"))
        return default

    async def _model_of(self, user_id: str, message_id: str) -> str | None:
        """Of an answer its own, where that can be asked; else, and of a person's message, that which the chat has."""
        message = await self.message(user_id, message_id)
        conversation = await self._conversations.get(user_id, message.conversation_id)
        if message.model_id in {entry.model.id for entry in await self._models.list()}:
            return message.model_id
        return conversation.model_id or message.model_id


def _write_turn(session: Session, user_id: str, write: WriteTurn) -> tuple[Turn, tuple[Message, ...]]:
    """The turn, and the branch down to the person's message, of the same moment."""
    turn = write(session)
    if turn is None:
        raise _no_message()
    branch = messages.branch(session, user_id, turn.conversation.id, turn.user_message.id) or []
    return turn, tuple(message for message, _ in branch)


def _no_message() -> NotFound:
    return NotFound(Said("error-no-message"))


def _checked(text: str) -> str:
    text = text.rstrip()
    if not can_be_seen(text):
        raise InvalidInput(Said("error-message-empty"), field="text")
    if len(text) > MAX_MESSAGE_CHARS:
        raise InvalidInput(Said("error-message-long", count=MAX_MESSAGE_CHARS), field="text")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInput(Said("error-message-broken"), field="text")
    return text
