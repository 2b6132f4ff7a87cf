"""One conversation on the page: its thread, the composer under it, and what a person does with its messages.

`ChatPage` makes one for each chat that is shown, and gives it the messages. On the event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.schemas import ThreadMessage
from app.services.absent_models import ModelName
from app.services.container import Services
from app.services.meter import ContextUse
from app.services.models import ModelEntry
from store.tables import Conversation, MessageRole, Model
from ui.chat.chosen import Choice
from ui.components.absent import AbsentActions, AbsentLine
from ui.components.composer import Composer, Library
from ui.components.temporary_line import temporary_line
from ui.components.thread import MessageActions, Thread
from ui.components.toast import Toast
from ui.language import FORESEEN, t, told
from ui.place import PlaceLine, stays_line


@dataclass(frozen=True, slots=True)
class TalkActions:
    """What a conversation asks of its page."""

    changed: Callable[[], None]                 # something was done: read the chat again
    model_id: Callable[[], str | None]          # the model that was chosen on this page; None: the chat's own
    think: Callable[[bool], Awaitable[None]]    # first, or not, from now on


class ConversationView:
    """Built where it is made."""

    def __init__(
        self, services: Services, user_id: str, conversation: Conversation, page: TalkActions, absent: AbsentActions
    ) -> None:
        self._services = services
        self._user_id = user_id
        self._conversation = conversation
        self._messages: Sequence[ThreadMessage] = ()        # of the branch that is shown
        self._entry: ModelEntry | None = None               # the model that is chosen
        self._page = page
        is_temporary = services.temporary.holds(conversation.id)
        self._thread = Thread(MessageActions(
            again=self._again, go_on=self._continue, branch=self._show_branch, edit=self._edit, remove=self._remove,
            answer=self._answer,
        ), is_temporary=is_temporary)
        with self._thread.dock():
            self._absent = AbsentLine(absent)
            self._composer = Composer(
                placeholder=t("chat-reply"), draft="" if is_temporary else f"{user_id}.{conversation.id}",
                on_send=self._send, on_stop=self._stop, on_think=page.think,
                library=Library(services.prompts, user_id),
            )
            if is_temporary:
                self._composer.show(temporary=True)
                temporary_line()
            self._place = PlaceLine(services.settings, "" if is_temporary else stays_line(services.settings))
        self._toast = Toast(on_act=self._restore)

    def show(
        self, conversation: Conversation, messages: Sequence[ThreadMessage], names: Mapping[str, ModelName]
    ) -> None:
        self._conversation, self._messages = conversation, messages
        self._thread.show(messages, names, conversation.when_full)
        self._composer.show(writing=self._thread.writing is not None)
        self._show_place()

    async def context_use(self, model: Model) -> ContextUse | None:
        """How full this model's window is with the branch that is shown."""
        if not self._messages:
            return None
        return await self._services.meter.measure(
            [item.message for item in self._messages], model, self._conversation.when_full,
            self._conversation.system_prompt,
        )

    def show_title(self, title: str) -> None:
        self._thread.show_title(title)

    def show_models(self, entries: Sequence[ModelEntry], names: Mapping[str, ModelName]) -> None:
        self._thread.show_models(entries)
        self._thread.show_names(names)

    def show_model(self, choice: Choice) -> None:
        self._entry = choice.entry
        self._show_place()
        if (said := self._absent.show(choice.absence, choice.instead)) is not None:
            self._composer.refuse(said)
        entry = choice.entry
        self._composer.show(
            placeholder=t("chat-reply-to", model=entry.model.name) if entry else t("chat-reply"),
            window=self._services.meter.window(entry.model) if entry else 0,
        )

    def _show_place(self) -> None:
        came_over = dict.fromkeys(item.message.connection for item in self._messages if item.message.connection)
        self._place.show(self._entry, list(came_over))

    def show_thinking(self, reasoning: bool | None) -> None:
        self._composer.show_thinking(reasoning)

    def refuse(self, error: Exception) -> None:
        """Errors stand where the next thing is done."""
        self._composer.refuse(self._absent.in_words(error))

    def reveal(self, message_id: str) -> None:
        """Go to this message of the branch that is shown, and mark it for a moment."""
        self._thread.reveal(message_id)

    def print_all(self) -> None:
        self._thread.print_all()

    async def _send(self, text: str) -> None:
        sending = self._services.chat.send(
            self._user_id, self._conversation.id, text, model_id=self._page.model_id()
        )
        if await self._try(sending):
            self._composer.accept()
            self._thread.to_end()

    async def _stop(self) -> None:
        if answer_id := self._thread.writing:
            await self._try(self._services.chat.stop(self._user_id, answer_id))

    async def _again(self, answer_id: str, model_id: str | None) -> None:
        model_id = model_id or self._page.model_id()
        if await self._try(self._services.chat.regenerate(self._user_id, answer_id, model_id=model_id)):
            self._thread.to_end()

    async def _answer(self, message_id: str) -> None:
        await self._try(self._services.chat.answer(self._user_id, message_id, model_id=self._page.model_id()))

    async def _edit(self, message_id: str, text: str) -> None:
        """One's own message is asked anew, an answer is saved; what cannot be taken stays in its field."""
        chat = self._services.chat
        try:
            if (await chat.message(self._user_id, message_id)).role is MessageRole.USER:
                await chat.edit(self._user_id, message_id, text, model_id=self._page.model_id())
            else:
                await chat.edit_answer(self._user_id, message_id, text)
        except FORESEEN as error:
            if not self._thread.is_deleted and not self._thread.refuse_edit(message_id, told(error)):
                self.refuse(error)
        finally:
            self._page.changed()

    async def _remove(self, message_id: str) -> None:
        """No question beforehand: it can be undone."""
        if await self._try(self._services.chat.delete(self._user_id, message_id)):
            self._toast.show(t("chat-deleted"), action=t("chat-undo"), subject=message_id)

    async def _restore(self, message_id: str) -> None:
        await self._try(self._services.chat.restore(self._user_id, message_id))

    async def _continue(self, answer_id: str) -> None:
        await self._try(self._services.chat.continue_answer(self._user_id, answer_id))

    async def _show_branch(self, item: ThreadMessage, step: int) -> None:
        index = item.sibling_index + step
        if 0 <= index < len(item.sibling_ids):
            await self._try(self._services.conversations.select_branch(self._user_id, item.sibling_ids[index]))

    async def _try(self, action: Awaitable[object]) -> bool:
        """Whether it could be done, and is still looked at: its reader may have gone on to another chat meanwhile."""
        try:
            await action
        except FORESEEN as error:
            if not self._composer.is_deleted:
                self.refuse(error)
            return False
        finally:
            self._page.changed()
        return not self._thread.is_deleted
